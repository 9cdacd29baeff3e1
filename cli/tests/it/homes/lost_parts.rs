//! What a home has lost of a peering, or waits for in vain: `doctor` says so, and what it prints helps.

use std::fs;

use serde_json::Value;

use super::{
    changed_providers::in_ticks,
    ways_out::{AUTHENTICATE, OF_CONSUMER, finding, is_well, with_peering},
};
use crate::tool::Folder;

const DOCTOR: &str = "doctor --home cl-consumer";
const IDENTITY: &str =
    "cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml";
const KUBECONFIG: &str =
    "cl-consumer/private/liqo-tenant-cl-provider/secret.kubeconfig-controlplane-cl-provider.yaml";
const TENANT: &str = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";

/// Two homes that other machines reach.
pub(super) fn with_homes() -> Folder {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    folder
}

/// A doctor's run that finds nothing, and has one note.
pub(super) fn note(folder: &Folder, doctor: &str) -> String {
    let run = folder.run(&format!("{doctor} -o json"));
    assert_eq!(run.code, 0, "{run:?}");
    let all: Value = serde_json::from_str(&run.out).unwrap();
    let [note] = all["notes"].as_array().unwrap().as_slice() else {
        panic!("{run:?}");
    };
    note.as_str().unwrap().to_owned()
}

/// Has the provider print the Identity, and the consumer take it, as it is printed.
fn taken_as_printed(folder: &Folder, generate: &str, apply: &str) {
    let identity = folder.ok(&format!("{generate} --home cl-provider"));
    folder.write("identity.yaml", &identity);
    folder.ok(&apply.replace("FILE", "identity.yaml"));
    is_well(folder, "cl-consumer");
    is_well(folder, "cl-provider");
}

#[test]
fn a_lost_identity_is_found_and_comes_back() {
    let folder = with_peering();
    fs::remove_file(folder.path(IDENTITY)).unwrap();
    let (what, remedy) = finding(&folder, DOCTOR);
    let expected = "the Identity from cl-provider is lost: its kubeconfig is there, in Secret liqo-tenant-cl-provider/kubeconfig-controlplane-cl-provider";
    assert_eq!(what, expected);
    let [generate, apply, ..] = in_ticks(&remedy)[..] else {
        panic!("{remedy}");
    };
    taken_as_printed(&folder, generate, apply);
    // The other way that is named.
    let both = "authenticate --home cl-consumer --remote-home DIR";
    assert!(remedy.contains(both), "{remedy}");
}

#[test]
fn an_identity_that_is_lost_with_its_kubeconfig_is_noted() {
    let folder = with_peering();
    fs::remove_file(folder.path(IDENTITY)).unwrap();
    fs::remove_file(folder.path(KUBECONFIG)).unwrap();
    let note = note(&folder, DOCTOR);
    let [_, generate, apply, ..] = in_ticks(&note)[..] else {
        panic!("{note}");
    };
    taken_as_printed(&folder, generate, apply);
}

#[test]
fn an_accepted_slice_shows_that_the_identity_is_lost() {
    let folder = with_peering();
    let both = "--home cl-consumer --remote-home cl-provider";
    folder.ok(&format!("create resourceslice mypool {both}"));
    fs::remove_file(folder.path(IDENTITY)).unwrap();
    fs::remove_file(folder.path(KUBECONFIG)).unwrap();
    let (what, remedy) = finding(&folder, DOCTOR);
    let expected =
        "the Identity from cl-provider is lost: cl-provider has accepted the slice mypool";
    assert_eq!(what, expected);
    let [generate, apply, ..] = in_ticks(&remedy)[..] else {
        panic!("{remedy}");
    };
    taken_as_printed(&folder, generate, apply);
}

/// The consumer cannot know it, so that it is told what may be, and what helps then.
#[test]
fn a_consumer_whose_invitation_was_taken_back_is_told_what_helps() {
    let folder = with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    folder.ok(&format!("delete nonce {OF_CONSUMER}"));
    let said = note(&folder, DOCTOR);
    assert!(
        said.starts_with("cl-provider has not answered this side's Tenant. "),
        "{said}"
    );
    assert!(
        folder
            .run(DOCTOR)
            .err
            .contains("Note: cl-provider has not answered")
    );
    let commands = in_ticks(&said);
    assert_eq!(folder.ok(commands[0]), folder.read("tenant.yaml"));
    let (_, anew) = said.split_once("has taken its invitation back: ").unwrap();
    let [_, invite, generate, receive, answer, take] = in_ticks(anew)[..] else {
        panic!("{anew}");
    };
    folder.ok(&format!("{invite} --home cl-provider"));
    let nonce = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let tenant = folder.ok(&generate.replace("NONCE", &nonce));
    folder.write("tenant.yaml", &tenant);
    let receive = receive.replace("FILE", "tenant.yaml");
    folder.ok(&format!("{receive} --home cl-provider"));
    taken_as_printed(&folder, answer, take);
}

