//! A home that was lost, and made anew: what is left of it at the other side, and how it is made.

use std::{fs, path::Path};

use super::ways_out::{
    AUTHENTICATE, DOCTOR, OF_CONSUMER, command_in, finding, is_well, with_peering,
};
use crate::tool::{Folder, make_ca};

/// A peering with the slice `mypool`.
fn with_slice() -> Folder {
    let folder = with_peering();
    folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder
}

#[test]
fn the_slice_of_a_lost_consumer_is_deleted_as_printed() {
    let folder = with_slice();
    fs::remove_dir_all(folder.path("cl-consumer")).unwrap();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok(&format!("release --yes {OF_CONSUMER}"));
    folder.ok(AUTHENTICATE);
    let (_, remedy) = finding(&folder, DOCTOR);
    let (_, deleted) = remedy.split_once("this side deletes it: ").unwrap();
    let command = command_in(deleted);
    assert_eq!(
        command,
        format!("delete resourceslice mypool {OF_CONSUMER}")
    );
    folder.ok(&command);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

#[test]
fn a_provider_that_ends_a_peering_with_slices_names_the_command() {
    let folder = with_slice();
    let end = format!("unauthenticate --yes {OF_CONSUMER}");
    let error = folder.refused(&end, "", 4);
    let (_, command) = error.split_once("The command is ").unwrap();
    folder.ok(&command_in(command));
    folder.ok(&end);
}

/// Only what a person has to name stays open.
#[test]
fn a_home_without_its_keys_is_made_anew_as_printed() {
    let folder = Folder::new();
    make_ca(&folder);
    let url = "https://172.19.0.9:6443";
    for (home, options) in [
        ("a", ""),
        ("b", " --require-approval"),
        ("c", " --for-cluster"),
        ("d", " --signer kubernetes --api-server-ca ca.crt"),
        ("e", " --signer aws"),
        ("f", " --key-per-provider"),
    ] {
        let made = format!("init --home {home} --cluster-id cl-{home} --api-server {url}{options}");
        folder.ok(&made);
        let settings = folder.read(&format!("{home}/home.yaml"));
        for secret in ["authentication-keys", "liqo-auth-authority"] {
            let file = folder.path(&format!("{home}/private/liqo/secret.{secret}.yaml"));
            // Only some signers have a CA.
            if !file.exists() {
                continue;
            }
            fs::rename(&file, folder.path("secret")).unwrap();
            let (_, remedy) = finding(&folder, &format!("doctor --home {home}"));
            let command = command_in(&remedy).replace("ca FILE", "ca ca.crt");
            assert_eq!(command, made);
            assert!(!remedy.contains("other settings"), "{remedy}");
            fs::rename(folder.path("secret"), &file).unwrap();
        }
        fs::rename(folder.path(home), folder.path(&format!("{home}-away"))).unwrap();
        folder.ok(&made);
        assert_eq!(folder.read(&format!("{home}/home.yaml")), settings);
    }
}

/// Without its key, a home knows the algorithm by what it got for it.
#[test]
fn a_home_is_made_anew_with_its_algorithm_and_its_other_settings() {
    let folder = Folder::new();
    let made = "init --home cl-consumer --cluster-id cl-consumer --api-server https://172.19.0.2:6443 --key-algorithm ecdsa-p256";
    folder.ok(made);
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    let keys = folder.path("cl-consumer/private/liqo/secret.authentication-keys.yaml");
    let authority = folder.path("cl-consumer/private/liqo/secret.liqo-auth-authority.yaml");
    let doctor = "doctor --home cl-consumer";
    let remedy_without = |file: &Path| {
        let away = folder.path("away");
        fs::rename(file, &away).unwrap();
        let (_, remedy) = finding(&folder, doctor);
        fs::rename(&away, file).unwrap();
        remedy
    };
    let remedy = remedy_without(&authority);
    assert_eq!(command_in(&remedy), made);
    assert!(!remedy.contains("other settings"), "{remedy}");
    let (unknown, _) = made.split_once(" --key-algorithm").unwrap();
    assert_eq!(command_in(&remedy_without(&keys)), unknown);
    // It gets a certificate, and pins the provider's key in its settings.
    folder.ok(AUTHENTICATE);
    let remedy = remedy_without(&keys);
    assert_eq!(command_in(&remedy), made);
    let copy = "Copy the other settings from the home.yaml of the folder that you moved away. Then each peer";
    assert!(remedy.contains(copy), "{remedy}");
}
