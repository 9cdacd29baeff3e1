//! `--now` previews what a command would write at another time.

use crate::tool::Folder;

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok(&format!("authenticate {BOTH}"));
    folder
}

/// The decisions in the logs of both homes.
fn logs(folder: &Folder) -> [String; 2] {
    ["cl-consumer", "cl-provider"].map(|home| folder.read(&format!("{home}/audit.log")))
}

#[test]
fn another_time_changes_nothing_until_a_person_says_so() {
    let folder = with_peering();
    let renew = format!("renew {BOTH} --now +300d");
    let (before, log) = (folder.snapshot(), logs(&folder));
    let tried = folder.run(&format!("{renew} --dry-run"));
    let shown = folder.run(&renew);
    let both = folder.run(&format!("{renew} --dry-run --write-at-this-time"));
    assert!(before == folder.snapshot());
    assert_eq!(log, logs(&folder));
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.out.contains("+++ cl-provider/"), "{shown:?}");
    // Why nothing was changed is said, each time.
    assert_eq!(
        shown.err.lines().last(),
        Some(
            "Nothing was changed: with --now, this is a preview. Add --write-at-this-time to write as if it were that time."
        )
    );
    for run in [tried, both] {
        let last = run.err.lines().last();
        assert_eq!(last, Some("Nothing was changed (--dry-run)."), "{run:?}");
    }

    let written = folder.ok(&format!("{renew} --write-at-this-time"));
    assert!(written.contains(": renewed, until "), "{written}");
    assert!(before != folder.snapshot());
    let run = folder.run(&renew);
    assert_eq!(run.err.lines().last(), Some("Nothing would change."));
}

#[test]
fn what_only_reads_prints_what_it_always_does() {
    let folder = with_peering();
    for options in ["--now +300d", "--now +300d --write-at-this-time"] {
        let status = folder.ok(&format!("status --home cl-provider {options}"));
        assert!(status.contains("cl-consumer   consumer"), "{status}");
    }
    let cordon = "cordon tenant cl-consumer --home cl-provider";
    let error = folder.refused(&format!("{cordon} --write-at-this-time"), "", 2);
    assert!(error.contains("--now TIME"), "{error}");
    folder.ok(&format!("{cordon} --write-at-this-time=false"));
    // What is refused at that time is refused in a preview.
    let other = "cordon tenant cl-other --home cl-provider --now +1d";
    folder.refused(other, "", 4);
}
