//! What came of each fault, kept in a file.

use std::{collections::BTreeMap, fmt, fs, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Failure, faults::Fault, project::Project};

/// Of the outcomes with several tests, the greatest one counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// No test reaches the fault.
    NotReached,
    /// All tests that reach the fault pass.
    Missed,
    /// With the fault, a test does not end. It does not count as caught.
    TimedOut,
    Caught {
        /// The test that failed.
        by: String,
    },
}

impl Outcome {
    pub(crate) fn is_caught(&self) -> bool {
        matches!(self, Self::Caught { .. })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught { by } => write!(f, "caught by {by}"),
            Self::Missed => f.write_str("missed"),
            Self::NotReached => f.write_str("not reached"),
            Self::TimedOut => f.write_str("timed out"),
        }
    }
}

/// The outcomes by the names of the faults.
pub(crate) struct Results {
    path: PathBuf,
    outcomes: BTreeMap<String, Outcome>,
}

impl Results {
    pub(crate) fn read(project: &Project) -> Result<Self, Failure> {
        let path = project.work.join("results.json");
        let outcomes = match fs::read(&path) {
            Ok(json) => serde_json::from_slice(&json)?,
            Err(_) => BTreeMap::new(),
        };
        Ok(Self { path, outcomes })
    }

    pub(crate) fn of(&self, fault: &Fault) -> Option<&Outcome> {
        self.outcomes.get(&fault.name)
    }

    /// Keeps an outcome. The file is complete at each moment.
    pub(crate) fn add(&mut self, fault: &Fault, outcome: Outcome) -> Result<(), Failure> {
        self.outcomes.insert(fault.name.clone(), outcome);
        let new = self.path.with_extension("new");
        fs::write(&new, serde_json::to_vec_pretty(&self.outcomes)?)?;
        Ok(fs::rename(new, &self.path)?)
    }

    /// Prints the sums, and whether each fault is caught.
    pub(crate) fn print(&self, faults: &[&Fault]) -> bool {
        let outcomes = faults.iter().filter_map(|fault| self.of(fault));
        let of = |wanted: &Outcome| {
            outcomes
                .clone()
                .filter(|outcome| *outcome == wanted)
                .count()
        };
        let (missed, unreached) = (of(&Outcome::Missed), of(&Outcome::NotReached));
        let endless = of(&Outcome::TimedOut);
        let caught = outcomes.clone().count() - missed - unreached - endless;
        println!(
            "{caught} of {} caught; {missed} missed, {unreached} not reached, {endless} timed out",
            faults.len()
        );
        caught == faults.len()
    }
}
