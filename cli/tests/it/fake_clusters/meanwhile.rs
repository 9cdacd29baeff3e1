//! What others do while a command of the tool is under way.

use std::{process::Stdio, sync::atomic::Ordering};

use serde_json::json;

use super::{Cluster, until};
use crate::tool::{Folder, Run};

const BOTH: &str = "--kubeconfig rome --remote-kubeconfig milan";

/// Rome, which has authenticated at milan.
fn authenticated(folder: &Folder) -> (Cluster, Cluster) {
    let (rome, milan) = (
        Cluster::start(folder, "rome"),
        Cluster::start(folder, "milan"),
    );
    milan.has_a_signer();
    folder.ok(&format!("authenticate {BOTH}"));
    (rome, milan)
}

fn tenant(command: &str) -> String {
    format!("{command} tenant rome --kubeconfig milan")
}

/// Runs a command. Something else happens before the first request of this one that writes reaches
/// the server.
fn held(folder: &Folder, cluster: &Cluster, command: &str, meanwhile: impl FnOnce()) -> Run {
    let before = cluster.delay.held.load(Ordering::Relaxed);
    cluster
        .delay
        .holds_next_write
        .store(true, Ordering::Relaxed);
    let held = folder
        .command(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the command writes", || {
        cluster.delay.held.load(Ordering::Relaxed) > before
    });
    meanwhile();
    cluster.delay.may_go_on.notify_one();
    Run::of(held.wait_with_output().unwrap())
}

/// Runs a command about the Tenant, during which another one runs to its end.
fn overtaken(folder: &Folder, milan: &Cluster, command: &str, by: &str) -> Run {
    held(folder, milan, &tenant(command), || {
        folder.ok(&tenant(by));
    })
}

/// The consumer's controller writes the same record.
#[test]
fn a_message_is_received_again_if_somebody_else_has_changed_the_record() {
    let folder = Folder::new();
    let (rome, _milan) = authenticated(&folder);
    folder.ok("release --yes --remote-cluster-id milan --kubeconfig rome");
    let record = || rome.named("secrets", "liqo-auth-consumer-milan").remove(0);
    let released = record();
    let run = held(&folder, &rome, &format!("authenticate {BOTH}"), || {
        assert_eq!(record(), released);
        let mut changed = record();
        changed["metadata"]["annotations"]["example.com/seen"] = json!("true");
        changed["metadata"]["resourceVersion"].take();
        rome.server.replace(&changed);
    });
    assert_eq!(run.code, 0, "{run:?}");
    assert_ne!(record()["data"], released["data"]);
}

#[test]
fn a_condition_that_somebody_else_sets_meanwhile_stays() {
    let folder = Folder::new();
    let (_rome, milan) = authenticated(&folder);
    for (first, command, by, stays) in [
        ("uncordon", "cordon", "drain", "Drained"),
        ("uncordon", "drain", "cordon", "Cordoned"),
        ("cordon", "uncordon", "drain", "Drained"),
    ] {
        folder.ok(&tenant("uncordon"));
        folder.ok(&tenant(first));
        let run = overtaken(&folder, &milan, command, by);
        assert_eq!(run.code, 4, "{run:?}");
        let said = format!("meanwhile, somebody else set it to {stays}");
        assert!(run.err.contains(&said), "{run:?}");
        let tenants = milan.named("tenants", "rome");
        assert_eq!(tenants[0]["spec"]["tenantCondition"], stays, "{command}");
        let status = folder.ok("status --kubeconfig milan");
        assert!(status.contains(stays), "{status}");
    }
}

/// A controller may carry out the first part of a command.
#[test]
fn a_command_goes_on_if_somebody_else_sets_the_same_condition() {
    let folder = Folder::new();
    let (_rome, milan) = authenticated(&folder);
    for (command, done) in [
        ("cordon", "cordoned"),
        ("drain", "drained"),
        ("uncordon", "uncordoned"),
    ] {
        let run = overtaken(&folder, &milan, command, command);
        assert_eq!(run.code, 0, "{run:?}");
        let said = format!("Tenant \"rome\" {done}");
        assert!(run.out.contains(&said), "{run:?}");
    }
}

/// The signer may owe an answer to another peer.
#[test]
fn a_trial_ends_at_the_signer_only_if_its_own_request_is_open() {
    let folder = Folder::new();
    let (_rome, milan) = authenticated(&folder);
    let create = format!("create resourceslice pool {BOTH} --cpu 2");
    folder.ok(&create);
    let mut open = milan.server.all("certificatesigningrequests").remove(0);
    open["metadata"]["name"] = json!("of-turin");
    open["metadata"]["labels"]["liqo.io/remote-cluster-id"] = json!("turin");
    open["spec"]["signerName"] = json!("example.org/slow");
    milan.server.put(open.clone());
    let approved = json!({ "conditions": [{ "type": "Approved", "status": "True" }] });
    milan.server.patch_status(&open, approved).unwrap();
    let run = folder.run(&format!("{create} --dry-run"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.err.contains("The trial ends here"), "{run:?}");
    assert!(run.err.contains("kubeconfig-resourceslice-pool"), "{run:?}");
}
