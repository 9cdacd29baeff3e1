//! What `doctor` says of what is due: each cause has its own words, and the
//! command that helps.

use std::fs;

use super::{
    lost_parts::with_homes,
    ways_out::{AUTHENTICATE, DOCTOR, OF_CONSUMER, command_in, finding, is_well, with_peering},
};
use crate::tool::Folder;

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
