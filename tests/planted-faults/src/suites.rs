//! The tests of all crates, and the faults that they are tried with.

use std::{collections::BTreeMap, sync::Mutex};

use crate::{
    Failure, building, crates::Crate, faults::Fault, parallel, project::Project, results::Outcome,
    suite::Suite, trial,
};

/// The tests of each crate, which are built when they are first needed.
pub(crate) struct Suites<'p> {
    project: &'p Project,
    jobs: usize,
    built: BTreeMap<Crate, Suite>,
}

impl<'p> Suites<'p> {
    pub(crate) fn new(project: &'p Project, jobs: usize) -> Self {
        Self {
            project,
            jobs,
            built: BTreeMap::new(),
        }
    }

    /// Tries each fault with the tests of one crate after the other, of those that `count`
    /// for it, until one of them catches it. `tell` gets what came of it.
    pub(crate) fn try_each(
        &mut self,
        faults: &[&Fault],
        count: impl Fn(&Fault, Crate) -> bool + Sync,
        tell: impl Fn(&Fault, Outcome) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let known = Mutex::new(BTreeMap::<u32, Outcome>::new());
        for tests in Crate::ALL {
            let mut open = Vec::new();
            for fault in faults.iter().filter(|fault| count(fault, tests)) {
                let known = known.lock().map_err(|_| "a trial panicked")?;
                if !known.get(&fault.number).is_some_and(Outcome::is_caught) {
                    open.push(*fault);
                }
            }
            if open.is_empty() {
                continue;
            }
            let jobs = self.jobs;
            let suite = self.of(tests)?;
            let is_last = |fault| {
                let mut later = Crate::ALL.iter().filter(|later| **later > tests);
                !later.any(|later| count(fault, *later))
            };
            parallel::for_each(jobs, &open, |fault| {
                let outcome = trial::run(suite, fault)?;
                let outcome = {
                    let mut known = known.lock().map_err(|_| "a trial panicked")?;
                    let earlier = known.remove(&fault.number);
                    let both = earlier.into_iter().chain([outcome]).max();
                    let both = both.unwrap_or(Outcome::NotReached);
                    known.insert(fault.number, both.clone());
                    both
                };
                if outcome.is_caught() || is_last(fault) {
                    tell(fault, outcome)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn of(&mut self, tests: Crate) -> Result<&Suite, Failure> {
        if !self.built.contains_key(&tests) {
            let programs = building::programs(self.project, tests)?;
            let suite = Suite::observe(self.project, &programs, self.jobs)?;
            self.built.insert(tests, suite);
        }
        let built = self.built.get(&tests);
        Ok(built.ok_or("the tests were just built")?)
    }
}
