//! What `doctor` says of what is due, or denied, or waits: each cause has its own words, and the
//! command that helps.

use std::fs;

use super::{
    lost_parts::{note, with_homes},
    ways_out::{AUTHENTICATE, DOCTOR, OF_CONSUMER, command_in, finding, is_well, with_peering},
};
use crate::tool::Folder;

const OF_PROVIDER: &str = "--home cl-consumer --remote-cluster-id cl-provider";
const CREATE: &str = "create resourceslice mypool --home cl-consumer --remote-home cl-provider";

/// Does what is printed, and looks again.
fn mended(folder: &Folder, home: &str, remedy: &str) {
    assert_eq!(remedy, format!("liqo-auth renew --home {home}"));
    folder.ok(&command_in(remedy));
    is_well(folder, home);
}

#[test]
fn a_kubeconfig_that_is_lost_or_changed_is_named() {
    let folder = with_peering();
    folder.ok(CREATE);
    let private = "cl-consumer/private/liqo-tenant-cl-provider";
    let own = format!("{private}/secret.kubeconfig-controlplane-cl-provider.yaml");
    let of_slice = format!("{private}/secret.kubeconfig-resourceslice-mypool.yaml");
    let doctor = "doctor --home cl-consumer";
    fs::remove_file(folder.path(&of_slice)).unwrap();
    let (what, remedy) = finding(&folder, doctor);
    let expected = "the kubeconfig for the slice mypool of cl-provider is missing or out of date";
    assert_eq!(what, expected);
    mended(&folder, "cl-consumer", &remedy);

    let text = folder.read(&own);
    let (before, after) = text.split_once("  kubeconfig: ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    folder.write(&own, &format!("{before}  kubeconfig: YQ==\n{after}"));
    let (what, remedy) = finding(&folder, doctor);
    let expected = "the kubeconfig for cl-provider is out of date: Secret liqo-tenant-cl-provider/kubeconfig-controlplane-cl-provider";
    assert_eq!(what, expected);
    mended(&folder, "cl-consumer", &remedy);
}

#[test]
fn what_a_provider_lacks_for_a_consumer_is_named() {
    let folder = with_peering();
    let private = "cl-provider/private/liqo-tenant-cl-consumer";
    let certificate = format!("{private}/secret.liqo-remote-certificate.yaml");
    fs::remove_file(folder.path(&certificate)).unwrap();
    let (what, remedy) = finding(&folder, DOCTOR);
    let expected = "the certificate of cl-consumer is missing: Secret liqo-tenant-cl-consumer/liqo-remote-certificate";
    assert_eq!(what, expected);
    mended(&folder, "cl-provider", &remedy);

    let binding = "cl-provider/manifests/liqo-tenant-cl-consumer/rolebinding.liqo-binding-liqo-remote-controlplane.yaml";
    fs::remove_file(folder.path(binding)).unwrap();
    let (what, remedy) = finding(&folder, DOCTOR);
    let expected = "the rights of cl-consumer, or the answer to it, are missing or out of date";
    assert_eq!(what, expected);
    mended(&folder, "cl-provider", &remedy);

    folder.ok("set api-server https://172.19.0.9:6443 --home cl-provider");
    let (what, remedy) = finding(&folder, DOCTOR);
    let expected = "this side's API server has changed from https://172.19.0.3:6443 to https://172.19.0.9:6443, and the answer to cl-consumer has the earlier one";
    assert_eq!(what, expected);
    mended(&folder, "cl-provider", &remedy);
}

#[test]
fn an_invitation_that_ends_with_its_nonce_is_named() {
    let folder = with_homes();
    folder.ok(&format!("create nonce {OF_CONSUMER}"));
    let late = "--now +2d";
    let (what, remedy) = finding(&folder, &format!("{DOCTOR} {late}"));
    let expected = "the nonce for cl-consumer has expired, and the invitation with it";
    assert_eq!(what, expected);
    let (_, invite) = remedy.split_once("invite cl-consumer again: ").unwrap();
    let writes = format!("{late} --write-at-this-time");
    folder.ok(&format!("{} {writes}", command_in(&remedy)));
    let well = folder.run(&format!("{DOCTOR} {late}"));
    assert_eq!((well.code, well.err.as_str()), (0, "Nothing is wrong.\n"));
    folder.ok(&format!("{} {writes}", command_in(invite)));
    folder.ok(&format!("{AUTHENTICATE} {writes}"));
}

#[test]
fn a_slice_that_is_denied_is_a_finding_of_the_consumer_and_a_note_of_the_provider() {
    let folder = with_peering();
    let settings = "cl-provider/home.yaml";
    let text = folder.read(settings);
    folder.write(settings, &format!("{text}slices:\n  defaultClass: false\n"));
    folder.ok(CREATE);
    let doctor = "doctor --home cl-consumer";
    let (what, remedy) = finding(&folder, doctor);
    assert_eq!(what, "cl-provider denies the resources of the slice mypool");
    let (_, delete) = remedy.split_once("decided on again: ").unwrap();
    let said = note(&folder, DOCTOR);
    let denies = "This side denies the resources of the slice mypool of cl-consumer. It decides again when cl-consumer makes the slice again.";
    assert_eq!(said, denies);
    folder.write(settings, &text);
    assert_eq!(
        command_in(delete),
        format!("delete resourceslice mypool {OF_PROVIDER}")
    );
    folder.ok(&command_in(delete));
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder.ok(CREATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

#[test]
fn a_slice_whose_request_is_denied_is_found() {
    let folder = with_peering();
    folder.ok(CREATE);
    let slice = "cl-consumer/manifests/liqo-tenant-cl-provider/resourceslice.mypool.yaml";
    let condition = |status: &str| format!("status: {status}\n    type: Authentication");
    let text = folder.read(slice);
    let denied = text.replace(&condition("Accepted"), &condition("Denied"));
    assert_ne!(text, denied);
    folder.write(slice, &denied);
    let run = folder.run("doctor --home cl-consumer");
    let expected = "cl-provider denies the request of the slice mypool\n";
    assert!(run.out.contains(expected), "{run:?}");
}

/// Who has set a cordon knows it, or has forgotten it. The consumer knows only what follows.
#[test]
fn a_slice_that_is_denied_by_a_cordon_is_a_finding_of_the_consumer_and_the_cordon_a_note() {
    let folder = with_peering();
    folder.ok("cordon tenant cl-consumer --home cl-provider");
    folder.ok(CREATE);
    let (what, _) = finding(&folder, "doctor --home cl-consumer");
    assert_eq!(what, "cl-provider denies the resources of the slice mypool");
    let lift = "uncordon tenant cl-consumer --home cl-provider";
    assert_eq!(
        note(&folder, DOCTOR),
        format!(
            "cl-consumer is cordoned: it gets no new slice until that is lifted. The command is liqo-auth {lift}."
        )
    );
    folder.ok("drain tenant cl-consumer --home cl-provider");
    assert_eq!(
        note(&folder, DOCTOR),
        format!(
            "cl-consumer is drained: it gets neither a certificate nor rights until that is lifted. The command is liqo-auth {lift}."
        )
    );
    folder.ok(lift);
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    is_well(&folder, "cl-consumer");
}

#[test]
fn a_consumer_that_waits_for_an_approval_is_noted_with_the_command() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443 --require-approval");
    assert_eq!(folder.run(AUTHENTICATE).code, 4);
    let said = note(&folder, DOCTOR);
    let command = "approve tenant cl-consumer --home cl-provider";
    let expected =
        format!("cl-consumer waits for this side's approval. The command is liqo-auth {command}.");
    assert_eq!(said, expected);
    folder.ok(command);
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-provider");
}
