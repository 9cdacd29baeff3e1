//! The tests, how long each takes, and which faults it reaches.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use crate::{Failure, building::Program, parallel, project::Project};

/// A longer time is taken for endless.
const LONGEST: Duration = Duration::from_secs(600);

/// How a program of tests ended.
pub(crate) enum Ended {
    Passed,
    /// With the name of the first test that failed.
    Failed(String),
    /// The program was stopped.
    TimedOut,
}

pub(crate) struct Test {
    pub(crate) program: Program,
    pub(crate) name: String,
    pub(crate) takes: Duration,
    reaches: BTreeSet<u32>,
}

pub(crate) struct Suite {
    /// The fastest first.
    tests: Vec<Test>,
}

impl Suite {
    /// Runs each test in a process of its own, some of them at a time.
    pub(crate) fn observe(
        project: &Project,
        programs: &[Program],
        jobs: usize,
    ) -> Result<Self, Failure> {
        let started = Instant::now();
        let mut names = Vec::new();
        for program in programs {
            let listed = command(program)
                .args(["--list", "--format=terse"])
                .output()?;
            for line in String::from_utf8(listed.stdout)?.lines() {
                if let Some(name) = line.strip_suffix(": test") {
                    names.push((names.len(), program, name.to_string()));
                }
            }
        }
        let tests = Mutex::new(Vec::new());
        parallel::for_each(jobs, &names, |(number, program, name)| {
            let reached = project.work.join(format!("reached-{number}"));
            let test = alone(program, name, &reached)?;
            tests.lock().map_err(|_| "a test panicked")?.push(test);
            Ok(())
        })?;
        let mut tests = tests.into_inner().map_err(|_| "a test panicked")?;
        tests.sort_by_key(|test| test.takes);
        println!("{} tests in {} s", tests.len(), started.elapsed().as_secs());
        Ok(Self { tests })
    }

    /// The tests that reach a fault, the fastest first.
    pub(crate) fn reaching(&self, fault: u32) -> Vec<&Test> {
        let reaches = |test: &&Test| test.reaches.contains(&fault);
        self.tests.iter().filter(reaches).collect()
    }
}

/// Runs a test without a fault. The file gets what it reaches.
fn alone(program: &Program, name: &str, reached: &Path) -> Result<Test, Failure> {
    fs::write(reached, "")?;
    let started = Instant::now();
    let ended = run(program, &[name], 0, Some(reached), LONGEST)?;
    let takes = started.elapsed();
    if !matches!(ended, Ended::Passed) {
        return Err(format!("the test {name} fails without a fault").into());
    }
    let numbers = fs::read_to_string(reached)?;
    fs::remove_file(reached)?;
    Ok(Test {
        program: program.clone(),
        name: name.into(),
        takes,
        reaches: numbers.lines().map(str::parse).collect::<Result<_, _>>()?,
    })
}

/// The few cases of a property are the same ones in each run.
fn command(program: &Program) -> Command {
    let mut command = Command::new("sh");
    // Without end, a fault may want memory. The limit is in kilobytes.
    command
        .args(["-c", "ulimit -v 6000000; exec \"$0\" \"$@\""])
        .arg(&program.path)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("PROPTEST_CASES", "8")
        .env("PROPTEST_RNG_SEED", "1")
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .stdin(Stdio::null());
    command
}

/// Runs tests of a program with a fault in effect.
pub(crate) fn run(
    program: &Program,
    names: &[&str],
    fault: u32,
    reached: Option<&Path>,
    at_most: Duration,
) -> Result<Ended, Failure> {
    let mut command = command(program);
    command
        .args(["--exact", "--test-threads=1"])
        .args(names)
        .env("PLANTED_FAULT", fault.to_string())
        .env("RUST_BACKTRACE", "0")
        .stderr(Stdio::null());
    if let Some(reached) = reached {
        command.env("REACHED_FAULTS", reached);
    }
    // The programs that a test starts are in its group, and end with it.
    let mut child = command.process_group(0).stdout(Stdio::piped()).spawn()?;
    let group = format!("-{}", child.id());
    let output = child.stdout.take();
    let printed = thread::spawn(move || output.map(std::io::read_to_string));
    let started = Instant::now();
    let status: Option<ExitStatus> = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if started.elapsed() > at_most => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    // It fails if all of them have ended.
    let mut ending = Command::new("kill");
    ending.args(["-KILL", "--", &group]).stderr(Stdio::null());
    let _ = ending.status()?;
    let printed = printed
        .join()
        .map_err(|_| "the reader of a test's output panicked")?;
    let printed = printed.transpose()?.unwrap_or_default();
    Ok(match status {
        // One of the tests may have failed before another one did not end.
        None if !printed.contains(FAILED) => Ended::TimedOut,
        Some(status) if status.success() => Ended::Passed,
        _ => Ended::Failed(first_failure(&printed, names)),
    })
}

/// What the program of tests prints of a test that has failed.
const FAILED: &str = " ... FAILED";

fn first_failure(printed: &str, names: &[&str]) -> String {
    let failed = printed.lines().find_map(|line| {
        let line = line.strip_prefix("test ")?;
        line.split_once(" ... ")
            .filter(|(_, rest)| !rest.starts_with("ok"))
    });
    match failed {
        Some((name, _)) => name.to_string(),
        // The program itself ended.
        None => names.first().map(ToString::to_string).unwrap_or_default(),
    }
}
