//! A home that comes back from a backup of before a key rotation, whole or in part: what is printed
//! leads back to the peering.

use std::fs;

use serde_json::Value;

use super::{
    changed_providers::in_ticks,
    ways_out::{AUTHENTICATE, OF_CONSUMER, command_in, copied, is_well, with_peering},
};
use crate::tool::Folder;

/// A peering whose consumer has rotated its key since a copy of a part of a home was made, and in
/// which this part is the copy.
fn restored(part: &str) -> Folder {
    let folder = with_peering();
    copied(&folder.path(part), &folder.path("backup"));
    folder.ok("rotate key --home cl-consumer --remote-cluster-id cl-provider");
    folder.ok(AUTHENTICATE);
    fs::remove_dir_all(folder.path(part)).unwrap();
    fs::rename(folder.path("backup"), folder.path(part)).unwrap();
    folder
}

/// What a home's doctor says.
fn said(folder: &Folder, home: &str) -> (Vec<String>, Vec<String>) {
    let run = folder.run(&format!("doctor --home {home} -o json"));
    let all: Value = serde_json::from_str(&run.out).unwrap();
    let texts = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = all["findings"].as_array().unwrap().iter();
    let notes = all["notes"].as_array().unwrap().iter();
    (
        findings.map(|found| texts(&found["remedy"])).collect(),
        notes.map(texts).collect(),
    )
}

#[test]
fn a_whole_home_is_led_to_the_release_by_the_doctor() {
    for home in ["cl-consumer", "cl-provider"] {
        let folder = restored(home);
        let run = folder.run(AUTHENTICATE);
        assert_eq!(run.code, 3, "{run:?}");
        let (findings, notes) = said(&folder, "cl-consumer");
        assert_eq!(findings, Vec::<String>::new());
        let [note] = notes.as_slice() else {
            panic!("{home}: {notes:?}");
        };
        assert!(note.contains("answered for another key"), "{note}");
        let [release, _, invite, ..] = in_ticks(note)[..] else {
            panic!("{note}");
        };
        folder.ok(&format!("{release} --home cl-provider --yes"));
        folder.ok(&format!("{invite} --home cl-provider"));
        folder.ok(AUTHENTICATE);
        is_well(&folder, "cl-consumer");
        is_well(&folder, "cl-provider");
        assert_eq!(said(&folder, "cl-consumer").1, Vec::<String>::new());
    }
}

/// What carries a renewal comes upon it first.
#[test]
fn a_whole_home_is_led_to_the_release_by_what_carries_renewals() {
    for home in ["cl-consumer", "cl-provider"] {
        let folder = restored(home);
        let run = folder.run("replicate --home cl-consumer --remote-home cl-provider");
        assert_eq!(run.code, 3, "{run:?}");
        let (_, after) = run.err.split_once("an earlier key is back").unwrap();
        let (release, after) = after.split_once(", and ").unwrap();
        let (release, invite) = (command_in(release), command_in(after));
        assert!(release.starts_with("release "), "{run:?}");
        folder.ok(&format!("{release} --home cl-provider --yes"));
        folder.ok(&format!("{invite} --home cl-provider"));
        folder.ok(AUTHENTICATE);
        is_well(&folder, "cl-consumer");
        is_well(&folder, "cl-provider");
    }
}

/// The provider's Identity answers a nonce that the restored home has never seen.
#[test]
fn a_consumer_from_before_its_last_handshake_needs_one_command() {
    let folder = with_peering();
    copied(&folder.path("cl-consumer"), &folder.path("backup"));
    folder.ok(&format!("create nonce {OF_CONSUMER} --replace"));
    folder.ok(AUTHENTICATE);
    fs::remove_dir_all(folder.path("cl-consumer")).unwrap();
    fs::rename(folder.path("backup"), folder.path("cl-consumer")).unwrap();
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
    let before = folder.snapshot();
    folder.ok(AUTHENTICATE);
    assert!(before == folder.snapshot(), "nothing is left to do");
}

#[test]
fn a_peering_that_the_consumer_has_ended_alone_begins_again_by_one_command() {
    let folder = with_peering();
    let nonce = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    folder.ok("unauthenticate --yes --home cl-consumer --remote-cluster-id cl-provider");
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    let error = folder.refused(generate, &nonce, 3);
    let by_files = "By files, the administrator of cl-provider runs `liqo-auth create nonce --remote-cluster-id cl-consumer --replace`";
    assert!(error.contains(by_files), "{error}");
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

/// The provider has pinned the key of the home that was lost.
#[test]
fn a_consumer_that_was_made_anew_is_released_as_the_doctor_says() {
    let folder = with_peering();
    fs::remove_dir_all(folder.path("cl-consumer")).unwrap();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    assert_eq!(folder.run(AUTHENTICATE).code, 3);
    let (_, notes) = said(&folder, "cl-provider");
    let [note] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    assert!(note.contains("cl-consumer came with another key"), "{note}");
    let (_, command) = note.split_once("The command is ").unwrap();
    let released = folder.ok(&format!("{} --yes", command_in(command)));
    folder.ok(&command_in(&released));
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

/// The consumer has pinned the address, the CA and the key of the home that was lost.
#[test]
fn a_provider_that_was_made_anew_is_released_as_the_doctor_says() {
    let folder = with_peering();
    fs::remove_dir_all(folder.path("cl-provider")).unwrap();
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    assert_eq!(folder.run(AUTHENTICATE).code, 3);
    let (_, notes) = said(&folder, "cl-consumer");
    let [note] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    let said_of_it = "cl-provider answered with another address, CA or key";
    assert!(note.contains(said_of_it), "{note}");
    let (_, command) = note.split_once("The command is ").unwrap();
    folder.ok(&format!("{} --yes", command_in(command)));
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

#[test]
fn a_home_of_which_only_the_records_came_back_is_led_on() {
    for home in ["cl-consumer", "cl-provider"] {
        let folder = restored(&format!("{home}/records"));
        let mut told = Vec::new();
        for _ in 0..3 {
            for home in ["cl-consumer", "cl-provider"] {
                for remedy in said(&folder, home).0 {
                    for command in remedy.split("The command is ").skip(1).map(command_in) {
                        let yes = if command.starts_with("release") {
                            " --yes"
                        } else {
                            ""
                        };
                        let run = folder.run(&format!("{command}{yes}"));
                        told.push(format!("{command}: {run:?}"));
                    }
                }
            }
            let run = folder.run(AUTHENTICATE);
            told.push(format!("{run:?}"));
        }
        let is_fine = |home: &&str| folder.run(&format!("doctor --home {home}")).code == 0;
        let fine = ["cl-consumer", "cl-provider"].iter().all(is_fine);
        assert!(fine, "{home}: {}", told.join("\n"));
        folder.ok(AUTHENTICATE);
    }
}
