//! A file that is there and cannot be read is not said to be absent: each command names it, and what
//! to do.

use std::fs;

use super::ways_out::{AUTHENTICATE, OF_CONSUMER, command_in, finding, is_well, with_peering};
use crate::tool::Folder;

const KUBECONFIG: &str = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider";

/// Breaks a file, and runs a command that needs it. Returns what it says.
fn broken(folder: &Folder, file: &str, command: &str) -> String {
    folder.write(file, "garbage: [");
    let error = folder.refused(command, "", 5);
    for part in [
        "cannot be read: ",
        &format!("or delete it if all of it may be lost: {file}. "),
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    error
}

#[test]
fn a_broken_kubeconfig_is_named_and_made_again() {
    let folder = with_peering();
    let file = "cl-consumer/private/liqo-tenant-cl-provider/secret.kubeconfig-controlplane-cl-provider.yaml";
    let error = broken(&folder, file, KUBECONFIG);
    assert!(!error.contains("is not there"), "{error}");
    fs::remove_file(folder.path(file)).unwrap();
    folder.ok(&command_in(&error));
    assert!(folder.ok(KUBECONFIG).contains("client-key-data"));

    let file =
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml";
    let error = broken(&folder, file, KUBECONFIG);
    fs::remove_file(folder.path(file)).unwrap();
    let identity = folder.ok(&format!("generate identity {OF_CONSUMER}"));
    folder.write("identity.yaml", &identity);
    folder.ok(&command_in(&error).replace("FILE", "identity.yaml"));
    is_well(&folder, "cl-consumer");
}

#[test]
fn a_broken_nonce_is_named_and_handed_out_again() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    let get = format!("get nonce {OF_CONSUMER}");
    let before = folder.ok(&get);
    let file = "cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml";
    let error = broken(&folder, file, &get);
    assert!(!error.contains("there is no nonce"), "{error}");
    fs::remove_file(folder.path(file)).unwrap();
    folder.ok(&command_in(&error));
    assert_eq!(folder.ok(&get), before);
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    // Of another peer, the broken one says nothing.
    folder.write(file, "garbage: [");
    let other = "get nonce --home cl-provider --remote-cluster-id cl-other";
    let error = folder.refused(other, "", 4);
    assert!(error.contains("there is no nonce for cl-other"), "{error}");
}

#[test]
fn a_broken_record_is_not_said_to_pin_nothing() {
    let folder = with_peering();
    for (home, peer, role) in [
        ("cl-provider", "cl-consumer", "provider"),
        ("cl-consumer", "cl-provider", "consumer"),
    ] {
        let release = format!("release --yes --home {home} --remote-cluster-id {peer}");
        let file = format!("{home}/records/secret.liqo-auth-{role}-{peer}.yaml");
        let text = folder.read(&file);
        let error = broken(&folder, &file, &release);
        assert!(error.contains("forgets all that is pinned"), "{error}");
        folder.write(&file, &text);
        folder.ok(&release);
    }
    folder.ok(AUTHENTICATE);
}

/// The finding names the file, and not the form of links.
#[test]
fn a_manifest_beyond_the_limit_is_found_with_a_remedy() {
    let folder = with_peering();
    let file = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let text = folder.read(file);
    folder.write("cl-provider/manifests/notes.txt", &" ".repeat(2_000_000));
    folder.write(file, &format!("{text}#{}", " ".repeat(2_000_000)));
    let (what, remedy) = finding(&folder, "doctor --home cl-provider");
    assert!(what.starts_with(&format!("{file}: found 200")), "{what}");
    let command = format!("copy: mv -- {file} DIR. ");
    assert!(remedy.contains(&command), "{remedy}");
    folder.write(file, &text);
    is_well(&folder, "cl-provider");

    let large = fs::File::create(folder.path("large.yaml")).unwrap();
    large.set_len(16_777_217).unwrap();
    let error = folder.refused("apply --home cl-provider -f large.yaml", "", 2);
    assert!(error.contains("Name another file"), "{error}");
}

#[test]
fn a_folder_in_the_place_of_the_log_leads_to_the_doctor() {
    let folder = with_peering();
    let log = folder.path("cl-provider/audit.log");
    fs::rename(&log, folder.path("log")).unwrap();
    fs::create_dir(&log).unwrap();
    for command in [
        "cordon tenant cl-consumer --home cl-provider",
        "audit verify --home cl-provider",
    ] {
        let error = folder.refused(command, "", 1);
        assert!(
            error.contains("cl-provider/audit.log: it is not a regular file. "),
            "{error}"
        );
        let (what, _) = finding(&folder, &command_in(&error));
        assert_eq!(what, "cl-provider/audit.log is not a regular file");
    }
    fs::remove_dir(&log).unwrap();
    // A log that nobody may read is another matter.
    fs::rename(folder.path("log"), &log).unwrap();
    folder.ok("cordon tenant cl-consumer --home cl-provider");
}
