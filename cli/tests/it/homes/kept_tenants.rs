//! A deleted Tenant that another program's finalizer keeps: what is awaited, and from whom.

use std::process::Command;

use super::ways_out::{AUTHENTICATE, DOCTOR, command_in, finding, is_well, with_peering};
use crate::tool::Folder;

const TENANT: &str = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
const LATER: &str = "--now +400d";

fn with_kept_tenant() -> Folder {
    let folder = with_peering();
    let text = folder.read(TENANT);
    let kept = text.replacen(
        "  finalizers:\n",
        "  finalizers:\n  - example.com/keep\n",
        1,
    );
    assert_ne!(text, kept);
    folder.write(TENANT, &kept);
    folder
}

#[test]
fn a_tenant_that_another_program_keeps_is_named_until_it_is_gone() {
    let folder = with_kept_tenant();
    // Nobody waits for its end yet.
    is_well(&folder, "cl-provider");
    folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    let (what, remedy) = finding(&folder, DOCTOR);
    let expected = "Tenant liqo-tenant-cl-consumer/cl-consumer is deleted, and the finalizer example.com/keep keeps it";
    assert_eq!(what, expected);
    let awaited = "this cluster: the end of Tenant liqo-tenant-cl-consumer/cl-consumer, which is being deleted, and is kept by example.com/keep";
    for now in ["", LATER] {
        let status = folder.ok(&format!("status --home cl-provider -o json {now}"));
        assert!(status.contains(awaited), "{status}");
        let status = folder.run(&format!("status --home cl-provider --exit-code {now}"));
        assert_eq!(status.code, 4, "{status:?}");
        assert!(!status.out.contains("expired"), "{status:?}");
        let renew = folder.run(&format!("renew --home cl-provider {now}"));
        assert_eq!(renew.code, 4, "{renew:?}");
        assert!(
            renew.err.contains(&format!("Error: {what}. {remedy}\n")),
            "{renew:?}"
        );
    }
    // One cause is one finding, also after the end of the certificate.
    assert_eq!(
        finding(&folder, &format!("{DOCTOR} {LATER}")),
        (what, remedy.clone())
    );

    let (_, deletion) = remedy.split_once("gone for good: ").unwrap();
    let (deletion, then) = deletion.split_once(". ").unwrap();
    let mut bash = Command::new("bash");
    let bash = bash.arg("-c").arg(deletion).current_dir(folder.path(""));
    assert!(bash.status().unwrap().success(), "{deletion}");
    folder.ok(&command_in(then));
    is_well(&folder, "cl-provider");
    let status = folder.ok("status --home cl-provider -o json");
    assert!(status.contains(r#""phase": "Ended""#), "{status}");
    folder.ok(AUTHENTICATE);
}

/// The consumer is a provider, too, and its Tenant is told of once.
#[test]
fn a_kept_tenant_of_a_peer_on_both_sides_is_one_finding() {
    let folder = with_kept_tenant();
    folder.ok("authenticate --home cl-provider --remote-home cl-consumer");
    folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    let (what, _) = finding(&folder, DOCTOR);
    assert!(
        what.ends_with("the finalizer example.com/keep keeps it"),
        "{what}"
    );
}

/// What is left of its rights is taken first.
#[test]
fn a_tenant_with_the_finalizer_of_this_side_is_not_to_be_deleted() {
    let folder = with_kept_tenant();
    let text = folder.read(TENANT);
    let deleted = text.replacen(
        "metadata:\n",
        "metadata:\n  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n",
        1,
    );
    folder.write(TENANT, &deleted);
    let (_, remedy) = finding(&folder, DOCTOR);
    assert_eq!(remedy, "liqo-auth renew --home cl-provider");
    let run = folder.run("renew --home cl-provider");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("example.com/keep"), "{run:?}");
}
