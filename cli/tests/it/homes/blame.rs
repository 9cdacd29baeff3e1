//! What a person has mixed up, a clock, or a deleted Secret is no fault of the peer: each has its own
//! words, and the command to run.

use std::fs;

use super::{
    lost_parts::with_homes,
    ways_out::{DOCTOR, OF_CONSUMER, command_in, finding, is_well},
};
use crate::tool::Folder;

const GET_NONCE: &str = "get nonce --home cl-provider --remote-cluster-id cl-consumer";
const CREATE_NONCE: &str = "create nonce --home cl-provider --remote-cluster-id cl-consumer";
const SIGN: &str = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
const APPLY: &str = "apply --home cl-provider -f tenant.yaml";

/// With a Tenant for `cl-provider` in `tenant.yaml`.
fn with_tenant() -> Folder {
    let folder = Folder::with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    folder
}

/// Asserts that a message does not blame a peer, and has these parts.
fn assert_blameless(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
    for blame in ["misbehaved", "incompatible"] {
        assert!(!error.contains(blame), "{error}");
    }
}

#[test]
fn a_tenant_for_another_provider_is_told_so() {
    let folder = with_tenant();
    folder.ok("init --home cl-other");
    let apply = "apply --home cl-other -f tenant.yaml";
    let create = "create nonce --home cl-other --remote-cluster-id cl-consumer";
    let error = folder.refused(apply, "", 3);
    let other = "cl-other has not invited cl-consumer. If cl-consumer made the Tenant for another provider, apply it there";
    assert_blameless(&error, &["missing: there is no nonce", create, other]);
    folder.ok(create);
    let get = "get nonce --home cl-other --remote-cluster-id cl-consumer";
    for error in [
        folder.refused(apply, "", 3),
        folder.refused("inspect tenant.yaml --home cl-other", "", 3),
    ] {
        assert!(!error.contains("misbehaved"), "{error}");
    }
    // `inspect` names the same command.
    let inspected = folder.run("inspect tenant.yaml --home cl-other");
    assert!(
        inspected
            .out
            .contains(&format!("printed by liqo-auth {get}. ")),
        "{inspected:?}"
    );
    let error = folder.refused(apply, "", 3);
    assert!(!error.contains("has not invited"), "{error}");
    let parts = [
        "for another nonce: ",
        "that the Tenant is for this provider",
        get,
    ];
    assert_blameless(&error, &parts);
    // What the message says helps.
    let nonce = folder.ok(get);
    let sign = SIGN.replace("cl-provider", "cl-other");
    let tenant = folder.ok_with(&sign, &nonce);
    folder.ok_with("apply --home cl-other -f -", &tenant);
}

#[test]
fn a_tenant_with_a_replaced_nonce_is_told_so() {
    let folder = with_tenant();
    folder.ok(&format!("{CREATE_NONCE} --replace"));
    let error = folder.refused(APPLY, "", 3);
    assert_blameless(&error, &["for another nonce: ", GET_NONCE]);
    let tenant = folder.ok_with(SIGN, &folder.ok(GET_NONCE));
    folder.ok_with("apply --home cl-provider -f -", &tenant);
}

#[test]
fn a_nonce_for_another_consumer_is_told_so() {
    let folder = with_tenant();
    folder.ok("init --home cl-other");
    let sign = SIGN.replace("cl-consumer", "cl-other");
    let error = folder.refused(&sign, &folder.ok(GET_NONCE), 3);
    assert_blameless(&error, &["for another cluster: ", "meant for this cluster"]);
}

/// Whatever was handed out in place of the invitation, its way is named, and works.
#[test]
fn a_wrong_invitation_names_the_commands_of_the_right_one() {
    let folder = Folder::with_homes();
    folder.ok("init --home cl-other");
    let other = "--home cl-other --remote-cluster-id cl-consumer";
    folder.ok(&format!("create nonce {other}"));
    let others = folder.ok(&format!("get nonce {other}"));
    let no_nonce = SIGN.strip_suffix(" --nonce -").unwrap();
    for (command, nonce, code) in [
        (SIGN, others.as_str(), 3),
        (SIGN, "bm8gbm9uY2U=", 3),
        (no_nonce, "", 4),
    ] {
        let error = folder.refused(command, nonce, code);
        let (_, said) = error
            .split_once("The administrator of cl-provider")
            .unwrap();
        let commands: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
        let expected = ["get nonce", "create nonce"]
            .map(|verb| format!("liqo-auth {verb} --remote-cluster-id cl-consumer"));
        assert_eq!(commands, expected, "{error}");
    }
    folder.ok(CREATE_NONCE);
    let tenant = folder.ok_with(SIGN, &folder.ok(GET_NONCE));
    // The wrong provider names the way as well.
    folder.write("tenant.yaml", &tenant);
    let error = folder.refused("apply --home cl-other -f tenant.yaml", "", 3);
    let sign = "cl-consumer signs it by `liqo-auth generate tenant --remote-cluster-id cl-other --nonce NONCE`.";
    assert_blameless(&error, &[&format!("liqo-auth get nonce {other}"), sign]);
    folder.ok(APPLY);
}

