//! The README's walk through the whole life of a peering, as it is printed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test panics"
)]

mod tool;

use std::{env, path::Path, process::Command};

use tool::{Folder, Run};

#[test]
fn each_line_of_the_readme_works_and_prints_what_it_says() {
    let (commands, printed) = section("## The whole life of a peering");
    assert!(commands.lines().count() > 15, "{commands}");
    let folder = Folder::new();
    let mut out = String::new();
    for line in commands.lines().filter(|line| !line.is_empty()) {
        // What is said on standard error is a part of what a person sees.
        let run = shell(&folder, &format!("{line} 2>&1"));
        assert_eq!(run.code, 0, "{line}: {run:?}");
        if !line.starts_with("liqo-auth init") && !line.starts_with("liqo-auth authenticate") {
            out.push_str(&run.out);
        }
    }
    let lines = |text: &str| text.lines().map(without_the_days).collect::<Vec<_>>();
    assert_eq!(lines(&out), lines(&printed), "{out}");
    let codes: Vec<_> = out
        .lines()
        .filter(|line| line.starts_with("consumer -> provider"))
        .collect();
    assert_eq!(codes.len(), 2);
    assert_eq!(codes[0], codes[1]);
}

#[test]
fn the_manual_flow_of_the_readme_works() {
    let (commands, _) = section("## The tool");
    let folder = Folder::new();
    for line in commands
        .lines()
        .filter(|line| line.starts_with("liqo-auth "))
    {
        let run = shell(&folder, line);
        assert_eq!(run.code, 0, "{line}: {run:?}");
    }
    folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
}

/// The first block of commands of a section, and what is said to be printed.
fn section(title: &str) -> (String, String) {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let (_, section) = text.split_once(&format!("\n{title}\n")).unwrap();
    let block = |language: &str| {
        let (_, rest) = section.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    (block("sh"), block("text"))
}

fn shell(folder: &Folder, line: &str) -> Run {
    let tool = Path::new(env!("CARGO_BIN_EXE_liqo-auth"));
    let path = format!(
        "{}:{}",
        tool.parent().unwrap().display(),
        env::var("PATH").unwrap()
    );
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder.path(""))
        .env("PATH", path)
        .env_remove("LIQO_AUTH_HOME")
        .env_remove("LIQO_AUTH_REMOTE_HOME")
        .output()
        .unwrap();
    Run::of(output)
}

/// A line without what is another one every day: dates, days that are left,
/// codes and numbers of entries.
fn without_the_days(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let is_of_the_day = word.trim_end_matches(',').ends_with('Z') && word.contains('T')
            || word.starts_with("SHA256:")
            || word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            || word.matches('-').count() == 7
            || word.ends_with('d') && word.starts_with(|first: char| first.is_ascii_digit())
            || word.ends_with('s') && word.starts_with(|first: char| first.is_ascii_digit())
            || word.bytes().all(|byte| byte.is_ascii_digit());
        if is_of_the_day { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}
