//! A consumer that has lost the file of a slice: `doctor`, `renew` and `replicate` name it, and what they
//! print brings it back.

use std::fs;

use super::{
    changed_providers::in_ticks,
    ways_out::{finding, is_well, with_peering},
};
use crate::tool::Folder;

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";
const SLICE: &str = "cl-consumer/manifests/liqo-tenant-cl-provider/resourceslice.mypool.yaml";
const IDENTITY: &str =
    "cl-consumer/manifests/liqo-tenant-cl-provider/identity.resourceslice-mypool.yaml";
const DOCTOR: &str = "doctor --home cl-consumer";
const RENEW: &str = "renew --home cl-consumer";

/// A peering whose consumer has lost its slice, and the text of the slice.
fn with_lost_slice() -> (Folder, String) {
    let folder = with_peering();
    folder.ok(&format!("create resourceslice mypool {BOTH}"));
    folder.ok(&format!("create resourceslice other {BOTH}"));
    folder.ok(&format!("replicate {BOTH}"));
    let text = folder.read(SLICE);
    fs::remove_file(folder.path(SLICE)).unwrap();
    (folder, text)
}

fn are_well(folder: &Folder) {
    folder.ok(&format!("replicate {BOTH}"));
    assert!(folder.path(IDENTITY).exists());
    is_well(folder, "cl-consumer");
    is_well(folder, "cl-provider");
}

#[test]
fn a_slice_that_is_lost_is_found_before_a_run_deletes_the_rest() {
    let (folder, text) = with_lost_slice();
    let (what, remedy) = finding(&folder, DOCTOR);
    let expected = "the slice mypool of cl-provider is gone, and Identity liqo-tenant-cl-provider/resourceslice-mypool is of it";
    assert_eq!(what, expected);
    assert!(
        remedy.contains(&format!("from a backup: {SLICE}. ")),
        "{remedy}"
    );
    let [create, renew] = in_ticks(&remedy)[..] else {
        panic!("{remedy}");
    };
    folder.ok(create);
    are_well(&folder);

    // It was deleted: the run says what it deletes, once.
    fs::remove_file(folder.path(SLICE)).unwrap();
    assert_eq!(folder.run(renew).code, 4);
    assert!(!folder.path(IDENTITY).exists());
    folder.ok(renew);
    // It comes back from a backup also then.
    folder.write(SLICE, &text);
    folder.ok(RENEW);
    are_well(&folder);
}

#[test]
fn each_run_that_deletes_the_rest_of_a_lost_slice_names_it() {
    let back = "--home cl-provider --remote-home cl-consumer";
    for command in [
        RENEW.to_owned(),
        format!("renew {BOTH}"),
        format!("renew {back}"),
        format!("replicate {BOTH}"),
        format!("replicate {back}"),
    ] {
        let (folder, _) = with_lost_slice();
        let run = folder.run(&command);
        assert_eq!(run.code, 4, "{command}: {run:?}");
        let (_, named) = run
            .err
            .split_once("the slice mypool of cl-provider is gone")
            .unwrap();
        assert!(!run.err.contains("slice other"), "{command}: {run:?}");
        folder.ok(in_ticks(named)[0]);
        are_well(&folder);
        folder.ok(&command);
    }
}
