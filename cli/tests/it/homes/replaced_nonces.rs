//! A nonce that was replaced while its peering runs: what is printed is true, and leads on.

use std::fs;

use super::ways_out::{AUTHENTICATE, OF_CONSUMER, command_in, is_well, with_peering};
use crate::tool::Folder;

const REPLACE: &str = "create nonce --home cl-provider --remote-cluster-id cl-consumer --replace";

fn awaits_tenant(folder: &Folder) -> bool {
    let shown = folder.ok("status --home cl-provider -o json");
    assert!(shown.contains(r#""phase": "Authenticated""#), "{shown}");
    shown.contains("cl-consumer: its Tenant")
}

#[test]
fn a_nonce_of_a_running_peering_is_not_said_to_be_signed() {
    let folder = with_peering();
    let get = format!("get nonce {OF_CONSUMER}");
    let used = folder.ok(&get);
    folder.ok(REPLACE);
    assert!(awaits_tenant(&folder));
    let run = folder.run(&get);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_ne!(run.out, used);
    // It is still the same invitation, and not refused.
    let again = folder.ok(&format!("create nonce {OF_CONSUMER}"));
    assert!(again.contains(run.out.trim()), "{again}");

    let late = folder.run(&format!("{get} --now +2d"));
    assert!(late.err.contains("this nonce expired at "), "{late:?}");
    assert!(!late.err.contains("has signed"), "{late:?}");
    folder.ok(&format!("{} --now +2d", command_in(&late.err)));
}

#[test]
fn a_nonce_of_a_running_peering_is_signed_by_the_next_exchange() {
    let folder = with_peering();
    folder.ok(REPLACE);
    folder.ok(AUTHENTICATE);
    assert!(!awaits_tenant(&folder));
    let run = folder.run(&format!("get nonce {OF_CONSUMER}"));
    assert!(
        run.err
            .contains("cl-consumer has signed this nonce already"),
        "{run:?}"
    );
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
    // Nothing is left to sign: the same again changes nothing.
    let before = folder.snapshot();
    folder.ok(AUTHENTICATE);
    assert!(before == folder.snapshot());
}

#[test]
fn a_nonce_of_a_running_peering_is_not_taken_back_and_the_reason_is_true() {
    let folder = with_peering();
    folder.ok(REPLACE);
    let delete = format!("delete nonce {OF_CONSUMER}");
    let error = folder.refused(&delete, "", 4);
    assert!(error.contains("is by an earlier nonce"), "{error}");
    assert!(!error.contains("has answered its invitation"), "{error}");
    folder.ok(&format!("{} --yes", command_in(&error)));
    let error = folder.refused(&delete, "", 4);
    assert!(
        error.contains("has no invitation for cl-consumer"),
        "{error}"
    );
}

/// The consumer has a new key, and its nonce was replaced before the earlier key was released.
#[test]
fn a_key_that_is_released_after_its_nonce_was_replaced_leads_to_that_nonce() {
    for by_files in [true, false] {
        let folder = with_peering();
        fs::remove_dir_all(folder.path("cl-consumer")).unwrap();
        folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
        folder.ok(REPLACE);
        let get = format!("get nonce {OF_CONSUMER}");
        let nonce = folder.ok(&get);
        let released = folder.ok(&format!("release --yes {OF_CONSUMER}"));
        let create = command_in(&released);
        let run = folder.run(&create);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        assert!(run.out.contains(nonce.trim()), "{run:?}");
        // The invitation can be given up, too.
        let error = folder.refused(&format!("delete nonce {OF_CONSUMER}"), "", 4);
        let end = "liqo-auth unauthenticate --home cl-provider --remote-cluster-id cl-consumer";
        assert!(error.contains("is by an earlier nonce"), "{error}");
        assert!(error.contains(end), "{error}");
        if by_files {
            let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider";
            let tenant = folder.ok_with(&format!("{generate} --nonce -"), &folder.ok(&get));
            folder.ok_with("apply --home cl-provider -f -", &tenant);
        } else {
            // Beyond its end, it is replaced.
            let late = folder.run(&format!("{create} --now +2d --write-at-this-time"));
            assert_eq!(late.code, 0, "{late:?}");
            assert!(late.err.contains("The nonce was replaced"), "{late:?}");
            assert!(!late.out.contains(nonce.trim()), "{late:?}");
        }
        folder.ok(AUTHENTICATE);
        is_well(&folder, "cl-consumer");
        is_well(&folder, "cl-provider");
    }
}

/// The Tenant was changed after it had signed the nonce.
#[test]
fn a_used_nonce_is_replaced_while_the_tenant_signs_none() {
    let folder = with_peering();
    let used = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let file = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let text = folder.read(file);
    let (before, after) = text.split_once("  signature: ").unwrap();
    let (signature, rest) = after.split_once('\n').unwrap();
    let other = format!("AAAA{}", &signature[4..]);
    folder.write(file, &format!("{before}  signature: {other}\n{rest}"));
    let run = folder.run(&format!("create nonce {OF_CONSUMER}"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("The nonce was replaced"), "{run:?}");
    assert!(!run.out.contains(used.trim()), "{run:?}");
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-provider");
}

/// With `peerAgainDays`, the nonce of a peering that has ended serves again.
#[test]
fn a_nonce_that_serves_again_after_the_end_is_taken_back() {
    let folder = with_peering();
    let settings = folder.read("cl-provider/home.yaml");
    folder.write(
        "cl-provider/home.yaml",
        &format!("{settings}peerAgainDays: 5\n"),
    );
    let (get, delete) = (
        format!("get nonce {OF_CONSUMER}"),
        format!("delete nonce {OF_CONSUMER}"),
    );
    let signed = folder.ok("generate tenant --home cl-consumer --remote-cluster-id cl-provider");
    folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    folder.ok(&get);
    let said = folder.ok(&delete);
    assert!(
        said.contains("cl-consumer is not invited any more"),
        "{said}"
    );
    folder.refused(&get, "", 4);
    let error = folder.refused(&delete, "", 4);
    assert!(
        error.contains("has no invitation for cl-consumer"),
        "{error}"
    );
    // Who kept it signs it in vain.
    folder.refused("apply --home cl-provider -f -", &signed, 3);
    folder.ok(AUTHENTICATE);
}
