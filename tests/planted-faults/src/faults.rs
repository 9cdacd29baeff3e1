//! The faults that cargo-mutants lists, and those of them that are wanted.

use std::{fs, process::Command};

use serde::Deserialize;

use crate::{Failure, crates::Crate, project::Project};

/// A fault, as `cargo mutants --list --json` prints it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Fault {
    /// From 1 on: the value of the variable that chooses the fault.
    #[serde(skip)]
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) genre: Genre,
    pub(crate) replacement: String,
    pub(crate) span: Span,
    pub(crate) function: Option<Function>,
}

/// The function with the fault.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Function {
    pub(crate) function_name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// The place of what the fault replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Place,
    pub(crate) end: Place,
}

/// Both numbers count from 1. A column is a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Which faults are wanted.
pub(crate) struct Selection {
    base: Option<String>,
    at_most: Option<usize>,
    /// The number of faults of each crate in a sample.
    pub(crate) sample: Option<usize>,
    pub(crate) jobs: usize,
    pub(crate) missed: bool,
    pub(crate) again: bool,
    names: Vec<String>,
}

impl Selection {
    pub(crate) fn from_arguments(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, Failure> {
        let mut wanted = Self {
            base: None,
            at_most: None,
            sample: None,
            jobs: 1,
            missed: false,
            again: false,
            names: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let missing = || format!("{argument} needs a value");
                arguments.next().ok_or_else(missing)
            };
            match argument.as_str() {
                "--in-diff" => wanted.base = Some(value()?),
                "--at-most" => wanted.at_most = Some(value()?.parse()?),
                "--sample" => wanted.sample = Some(value()?.parse()?),
                "--jobs" => wanted.jobs = value()?.parse()?,
                "--missed" => wanted.missed = true,
                "--again" => wanted.again = true,
                option if option.starts_with('-') => {
                    return Err(format!("there is no option {option}").into());
                }
                _ => wanted.names.push(argument),
            }
        }
        Ok(wanted)
    }

    /// The faults to try, of those that are planted.
    pub(crate) fn choose<'f>(&self, planted: &[&'f Fault]) -> Vec<&'f Fault> {
        let Some(number) = self.sample else {
            return spread(planted, self.at_most);
        };
        let of_crate = |wanted: Crate| {
            let mut theirs = planted.to_vec();
            theirs.retain(|fault| Crate::of(&fault.file) == wanted);
            spread(&theirs, Some(number))
        };
        Crate::ALL.into_iter().flat_map(of_crate).collect()
    }

    fn is_named(&self, fault: &Fault) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| fault.name.contains(name))
    }
}

/// At most so many faults, evenly spread over all.
fn spread<'f>(faults: &[&'f Fault], at_most: Option<usize>) -> Vec<&'f Fault> {
    let number = at_most.map_or(faults.len(), |at_most| at_most.min(faults.len()));
    let places = (0..number).map(|place| place * faults.len() / number);
    places
        .filter_map(|place| faults.get(place).copied())
        .collect()
}

/// All faults, those that are named, or those in the lines that differ from a commit, in the
/// order of files and lines.
pub(crate) fn list(project: &Project, wanted: &Selection) -> Result<Vec<Fault>, Failure> {
    let mut command = Command::new("cargo");
    command
        .args(["mutants", "--list", "--json", "--workspace"])
        .current_dir(project.root());
    if let Some(base) = &wanted.base {
        let diff = Command::new("git")
            .args(["diff", base, "--"])
            .args(Crate::ALL.map(Crate::sources))
            .current_dir(project.root())
            .output()?;
        if !diff.status.success() {
            return Err(format!("git does not know the commit {base}").into());
        }
        if diff.stdout.is_empty() {
            return Ok(Vec::new());
        }
        let path = project.work.join("diff");
        fs::write(&path, &diff.stdout)?;
        command.arg("--in-diff").arg(path);
    }
    let listed = command.output()?;
    if !listed.status.success() {
        return Err(String::from_utf8_lossy(&listed.stderr).into());
    }
    let mut faults: Vec<Fault> = match listed.stdout.as_slice() {
        [] => Vec::new(),
        json => serde_json::from_slice(json)?,
    };
    faults.retain(|fault| wanted.is_named(fault));
    if let Some(number) = wanted.at_most {
        // Not more than needed are planted. Some do not compile.
        let listed: Vec<&Fault> = faults.iter().collect();
        faults = spread(&listed, Some(2 * number))
            .into_iter()
            .cloned()
            .collect();
    }
    for (fault, number) in faults.iter_mut().zip(1..) {
        fault.number = number;
    }
    Ok(faults)
}
