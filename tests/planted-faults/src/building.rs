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
    faults::{Fault, Genre},
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

/// The tests of the library. Those of the tool and of the controllers test other things.
const TESTS: [&str; 11] = [
    "--all-features",
    "--package=liqo-auth",
    "--package=liqo-auth-tests",
    "--lib",
    "--test=it",
    "--test=corpus",
    "--message-format=json",
    "--no-run",
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
    message: Option<Diagnostic>,
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

/// The faults that compile, and the programs that have them.
pub(crate) fn build<'f>(
    project: &Project,
    faults: &'f [Fault],
) -> Result<(Vec<&'f Fault>, Vec<Program>), Failure> {
    let mut removed = BTreeSet::new();
    loop {
        let inserted = write(project, faults, &removed)?;
        let messages = compile(project, &["check", "--lib", "--package=liqo-auth"])?;
        let errors = errors(&messages);
        if errors.is_empty() {
            let planted: BTreeSet<u32> = inserted
                .values()
                .flatten()
                .map(|(fault, _)| *fault)
                .collect();
            let planted = faults
                .iter()
                .filter(|fault| planted.contains(&fault.number));
            return Ok((planted.collect(), programs(project)?));
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

/// Writes the files with their faults.
fn write(
    project: &Project,
    faults: &[Fault],
    removed: &BTreeSet<u32>,
) -> Result<Inserted, Failure> {
    let mut inserted = Inserted::new();
    let files: BTreeSet<&str> = faults.iter().map(|fault| fault.file.as_str()).collect();
    for file in files {
        let here: Vec<&Fault> = faults
            .iter()
            .filter(|fault| fault.file == file && !removed.contains(&fault.number))
            .collect();
        let text = fs::read_to_string(project.root().join(file))?;
        let planted = planting::plant(&text, &here).map_err(|error| format!("{file}: {error}"))?;
        write_if_changed(&project.copied().join(file), planted.text.as_bytes())?;
        inserted.insert(file.into(), planted.inserted);
    }
    let root = fs::read_to_string(project.root().join("src/lib.rs"))?;
    write_if_changed(
        &project.copied().join("src/lib.rs"),
        (root + MODULE).as_bytes(),
    )?;
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

fn compile(project: &Project, arguments: &[&str]) -> Result<Vec<Message>, Failure> {
    let output = cargo(project)
        .args(arguments)
        .args(["--all-features", "--message-format=json", "--quiet"])
        .stderr(Stdio::inherit())
        .output()?;
    read(&output.stdout)
}

fn read(output: &[u8]) -> Result<Vec<Message>, Failure> {
    let messages = serde_json::Deserializer::from_slice(output).into_iter();
    Ok(messages.collect::<Result<_, _>>()?)
}

fn errors(messages: &[Message]) -> Vec<&Diagnostic> {
    messages
        .iter()
        .filter_map(|message| message.message.as_ref())
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

/// Builds the programs of tests.
fn programs(project: &Project) -> Result<Vec<Program>, Failure> {
    let output = cargo(project)
        .arg("test")
        .args(TESTS)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the tests do not compile".into());
    }
    let messages = read(&output.stdout)?;
    let programs = messages
        .into_iter()
        .filter(|message| message.reason == "compiler-artifact");
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
