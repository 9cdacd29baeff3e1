//! How many of the faults that the tests catch are caught by those tests that `./check` runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    process::{Command, Stdio},
    sync::Mutex,
};

use crate::{
    Failure, crates::Crate, faults::Fault, project::Project, results::Outcome, suites::Suites,
};

/// Tries each fault with the tests that `./check` runs after a change of its file, then with
/// the others that can reach it.
pub(crate) fn run(
    project: &Project,
    suites: &mut Suites<'_>,
    faults: &[&Fault],
) -> Result<(), Failure> {
    let mut selected = BTreeMap::new();
    for fault in faults {
        if !selected.contains_key(&fault.file) {
            selected.insert(fault.file.clone(), selection(project, &fault.file)?);
        }
    }
    let is_selected = |fault: &Fault, tests: Crate| {
        let selected = selected.get(&fault.file);
        selected.is_some_and(|selected| selected.contains(&tests))
    };
    let is_other =
        |fault: &Fault, tests| tests >= Crate::of(&fault.file) && !is_selected(fault, tests);
    let with_selected = outcomes(suites, faults, is_selected)?;
    let is_left = |fault: &&&Fault| {
        let outcome = with_selected.get(&fault.number);
        !outcome.is_some_and(Outcome::is_caught)
    };
    let left: Vec<&Fault> = faults.iter().filter(is_left).copied().collect();
    let with_others = outcomes(suites, &left, is_other)?;
    let (mut by_selected, mut by_others) = (0, 0);
    for fault in faults {
        let number = &fault.number;
        match (with_selected.get(number), with_others.get(number)) {
            (Some(outcome), _) if outcome.is_caught() => {
                by_selected += 1;
                println!("{outcome}, which ./check runs: {}", fault.name);
            }
            (_, Some(outcome)) if outcome.is_caught() => {
                by_others += 1;
                println!("{outcome}, which ./check does not run: {}", fault.name);
            }
            (selected, others) => {
                let outcome = selected.max(others).unwrap_or(&Outcome::NotReached);
                println!("{outcome}: {}", fault.name);
            }
        }
    }
    println!(
        "sample: {by_selected} of {} faults that the tests catch are caught by what ./check runs; \
         {} were planted",
        by_selected + by_others,
        faults.len()
    );
    Ok(())
}

/// What came of each fault, by its number.
fn outcomes(
    suites: &mut Suites<'_>,
    faults: &[&Fault],
    count: impl Fn(&Fault, Crate) -> bool + Sync,
) -> Result<BTreeMap<u32, Outcome>, Failure> {
    let outcomes = Mutex::new(BTreeMap::new());
    suites.try_each(faults, count, |fault, outcome| {
        let mut outcomes = outcomes.lock().map_err(|_| "a trial panicked")?;
        outcomes.insert(fault.number, outcome);
        Ok(())
    })?;
    Ok(outcomes.into_inner().map_err(|_| "a trial panicked")?)
}

/// The crates whose tests `./check` runs after a change of a file.
fn selection(project: &Project, file: &str) -> Result<BTreeSet<Crate>, Failure> {
    let mut selecting = Command::new(project.root().join(".ci/selected-tests"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut names) = selecting.stdin.take() {
        writeln!(names, "{file}")?;
    }
    let output = selecting.wait_with_output()?;
    if !output.status.success() {
        return Err(".ci/selected-tests failed".into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let folders: BTreeSet<&str> = printed.lines().collect();
    let is_selected = |tests: &Crate| {
        let mut needed = tests.folders().iter();
        needed.all(|folder| folders.contains(folder))
    };
    Ok(Crate::ALL.into_iter().filter(is_selected).collect())
}
