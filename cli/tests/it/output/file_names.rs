//! Names of files that would control a terminal are shown as such.

use crate::tool::Folder;

/// It turns the text red, and begins a line.
const HOME: &str = "red\u{1b}[31m\u{202e}home";
const SHOWN: &str = "red\\u{1b}[31m\\u{202e}home";

#[test]
fn names_of_files_do_not_steer_the_terminal() {
    let folder = Folder::new();
    let url = "--api-server https://172.19.0.3:6443";
    let made = folder.run(&format!("init --home {HOME} --cluster-id cl-a {url}"));
    assert!(made.out.starts_with(&format!("Made {SHOWN}: ")), "{made:?}");
    folder.write(&format!("{HOME}.yaml"), "kind: Nothing\n");
    std::fs::create_dir(folder.path("folder\u{1b}[2J")).unwrap();
    for (command, code) in [
        (format!("init --home {HOME}"), 2),
        (format!("status --home {HOME} --tree"), 0),
        (format!("doctor --home {HOME}"), 0),
        (format!("status --home {HOME}/none"), 2),
        (format!("status -o nagios --home {HOME}/none"), 3),
        (format!("inspect {HOME}.yaml"), 3),
        (format!("inspect {HOME}.none"), 2),
        (format!("apply --home {HOME} -f {HOME}.yaml"), 3),
        (format!("apply --home {HOME} -f {HOME}.none"), 2),
        (format!("cordon tenant cl-b --home {HOME}"), 4),
        (
            format!("create nonce --remote-cluster-id cl-b --dry-run --home {HOME}"),
            0,
        ),
        (
            format!("create nonce --home {HOME} --remote-cluster-id cl-b"),
            0,
        ),
        (format!("status --kubeconfig {HOME}.none"), 2),
        (
            format!("unauthenticate --remote-cluster-id cl-b --home {HOME}"),
            4,
        ),
        (format!("man --dir {HOME}.yaml"), 2),
        (format!("status --home {HOME} -o {HOME}"), 2),
        (format!("status --home {HOME} {HOME}"), 2),
        (format!("status --home {HOME} --{HOME}"), 2),
        (format!("audit verify --home {HOME}"), 0),
        (format!("status -v=4 --home {HOME}"), 0),
        ("status --home folder\u{1b}[2J".to_owned(), 2),
    ] {
        let run = folder.run(&command);
        assert_eq!(run.code, code, "{command:?}: {run:?}");
        for text in [&run.out, &run.err] {
            let steers = |found: char| found.is_control() && found != '\n' || found == '\u{202e}';
            assert!(!text.contains(steers), "{command:?}: {text:?}");
        }
    }
}

/// A name is told as it is, also by the errors of a command line.
#[test]
fn what_is_typed_is_shown_with_its_control_characters() {
    let folder = Folder::with_homes();
    for command in [
        format!("status --home cl-consumer -o {HOME}"),
        format!("status --home cl-consumer --remote-cluster-id {HOME}"),
        format!("status --home cl-consumer {HOME}"),
        format!("status --home cl-consumer --{HOME}"),
        HOME.to_owned(),
    ] {
        let run = folder.run(&command);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains(SHOWN), "{command:?}: {run:?}");
    }
}

/// A command that is printed can be copied.
#[test]
fn a_home_that_is_missing_is_made_as_printed() {
    let folder = Folder::new();
    let run = folder.run(&format!("status --home {HOME}"));
    let (_, command) = run.err.split_once("Make one with: liqo-auth ").unwrap();
    let line = command.trim().replace(" ID", " cl-a");
    let tool = env!("CARGO_BIN_EXE_liqo-auth");
    let mut bash = std::process::Command::new("bash");
    let bash = bash.args(["-c", &format!("{tool} {line}")]);
    let made = bash.current_dir(folder.path("")).output().unwrap();
    assert!(made.status.success(), "{line}: {made:?}");
    assert_eq!(folder.run(&format!("status --home {HOME}")).code, 0);
}

#[test]
fn a_printed_command_names_the_file() {
    let folder = Folder::new();
    let url = "--api-server https://172.19.0.3:6443";
    folder.ok(&format!("init --home {HOME} --cluster-id cl-a {url}"));
    folder.ok(&format!("init --home cl-b {url}"));
    let run = folder.run(&format!("authenticate --home cl-b --remote-home {HOME}"));
    assert_eq!(run.code, 0, "{run:?}");
    let status = folder.run(&format!(
        "release --yes --home {HOME} --remote-cluster-id cl-b"
    ));
    let (_, command) = status
        .out
        .split_once("makes the nonce: liqo-auth ")
        .unwrap();
    let quoted = "--home $'red\\033[31m\\342\\200\\256home'";
    assert!(command.contains(quoted), "{command}");
    let tool = env!("CARGO_BIN_EXE_liqo-auth");
    let line = format!("{tool} {}", command.trim());
    let mut bash = std::process::Command::new("bash");
    let bash = bash.args(["-c", &line]).current_dir(folder.path(""));
    assert!(bash.output().unwrap().status.success(), "{line}");
}
