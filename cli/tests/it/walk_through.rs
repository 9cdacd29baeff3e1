//! The README's walk-throughs, as they are printed.

use std::{env, path::Path, process::Command};

use crate::tool::{Folder, Run};

#[test]
fn each_line_of_the_readme_works_and_prints_what_it_says() {
    let readme = readme();
    let life = section("## The whole life of a peering", &readme);
    let (commands, printed) = (block(life, "sh").0, block(life, "text").0);
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
    assert_eq!(lines(&out), lines(&printed), "{out}");
    let codes: Vec<_> = out
        .lines()
        .filter(|line| line.starts_with("consumer -> provider"))
        .collect();
    assert_eq!(codes.len(), 2);
    assert_eq!(codes[0], codes[1]);
}

#[test]
fn the_first_command_of_the_readme_prints_what_it_says() {
    let readme = readme();
    let command = readme
        .lines()
        .find_map(|line| line.strip_prefix("cargo run -p liqo-auth-cli -- authenticate --home "));
    let printed = block(section("## The tool", &readme), "text").0;
    let folder = Folder::new();
    // As cargo calls it.
    let tool = env!("CARGO_BIN_EXE_liqo-auth");
    let output = Command::new("bash")
        .args([
            "-c",
            "tool=$1; shift; exec -a target/debug/liqo-auth $tool authenticate --home $@ 2>&1",
        ])
        .args(["bash", tool])
        .args(command.unwrap().split_whitespace())
        .current_dir(folder.path(""))
        .env_remove("LIQO_AUTH_HOME")
        .env_remove("LIQO_AUTH_REMOTE_HOME")
        .output()
        .unwrap();
    let run = Run::of(output);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.out, printed);
}

#[test]
fn the_manual_flow_of_the_readme_prints_what_it_says() {
    let readme = readme();
    let tool = section("## The tool", &readme);
    let (commands, _) = block(tool, "sh");
    let (_, rest) = tool.split_once(&commands).unwrap();
    let printed = block(rest, "text").0;
    let folder = Folder::new();
    let mut out = String::new();
    for line in commands
        .lines()
        .filter(|line| line.starts_with("liqo-auth "))
    {
        let run = shell(&folder, &format!("{{ {line}; }} 2>&1"));
        assert_eq!(run.code, 0, "{line}: {run:?}");
        out.push_str(&run.out);
    }
    assert_eq!(lines(&out), lines(&printed), "{out}");
    folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
}

/// A walk-through leaves private keys. None of them is in git's sight.
#[test]
fn the_homes_of_the_readme_are_ignored() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ignored = std::fs::read_to_string(root.join(".gitignore")).unwrap();
    let readme = readme();
    let words: Vec<&str> = readme.split_whitespace().collect();
    for pair in words.windows(2) {
        if ["--home", "--remote-home"].contains(&pair[0].trim_start_matches('`'))
            && pair[1]
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        {
            let line = format!("/{}", pair[1]);
            assert!(ignored.lines().any(|known| known == line), "{line}");
        }
    }
}

fn readme() -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    std::fs::read_to_string(readme).unwrap()
}

fn section<'t>(title: &str, text: &'t str) -> &'t str {
    text.split_once(&format!("\n{title}\n")).unwrap().1
}

/// The first block of this language, and the text after it.
fn block<'t>(text: &'t str, language: &str) -> (String, &'t str) {
    let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
    let (block, rest) = rest.split_once("```").unwrap();
    (block.to_owned(), rest)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(without_the_days).collect()
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
            // A nonce.
            || word.len() == 88 && word.ends_with("==")
            || word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            || word.matches('-').count() == 7
            || word.ends_with('d') && word.starts_with(|first: char| first.is_ascii_digit())
            || word.ends_with('s') && word.starts_with(|first: char| first.is_ascii_digit())
            || word.bytes().all(|byte| byte.is_ascii_digit());
        if is_of_the_day { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}
