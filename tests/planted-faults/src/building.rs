//! The build of the copy with its faults. Faults that do not compile are taken out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

use crate::{
    Failure,
    crates::Crate,
    faults::{Fault, Genre},
    features,
    planting::{self, MODULE},
    project::{Project, write_if_changed},
};

/// The settings of each command of Cargo on the copy.
const SETTINGS: [(&str, &str); 6] = [
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_TEST_OPT_LEVEL", "1"),
    ("RUSTFLAGS", "--cap-lints=allow"),
];

/// The options of each command of Cargo on the copy.
const OPTIONS: [&str; 5] = [
    "--all-features",
    "--message-format=json",
    "--quiet",
    "--locked",
    "--color=never",
];

/// A program of tests.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// The folder in which Cargo runs it.
    pub(crate) folder: PathBuf,
}

/// A message of Cargo or, in it, of the compiler.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Profile {
    /// Whether it is a program of tests, and not the tool that the tests start.
    test: bool,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    rendered: Option<String>,
    spans: Vec<DiagnosticSpan>,
}

#[derive(Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    line_start: usize,
    line_end: usize,
    is_primary: bool,
}

/// Where the text of each fault lies, by file.
type Inserted = BTreeMap<String, Vec<(u32, Range<usize>)>>;

/// Plants the faults in the copy, and returns those that compile.
pub(crate) fn plant<'f>(project: &Project, faults: &'f [Fault]) -> Result<Vec<&'f Fault>, Failure> {
    let mut removed = BTreeSet::new();
    loop {
        let inserted = write(project, faults, &removed)?;
        let errors = first_errors(project, &crates_of(faults))?;
        if errors.is_empty() {
            let planted: BTreeSet<u32> = inserted
                .values()
                .flatten()
                .map(|(fault, _)| *fault)
                .collect();
            let planted = faults
                .iter()
                .filter(|fault| planted.contains(&fault.number));
            return Ok(planted.collect());
        }
        let before = removed.len();
        for error in &errors {
            removed.extend(culprits(error, faults, &inserted));
        }
        if removed.len() == before {
            let first = errors.iter().find_map(|error| error.rendered.clone());
            return Err(
                format!("the copy does not compile:\n{}", first.unwrap_or_default()).into(),
            );
        }
    }
}

fn crates_of(faults: &[Fault]) -> BTreeSet<Crate> {
    let files = faults.iter().map(|fault| fault.file.as_str());
    files.map(Crate::of).collect()
}

/// Writes the files with their faults, and the module that these call.
fn write(
    project: &Project,
    faults: &[Fault],
    removed: &BTreeSet<u32>,
) -> Result<Inserted, Failure> {
    let mut inserted = Inserted::new();
    let roots: BTreeSet<&str> = crates_of(faults).into_iter().map(Crate::root).collect();
    let files = faults.iter().map(|fault| fault.file.as_str());
    for file in files.chain(roots.iter().copied()).collect::<BTreeSet<_>>() {
        let here: Vec<&Fault> = faults
            .iter()
            .filter(|fault| fault.file == file && !removed.contains(&fault.number))
            .collect();
        let text = fs::read_to_string(project.root().join(file))?;
        let mut planted =
            planting::plant(&text, &here).map_err(|error| format!("{file}: {error}"))?;
        if roots.contains(file) {
            planted.text += MODULE;
        }
        write_if_changed(&project.copied().join(file), planted.text.as_bytes())?;
        inserted.insert(file.into(), planted.inserted);
    }
    Ok(inserted)
}

fn cargo(project: &Project) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(project.copied())
        .env("CARGO_TARGET_DIR", project.work.join("built"))
        .envs(SETTINGS)
        .stdin(Stdio::null());
    command
}

/// The errors of the first crate that does not compile.
fn first_errors(project: &Project, crates: &BTreeSet<Crate>) -> Result<Vec<Diagnostic>, Failure> {
    for of in crates {
        let output = cargo(project)
            .arg("check")
            .args(of.target())
            .args(OPTIONS)
            .arg(features::of_the_library(project)?)
            .stderr(Stdio::inherit())
            .output()?;
        let errors = errors(read(&output.stdout)?);
        if !errors.is_empty() {
            return Ok(errors);
        }
    }
    Ok(Vec::new())
}

