//! Plants the faults that cargo-mutants lists, all of them in one build of a copy of the
//! project, and runs the tests that reach each fault until one of them fails.
//!
//!     run [OPTION...] [NAME...]    the faults whose names contain one of these texts
//!
//!     --in-diff BASE      the faults in the lines that differ from the commit BASE
//!     --at-most NUMBER    every n-th of these faults, so that at most NUMBER are left
//!     --jobs NUMBER       faults that are tried at a time (default: 1)
//!     --missed            also the faults that an earlier run did not see caught
//!     --again             also the faults that an earlier run has tried
//!
//! Results are kept in `target/planted-faults/results.json`. A run can be stopped and
//! continued. The exit code is 1 if the tests pass in spite of a fault.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // It runs programs, and writes files.

mod building;
mod faults;
mod features;
mod planting;
mod project;
mod results;
mod suite;
mod trial;

use std::{
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    faults::{Fault, Selection},
    project::Project,
    results::{Outcome, Results},
    suite::Suite,
};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match Selection::from_arguments(std::env::args().skip(1)).and_then(|wanted| run(&wanted)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("Error: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Whether the tests catch each wanted fault.
fn run(wanted: &Selection) -> Result<bool, Failure> {
    let project = Project::locate()?;
    let faults = faults::list(&project, wanted)?;
    if faults.is_empty() {
        println!("no fault can be planted there");
        return Ok(true);
    }
    project.copy()?;
    let (planted, programs) = building::build(&project, &faults)?;
    println!(
        "{} faults, of which {} do not compile, or lie in code that the features switch off",
        faults.len(),
        faults.len() - planted.len()
    );
    let chosen = wanted.choose(&planted);
    let suite = Suite::observe(&project, &programs)?;
    let results = Mutex::new(Results::read(&project)?);
    try_each(wanted, &chosen, &suite, &results)?;
    let results = results.into_inner().map_err(|_| "a trial panicked")?;
    Ok(results.print(&chosen))
}

/// Tries the faults that have no result yet, and those that are wanted again.
fn try_each(
    wanted: &Selection,
    chosen: &[&Fault],
    suite: &Suite,
    results: &Mutex<Results>,
) -> Result<(), Failure> {
    let open: Vec<&Fault> = chosen
        .iter()
        .copied()
        .filter(|fault| {
            let known = results
                .lock()
                .ok()
                .and_then(|known| known.of(fault).cloned());
            match known {
                None => true,
                Some(Outcome::Caught { .. }) => wanted.again,
                Some(_) => wanted.again || wanted.missed,
            }
        })
        .collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Failure> {
        while let Some(fault) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = trial::run(suite, fault)?;
            if !matches!(outcome, Outcome::Caught { .. }) {
                println!("{outcome}: {}", fault.name);
            }
            results
                .lock()
                .map_err(|_| "a trial panicked")?
                .add(fault, outcome)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..wanted.jobs).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a trial panicked")?)
    })
}