#[test]
fn an_expired_nonce_may_be_a_wrong_clock() {
    let folder = with_tenant();
    let later = "--now +400d --write-at-this-time";
    let error = folder.refused(&format!("{APPLY} {later}"), "", 3);
    let create = format!("{CREATE_NONCE} --replace");
    assert_blameless(
        &error,
        &["expired: the nonce ", "this cluster's clock", &create],
    );
    // What is signed stays signed.
    folder.ok("init --home again --cluster-id cl-consumer");
    let sign = SIGN.replace("--home cl-consumer", "--home again");
    let error = folder.refused(&format!("{sign} {later}"), &folder.ok(GET_NONCE), 3);
    assert_blameless(&error, &["expired: the nonce ", "this cluster's clock"]);
    // A consumer does not create nonces.
    assert!(!error.contains("create nonce"), "{error}");
    // The clock was wrong.
    folder.ok(APPLY);
}

#[test]
fn a_deleted_nonce_is_made_again() {
    let folder = with_tenant();
    let secret = "private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml";
    fs::remove_file(folder.path(&format!("cl-provider/{secret}"))).unwrap();
    let error = folder.refused(APPLY, "", 3);
    let renew = "renew --home cl-provider";
    assert_blameless(&error, &["missing: there is no nonce", renew]);
    assert!(!error.contains("create nonce"), "{error}");
    folder.ok(renew);
    folder.ok(APPLY);
}

/// It is printed, since a person may want to compare it.
#[test]
fn a_nonce_that_serves_no_more_is_named_as_such() {
    let folder = with_tenant();
    let fresh = folder.run(GET_NONCE);
    assert_eq!((fresh.code, fresh.err.as_str()), (0, ""));
    let late = folder.run(&format!("{GET_NONCE} --now +2d"));
    folder.ok(APPLY);
    let used = folder.run(GET_NONCE);
    folder.ok("release --home cl-provider --remote-cluster-id cl-consumer --yes");
    let released = folder.run(GET_NONCE);
    let no_more = "this nonce serves no more: it was used or replaced, or its peering has ended. ";
    for (run, why) in [
        (late, "this nonce expired at 2"),
        (used, "cl-consumer has signed this nonce already. "),
        (released, no_more),
    ] {
        assert_eq!((run.code, &run.out), (0, &fresh.out), "{run:?}");
        let next = format!("liqo-auth {CREATE_NONCE} --replace");
        assert_blameless(&run.err, &[why, &next]);
    }
    // As a Secret, it is what is stored.
    assert_eq!(folder.run(&format!("{GET_NONCE} -o yaml")).err, "");
}

#[test]
fn a_deleted_signed_nonce_is_signed_again() {
    let folder = with_tenant();
    folder.ok(APPLY);
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    let secret = "private/liqo-tenant-cl-provider/secret.liqo-signed-nonce.yaml";
    fs::remove_file(folder.path(&format!("cl-consumer/{secret}"))).unwrap();
    let apply = "apply --home cl-consumer -f -";
    let error = folder.refused(apply, &identity, 4);
    let sign = SIGN.strip_suffix('-').unwrap();
    assert_blameless(&error, &["no signed nonce of cl-provider", sign]);
    folder.ok_with(SIGN, &folder.ok(GET_NONCE));
    folder.ok_with(apply, &identity);
}

#[test]
fn a_deleted_kubeconfig_is_made_again() {
    let folder = with_tenant();
    folder.ok(APPLY);
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    folder.ok_with("apply --home cl-consumer -f -", &identity);
    let secret = "private/liqo-tenant-cl-provider/secret.kubeconfig-controlplane-cl-provider.yaml";
    fs::remove_file(folder.path(&format!("cl-consumer/{secret}"))).unwrap();
    let get = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider";
    let error = folder.refused(get, "", 4);
    assert_blameless(
        &error,
        &["its Secret is not there", "renew --home cl-consumer"],
    );
    folder.ok("renew --home cl-consumer");
    assert!(folder.ok(get).contains("client-key-data"));
}

