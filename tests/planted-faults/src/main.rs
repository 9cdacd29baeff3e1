//! Plants the faults that cargo-mutants lists, all of them in one build of a copy of the
//! project, and runs the tests that reach each fault until one of them fails. The tests are
//! those of the fault's crate; for the controllers' driver, those of the tool as well.
//!
//!     run [OPTION...] [NAME...]    the faults whose names contain one of these texts
//!
//!     --in-diff BASE      the faults in the lines that differ from the commit BASE
//!     --at-most NUMBER    at most NUMBER of these faults, evenly spread
//!     --sample NUMBER     NUMBER faults of each crate, and whether `./check` catches them
//!     --jobs NUMBER       tests that run at a time (default: 1)
//!     --missed            also the faults that an earlier run did not see caught
//!     --again             also the faults that an earlier run has tried
//!
//! Results are kept in `target/planted-faults/results.json`. A run can be stopped and
//! continued. The exit code is 1 if the tests pass in spite of a fault.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // It runs programs, and writes files.

mod building;
mod crates;
mod faults;
mod features;
mod parallel;
mod planting;
mod project;
mod results;
mod sample;
mod suite;
mod suites;
mod trial;

use std::{process::ExitCode, sync::Mutex};

use crate::{
    crates::Crate,
    faults::{Fault, Selection},
    project::Project,
    results::{Outcome, Results},
    suites::Suites,
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
    let planted = building::plant(&project, &faults)?;
    println!(
        "{} faults, of which {} do not compile, or lie in code that the features switch off",
        faults.len(),
        faults.len() - planted.len()
    );
    let chosen = wanted.choose(&planted);
    let mut suites = Suites::new(&project, wanted.jobs);
    if wanted.sample.is_some() {
        sample::run(&project, &mut suites, &chosen)?;
        return Ok(true);
    }
    let results = Mutex::new(Results::read(&project)?);
    try_each(wanted, &chosen, &mut suites, &results)?;
    let results = results.into_inner().map_err(|_| "a trial panicked")?;
    Ok(results.print(&chosen))
}

/// Tries the faults that have no result yet, and those that are wanted again.
fn try_each(
    wanted: &Selection,
    chosen: &[&Fault],
    suites: &mut Suites<'_>,
    results: &Mutex<Results>,
) -> Result<(), Failure> {
    let mut open = Vec::new();
    for fault in chosen {
        let results = results.lock().map_err(|_| "a trial panicked")?;
        let is_open = match results.of(fault) {
            None => true,
            Some(Outcome::Caught { .. }) => wanted.again,
            Some(_) => wanted.again || wanted.missed,
        };
        if is_open {
            open.push(*fault);
        }
    }
    let is_tested = |fault: &Fault, tests| Crate::of(&fault.file).tested_by().contains(&tests);
    suites.try_each(&open, is_tested, |fault, outcome| {
        if !outcome.is_caught() {
            println!("{outcome}: {}", fault.name);
        }
        let mut results = results.lock().map_err(|_| "a trial panicked")?;
        results.add(fault, outcome)
    })
}
