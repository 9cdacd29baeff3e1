//! What a script may do without a word, and what needs `--yes`.

use crate::tool::Folder;

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok(&format!("authenticate {BOTH}"));
    folder
}

/// The commands that end something for good, with the question that a person gets.
const ENDS: [(&str, &str); 3] = [
    (
        "unauthenticate --home cl-consumer --remote-home cl-provider",
        "End the authentication of cl-consumer with cl-provider, on both clusters?",
    ),
    (
        "unauthenticate --home cl-consumer --remote-cluster-id cl-provider",
        "End the authentication with cl-provider in cl-consumer?",
    ),
    (
        "release --home cl-provider --remote-cluster-id cl-consumer",
        "Forget what is pinned for cl-consumer?",
    ),
];

#[test]
fn an_end_needs_a_word_without_a_terminal() {
    let folder = with_peering();
    for (command, question) in ENDS {
        for answer in ["", "y\n"] {
            let error = folder.refused(command, answer, 4);
            let said = "add --yes: without a terminal, nobody can be asked this question:";
            assert_eq!(error, format!("Error: {said} {question}\n"));
        }
        folder.refused(&format!("{command} --yes=false"), "", 4);
        folder.ok(&format!("{command} --dry-run"));
    }
    for (word, (command, _)) in ["-y", "--yes", "--skip-confirm"].into_iter().zip(ENDS) {
        let folder = with_peering();
        folder.ok(&format!("{command} {word}"));
    }
}

#[test]
fn an_emergency_needs_none() {
    let folder = with_peering();
    folder.ok(&format!("create rs mypool {BOTH}"));
    for command in [
        "cordon tenant cl-consumer",
        "uncordon tenant cl-consumer",
        "cordon rs mypool --remote-cluster-id cl-consumer",
        "uncordon rs mypool --remote-cluster-id cl-consumer",
        "drain tenant cl-consumer",
        "activate tenant cl-consumer",
    ] {
        let run = folder.run(&format!("{command} --home cl-provider"));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{command}");
    }
}