/// A text loses its end where a person copies it. The consumer prints it again, as printed.
#[test]
fn a_tenant_that_was_damaged_on_its_way_is_told_so() {
    let folder = with_tenant();
    let whole = folder.read("tenant.yaml");
    let (before, after) = whole.split_once("  signature: ").unwrap();
    let (signature, rest) = after.split_once('\n').unwrap();
    let apply = |signature: &str| {
        folder.write(
            "tenant.yaml",
            &format!("{before}  signature: {signature}\n{rest}"),
        );
        folder.refused(APPLY, "", 3)
    };
    let error = apply(&signature[..40]);
    assert_blameless(&error, &["damaged: ", "has 30 bytes, not 64", "on its way"]);
    let (_, again) = error.split_once("by `liqo-auth ").unwrap();
    let (again, _) = again.split_once('`').unwrap();
    let tenant = folder.ok(&format!("{again} --home cl-consumer"));
    assert_eq!(tenant, whole);

    let error = apply(&format!("{}==", &signature[..40]));
    assert_blameless(&error, &["pass it on unchanged. The command is "]);
    let (_, again) = error.split_once("The command is liqo-auth ").unwrap();
    let (again, _) = again.split_once(", with").unwrap();
    let again = again.replace("ID", "cl-provider");
    assert_eq!(folder.ok(&format!("{again} --home cl-consumer")), whole);
    folder.write("tenant.yaml", &whole);
    folder.ok(APPLY);
}

/// An ECDSA signature has no fixed length.
#[test]
fn an_ecdsa_signature_that_was_damaged_is_told_so() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --key-algorithm ecdsa-p256");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    let tenant = folder.tenant();
    let (before, after) = tenant.split_once("  signature: ").unwrap();
    let (signature, rest) = after.split_once('\n').unwrap();
    let short = &signature[..40];
    folder.write(
        "tenant.yaml",
        &format!("{before}  signature: {short}\n{rest}"),
    );
    let error = folder.refused(APPLY, "", 3);
    assert_blameless(&error, &["damaged: ", "not a DER sequence", "on its way"]);
}

/// What each kind of object is printed by.
#[test]
fn a_damaged_file_names_the_command_of_its_kind() {
    let folder = Folder::with_homes();
    for (kind, name, command) in [
        ("Identity", "controlplane-cl-provider", "generate identity"),
        ("ResourceSlice", "mypool", "generate resourceslice mypool"),
        ("Renew", "one", "generate renew one"),
    ] {
        let text = format!(
            "apiVersion: authentication.liqo.io/v1beta1\nkind: {kind}\nmetadata:\n  name: {name}\nspec: 5\n"
        );
        let error = folder.refused("apply --home cl-provider -f -", &text, 3);
        let says = format!("The command is liqo-auth {command} --remote-cluster-id ID, ");
        assert!(error.contains(&says), "{error}");
    }
    let error = folder.refused(
        "apply --home cl-provider -f -",
        "kind: Secret\napiVersion: v1\ndata: 5\n",
        3,
    );
    assert!(!error.contains("The command is"), "{error}");
}

/// `apply` names the command that the doctor names.
#[test]
fn a_tenant_whose_nonce_this_side_has_lost_is_taken_after_the_printed_command() {
    let folder = with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    let nonce = "cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml";
    fs::remove_file(folder.path(nonce)).unwrap();
    let (_, remedy) = finding(&folder, DOCTOR);
    let error = folder.refused(APPLY, "", 3);
    let lost = format!(
        "Error: tenant.yaml is refused, and nothing was changed: missing: there is no nonce for this peer. cl-provider has invited cl-consumer, and the nonce of the invitation is lost. The command that brings it back is {remedy}. Then apply the Tenant again.\n"
    );
    assert_eq!(error, lost);
    folder.ok(&command_in(&error));
    folder.ok(APPLY);
    is_well(&folder, "cl-provider");

    // Nobody is invited any more.
    let folder = with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    folder.ok(&format!("delete nonce {OF_CONSUMER}"));
    let error = folder.refused(APPLY, "", 3);
    assert!(error.contains("cl-provider has not invited"), "{error}");
}
