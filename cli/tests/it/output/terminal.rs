//! What is different for a person at a terminal.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::tool::{Folder, Run};

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";

/// Runs the tool at a terminal of 80 columns, where a person types `answer`. Returns the
/// exit code, and what the terminal shows. The terminal is that of `script`.
fn at_terminal(folder: &Folder, arguments: &str, answer: &str) -> (i32, String) {
    at_terminal_with(folder, arguments, answer, &[("TERM", "dumb")])
}

/// The same, with these variables.
pub(super) fn at_terminal_with(
    folder: &Folder,
    arguments: &str,
    answer: &str,
    variables: &[(&str, &str)],
) -> (i32, String) {
    let tool = env!("CARGO_BIN_EXE_liqo-auth");
    let line = format!("stty cols 80 -echo; exec -a liqo-auth {tool} {arguments}");
    let mut script = Command::new("script");
    script
        .args(["-qec", &format!("bash -c '{line}'"), "/dev/null"])
        .current_dir(folder.path(""))
        .env_remove("NO_COLOR")
        .env("TERM", "dumb")
        .envs(variables.iter().copied())
        .env_remove("COLUMNS")
        .env_remove("LIQO_AUTH_HOME")
        .env_remove("LIQO_AUTH_REMOTE_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = script.spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(answer.as_bytes()).unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    drop(keyboard);
    (run.code, run.out.replace("\r\n", "\n"))
}

#[test]
fn what_takes_something_away_is_confirmed() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    for command in [
        "cordon tenant cl-consumer --home cl-provider",
        "drain tenant cl-consumer --home cl-provider",
        "cordon rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        "unauthenticate --home cl-consumer --remote-home cl-provider",
        "release --home cl-provider --remote-cluster-id cl-consumer",
    ] {
        let before = folder.snapshot();
        let (code, shown) = at_terminal(&folder, command, "n\n");
        assert_eq!(code, 4, "{command}: {shown}");
        assert!(shown.contains("? [y/N]"), "{shown}");
        assert!(before == folder.snapshot(), "{command}");
    }
    let cordon = "cordon tenant cl-consumer --home cl-provider";
    let (code, shown) = at_terminal(&folder, cordon, "y\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Tenant \"cl-consumer\" cordoned"), "{shown}");
    let hidden = "drain tenant cl-consumer --home cl-provider 2>log";
    let before = folder.snapshot();
    let (code, _) = at_terminal(&folder, hidden, "");
    assert_eq!(code, 4);
    let said = std::fs::read_to_string(folder.path("log")).unwrap();
    std::fs::remove_file(folder.path("log")).unwrap();
    assert!(before == folder.snapshot(), "{hidden}");
    assert!(said.contains("add --yes"), "{said}");
    let uncordon = "uncordon tenant cl-consumer --home cl-provider";
    for skip in ["-y", "--yes", "--skip-confirm"] {
        let (code, shown) = at_terminal(&folder, &format!("{uncordon} {skip}"), "");
        assert_eq!(code, 0, "{shown}");
        assert!(!shown.contains("[y/N]"), "{shown}");
        folder.ok(cordon);
    }
}

#[test]
fn lines_fit_the_terminal() {
    let folder = Folder::with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    folder.ok(AUTHENTICATE);
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    for command in [
        "inspect tenant.yaml",
        "status --home cl-provider",
        "status --home cl-consumer",
        "get identities -A --home cl-consumer",
        "get rs -A --home cl-provider",
        "get nonce --home cl-provider",
        "audit show --home cl-provider",
        "apply --home cl-consumer -f tenant.yaml",
    ] {
        let (_, shown) = at_terminal(&folder, command, "");
        for line in shown
            .lines()
            .filter(|line| !line.trim_start().starts_with("liqo-auth "))
        {
            assert!(line.chars().count() <= 80, "{command}: {line:?}\n{shown}");
        }
    }
    let (_, shown) = at_terminal(&folder, "inspect tenant.yaml", "");
    assert!(
        shown.lines().any(|line| line.trim().starts_with("SHA256:")),
        "{shown}"
    );
}
