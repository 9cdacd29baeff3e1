//! The walk-throughs of the README and of the tutorials, as they are printed.

use std::{env, fs, net::TcpListener, path::Path, process::Command};

use crate::tool::{Folder, Run};

#[test]
fn two_homes_print_what_the_tutorial_says() {
    let out = works_as_printed("two-homes.md");
    let codes: Vec<_> = out
        .lines()
        .filter(|line| line.starts_with("consumer -> provider"))
        .collect();
    assert_eq!(codes.len(), 2);
    assert_eq!(codes[0], codes[1]);
}

#[test]
fn files_are_carried_as_the_tutorial_says() {
    works_as_printed("by-files.md");
}

#[test]
fn the_token_protocol_works_as_the_tutorial_says() {
    let out = works_as_printed("older-liqo.md");
    assert!(out.contains("Identity correctly received and stored"));
    assert!(out.contains("Accepted"));
}

/// Runs the commands of a tutorial in one shell, and compares what each block prints with what
/// stands below it.
fn works_as_printed(page: &str) -> String {
    let blocks = blocks(&document(&format!("docs/tutorials/{page}")));
    assert!(blocks.len() > 4);
    let folder = Folder::new();
    let port = free_port();
    let script: String = blocks.iter().map(|block| with_mark(&block.run)).collect();
    // The port may be somebody's.
    let script = script
        .replace("127.0.0.1:8443", &format!("127.0.0.1:{port}"))
        .replace(
            "legacy serve",
            &format!("legacy serve --listen 127.0.0.1:{port}"),
        );
    // What is said on standard error is a part of what a person sees.
    let run = shell(&folder, &format!("set -e\nexec 2>&1\n{script}"));
    assert_eq!(run.code, 0, "{run:?}");
    let printed: Vec<&str> = run.out.split(END).collect();
    assert_eq!(printed.len(), blocks.len() + 1, "{run:?}");
    for (block, printed) in blocks.iter().zip(printed) {
        assert_eq!(lines(printed), lines(&block.prints), "{}", block.run);
    }
    run.out
}

/// What stands after the output of each block.
const END: &str = "--- end of block ---\n";

fn with_mark(block: &str) -> String {
    format!("{block}printf '%s' '{END}'\n")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn the_first_command_of_the_readme_prints_what_the_introduction_says() {
    let readme = document("README.md");
    let command = readme
        .lines()
        .find_map(|line| line.strip_prefix("cargo run -p liqo-auth-cli -- authenticate --home "));
    let introduction = document("docs/introduction.md");
    let (_, printed) = introduction.split_once("```text\n").unwrap();
    let (printed, _) = printed.split_once("```").unwrap();
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

/// A walk-through leaves private keys. None of them is in git's sight.
#[test]
fn the_homes_of_the_documents_are_ignored() {
    let ignored = document(".gitignore");
    let mut texts = vec![document("README.md"), document("cli/README.md")];
    for folder in ["docs/tutorials", "docs/how-to", "docs/reference"] {
        let pages = fs::read_dir(root().join(folder)).unwrap();
        texts.extend(pages.map(|page| fs::read_to_string(page.unwrap().path()).unwrap()));
    }
    let text = texts.join("\n");
    let words: Vec<&str> = text.split_whitespace().collect();
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

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn document(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Commands, and what they print.
struct Block {
    run: String,
    prints: String,
}

/// The blocks of commands of a page, each with the block of text that follows.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for fence in page.split("```").skip(1).step_by(2) {
        let (language, content) = fence.split_once('\n').unwrap();
        match language {
            "sh" => blocks.push(Block {
                run: content.to_owned(),
                prints: String::new(),
            }),
            "text" => blocks.last_mut().unwrap().prints.push_str(content),
            other => panic!("a block of {other:?}"),
        }
    }
    blocks
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
        .env("TMPDIR", folder.path(""))
        .env_remove("LIQO_AUTH_HOME")
        .env_remove("LIQO_AUTH_REMOTE_HOME")
        .output()
        .unwrap();
    Run::of(output)
}

/// A line without what is another one every day: dates, days that are left,
/// codes, ports and numbers of entries.
fn without_the_days(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let is_of_the_day = word.trim_end_matches(',').ends_with('Z') && word.contains('T')
            || word.starts_with("SHA256:")
            || word.starts_with("https://127.0.0.1:")
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