fn read(output: &[u8]) -> Result<Vec<Message>, Failure> {
    let messages = serde_json::Deserializer::from_slice(output).into_iter();
    Ok(messages.collect::<Result<_, _>>()?)
}

fn errors(messages: Vec<Message>) -> Vec<Diagnostic> {
    messages
        .into_iter()
        .filter_map(|message| message.message)
        .filter(|diagnostic| diagnostic.level == "error" && !diagnostic.spans.is_empty())
        .collect()
}

/// The faults that an error may come from: those whose text it names, else those of its
/// lines, else those in the constant function that it names.
fn culprits(error: &Diagnostic, faults: &[Fault], inserted: &Inserted) -> Vec<u32> {
    let primary = error.spans.iter().filter(|span| span.is_primary);
    let named: Vec<u32> = primary
        .clone()
        .flat_map(|span| in_text(span, inserted))
        .collect();
    if !named.is_empty() {
        return named;
    }
    if error.message.contains("non-const") {
        return of_function(&error.message, faults);
    }
    if error.message.contains("non-exhaustive") {
        return primary.flat_map(|span| arms_after(span, faults)).collect();
    }
    primary.flat_map(|span| on_lines(span, faults)).collect()
}

fn in_text<'i>(
    span: &DiagnosticSpan,
    inserted: &'i Inserted,
) -> impl Iterator<Item = u32> + use<'i> {
    let (start, end) = (span.byte_start, span.byte_end);
    inserted
        .get(&span.file_name)
        .into_iter()
        .flatten()
        .filter(move |(_, text)| text.start < end && start < text.end)
        .map(|(fault, _)| *fault)
}

fn on_lines<'f>(span: &DiagnosticSpan, faults: &'f [Fault]) -> impl Iterator<Item = u32> + use<'f> {
    let (file, first, last) = (span.file_name.clone(), span.line_start, span.line_end);
    faults
        .iter()
        .filter(move |fault| {
            fault.file == file && fault.span.start.line <= last && first <= fault.span.end.line
        })
        .map(|fault| fault.number)
}

/// The arms that the `match` of an error may lack.
fn arms_after(span: &DiagnosticSpan, faults: &[Fault]) -> Vec<u32> {
    let is_after = |fault: &&Fault| {
        fault.genre == Genre::MatchArm
            && fault.file == span.file_name
            && fault.span.start.line >= span.line_start
    };
    let after: Vec<&Fault> = faults.iter().filter(is_after).collect();
    let function = |fault: &Fault| fault.function.as_ref().map(|it| it.function_name.clone());
    let first = after.first().map(|fault| function(fault));
    let is_of_first = |fault: &&&Fault| Some(function(fault)) == first;
    after
        .iter()
        .filter(is_of_first)
        .map(|fault| fault.number)
        .collect()
}

/// The faults in a function that a constant calls.
fn of_function(message: &str, faults: &[Fault]) -> Vec<u32> {
    let name = message.split('`').nth(1).unwrap_or_default();
    let name = name.rsplit("::").next().unwrap_or_default();
    let names = |function: &str| function.rsplit("::").next() == Some(name);
    faults
        .iter()
        .filter(|fault| {
            let function = fault.function.as_ref();
            function.is_some_and(|function| names(&function.function_name))
        })
        .map(|fault| fault.number)
        .collect()
}

/// Builds the programs of a crate's tests.
pub(crate) fn programs(project: &Project, of: Crate) -> Result<Vec<Program>, Failure> {
    let output = cargo(project)
        .args(["test", "--no-run"])
        .args(of.tests())
        .args(OPTIONS)
        .arg(features::of_the_library(project)?)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the tests do not compile".into());
    }
    let messages = read(&output.stdout)?;
    let programs = messages
        .into_iter()
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| message.profile.as_ref().is_some_and(|profile| profile.test));
    Ok(programs
        .filter_map(|message| {
            let folder = message
                .manifest_path
                .as_deref()
                .and_then(Path::parent)?
                .to_path_buf();
            Some(Program {
                path: message.executable?,
                folder,
            })
        })
        .collect())
}
