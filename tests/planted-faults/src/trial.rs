//! A fault in effect, while the tests that reach it run.

use std::time::Duration;

use crate::{
    Failure,
    faults::Fault,
    results::Outcome,
    suite::{self, Ended, Suite, Test},
};

/// The time of the tests that run together.
const TOGETHER: Duration = Duration::from_secs(2);

/// Runs the tests that reach a fault, the fastest first, until one of them fails.
pub(crate) fn run(suite: &Suite, fault: &Fault) -> Result<Outcome, Failure> {
    let tests = suite.reaching(fault.number);
    if tests.is_empty() {
        return Ok(Outcome::NotReached);
    }
    let mut endless = 0;
    let mut rest = tests.as_slice();
    while let Some(first) = rest.first()
        && endless < 2
    {
        let mut takes = Duration::ZERO;
        let together = rest.iter().take_while(|test| {
            takes += test.takes;
            test.program.path == first.program.path && (takes <= TOGETHER || takes == first.takes)
        });
        let (now, later) = rest.split_at(together.count().max(1));
        rest = later;
        match try_together(now, fault)? {
            Ended::Passed => {}
            Ended::Failed(by) => return Ok(Outcome::Caught { by }),
            Ended::TimedOut => endless += 1,
        }
    }
    Ok(match endless {
        0 => Outcome::Missed,
        _ => Outcome::TimedOut,
    })
}

fn try_together(tests: &[&Test], fault: &Fault) -> Result<Ended, Failure> {
    let Some(first) = tests.first() else {
        return Ok(Ended::Passed);
    };
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    let takes: Duration = tests.iter().map(|test| test.takes).sum();
    let at_most = Duration::from_secs(10) + takes * 10;
    suite::run(&first.program, &names, fault.number, None, at_most)
}