#[test]
fn a_nonce_that_expired_without_an_answer_is_found() {
    let folder = with_homes();
    let tenant = folder.tenant();
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider";
    let run = folder.run(generate);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let late = "--now +2d";
    let run = folder.run(&format!("{generate} {late} --write-at-this-time"));
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, tenant.as_str()),
        "{run:?}"
    );
    assert!(
        run.err.contains("The nonce in this Tenant expired at "),
        "{run:?}"
    );
    let (what, remedy) = finding(&folder, &format!("{DOCTOR} {late}"));
    assert!(what.contains("has not answered, and the nonce"), "{what}");
    for said in [&run.err, &remedy] {
        let next = in_ticks(said);
        let create = "create nonce --remote-cluster-id cl-consumer --replace";
        assert!(next.contains(&create), "{said}");
    }
    let authenticate = in_ticks(&remedy)[0].replace("DIR", "cl-provider");
    folder.ok(&format!("{authenticate} --now +2d --write-at-this-time"));
    let run = folder.run(&format!("{DOCTOR} --now +2d"));
    assert_eq!(
        (run.code, run.err.as_str()),
        (0, "Nothing is wrong.\n"),
        "{run:?}"
    );
}

#[test]
fn a_lost_tenant_is_named_before_its_peering_ends() {
    let folder = with_peering();
    let doctor = "doctor --home cl-provider";
    let text = folder.read(TENANT);
    fs::remove_file(folder.path(TENANT)).unwrap();
    let (what, remedy) = finding(&folder, doctor);
    let expected =
        "the Tenant of cl-consumer is gone, and the rights of cl-consumer are still there";
    assert_eq!(what, expected);
    assert!(
        remedy.contains(&format!("before anything else: {TENANT}. ")),
        "{remedy}"
    );
    folder.write(TENANT, &text);
    is_well(&folder, "cl-provider");

    fs::remove_file(folder.path(TENANT)).unwrap();
    let [end, invite] = in_ticks(&remedy)[..] else {
        panic!("{remedy}");
    };
    folder.ok(end);
    is_well(&folder, "cl-provider");
    folder.ok(invite);
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

/// Neither the Identity nor the Tenant is lost: one waits for the key's succession, and the other is
/// of this side's own end.
#[test]
fn what_is_on_its_way_is_not_lost() {
    let folder = with_peering();
    folder.ok("rotate key --home cl-consumer --remote-cluster-id cl-provider");
    folder.ok(&format!("create nonce {OF_CONSUMER} --replace"));
    let nonce = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    folder.ok_with(generate, &nonce);
    is_well(&folder, "cl-consumer");

    let deleted =
        "metadata:\n  deletionTimestamp: '2026-01-01T00:00:00Z'\n  finalizers: [example.com/x]\n";
    let text = folder.read(IDENTITY).replacen("metadata:\n", deleted, 1);
    folder.write(IDENTITY, &text);
    let status = folder.ok("status --home cl-consumer");
    assert!(status.contains("Ending"), "{status}");
    let run = folder.run(&format!("{DOCTOR} -o json"));
    assert!(!run.out.contains("the Tenant of"), "{run:?}");
}

/// Whatever else has happened to it, one run makes and signs another one.
#[test]
fn a_lost_nonce_takes_one_run() {
    let create = format!("create nonce {OF_CONSUMER} --replace");
    let release = format!("release --yes {OF_CONSUMER}");
    for before in [
        vec![],
        vec![&create],
        vec![&release],
        vec![&create, &release],
    ] {
        let folder = with_peering();
        for command in before {
            folder.ok(command);
        }
        let nonce = "cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml";
        fs::remove_file(folder.path(nonce)).unwrap();
        folder.ok(AUTHENTICATE);
        is_well(&folder, "cl-consumer");
        is_well(&folder, "cl-provider");
    }
}
