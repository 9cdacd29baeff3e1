//! What is bad changes nothing, and the message says why.

use crate::tool::Folder;

const APPLY: &str = "apply --home cl-provider -f -";

#[test]
fn a_tenant_of_another_subject() {
    let folder = Folder::with_homes();
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
    folder.ok("init --home cl-evil");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-evil");
    let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-evil");
    let tenant = folder.ok_with(
        "generate tenant --home cl-evil --remote-cluster-id cl-provider --nonce -",
        &nonce,
    );
    let stolen = tenant.replace("cl-evil", "cl-consumer");
    let error = folder.refused(APPLY, &stolen, 3);
    for part in [
        "nothing was changed",
        "Tenant liqo-tenant-cl-consumer/cl-consumer, spec.csr",
        "CN=cl-evil",
        ", rule 1)",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(error.lines().count(), 1, "one paragraph: {error}");
}

#[test]
fn a_tenant_over_another_nonce() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer --replace");
    let error = folder.refused(APPLY, &tenant, 3);
    assert!(
        error.contains("spec.signature") && error.contains(", rule 4)"),
        "{error}"
    );
}

#[test]
fn a_tenant_without_a_nonce_or_after_its_end() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    let error = folder.refused(
        &format!("{APPLY} --now 2099-01-01T00:00:00Z --write-at-this-time"),
        &tenant,
        3,
    );
    assert!(error.contains("the nonce expired at"), "{error}");
    std::fs::remove_file(
        folder.path("cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml"),
    )
    .unwrap();
    let error = folder.refused(APPLY, &tenant, 3);
    assert!(error.contains("there is no nonce for this peer"), "{error}");
}

#[test]
fn files_that_are_no_manifest_of_a_peer() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    let twice = format!("{tenant}kind: Tenant\n");
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n";
    for (text, reason) in [
        ("", "there is no object in it"),
        ("{", "not a manifest"),
        (
            config_map,
            "a peer sends only a Tenant, an Identity, a ResourceSlice or a Renew",
        ),
        (twice.as_str(), "kind"),
        (
            "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n  name: ../x\n",
            "metadata.name",
        ),
        (
            "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n  name: x\nspec:\n  csr: 5\n",
            "spec.csr",
        ),
    ] {
        let error = folder.refused(APPLY, text, 3);
        assert!(
            error.contains("nothing was changed") && error.contains(reason),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn one_bad_object_spoils_the_whole_call() {
    let folder = Folder::with_homes();
    folder.write("good.yaml", &folder.tenant());
    folder.write(
        "bad.yaml",
        "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n  name: cl-other\n",
    );
    let error = folder.refused("apply --home cl-provider -f good.yaml -f bad.yaml", "", 3);
    assert!(error.contains("bad.yaml"), "{error}");
    folder.ok("apply --home cl-provider -f good.yaml");
}

#[test]
fn an_identity_with_another_api_server() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    folder.ok_with(APPLY, &tenant);
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    let redirected = identity.replace("172.19.0.3", "172.19.0.4");
    let apply = "apply --home cl-consumer -f -";
    let error = folder.refused(apply, &redirected, 3);
    assert!(error.contains("liqo-auth/commitment"), "{error}");
    folder.ok_with(apply, &identity);
    let error = folder.refused(apply, &redirected, 3);
    assert!(
        error.contains("spec.authParams.apiServer") && error.contains(", rule 9)"),
        "{error}"
    );
}

#[test]
fn an_identity_of_a_provider_with_another_key_than_the_one_named() {
    let folder = Folder::with_homes();
    folder.ok_with(APPLY, &folder.tenant());
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    let fingerprint = format!("SHA256:{}", "0".repeat(64));
    let error = folder.refused(
        &format!("apply --home cl-consumer --provider-key {fingerprint} -f -"),
        &identity,
        3,
    );
    assert!(error.contains("the provider's commitment"), "{error}");
}

#[test]
fn what_is_no_nonce_is_not_signed() {
    let folder = Folder::with_homes();
    let sign = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    for text in ["", "AAAA", "transfer all to mallory", "not base64!"] {
        let error = folder.refused(sign, text, 3);
        assert!(error.contains("(rule 8)"), "{text:?}: {error}");
    }
    // Nor one that is meant for another consumer.
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-other");
    let error = folder.refused(sign, &nonce, 3);
    assert!(
        error.contains("names another provider or another consumer"),
        "{error}"
    );
}

#[test]
fn an_unreadable_object_is_not_taken_for_absent() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let record = "cl-provider/records/secret.liqo-auth-provider-cl-consumer.yaml";
    let text = folder.read(record);
    folder.write(record, "kind: [");
    let error = folder.refused(
        "generate identity --home cl-provider --remote-cluster-id cl-consumer",
        "",
        5,
    );
    assert!(error.contains("cannot be read"), "{error}");
    // Nor is a record that somebody edited.
    folder.write(record, &text.replace("seal: ", "seal: AAAA"));
    let error = folder.refused(
        "generate identity --home cl-provider --remote-cluster-id cl-consumer",
        "",
        5,
    );
    assert!(error.contains("seal"), "{error}");
}

#[test]
fn only_a_consumer_replicates() {
    let folder = Folder::with_homes();
    let error = folder.refused("run --in-cluster --provider --replicate", "", 2);
    assert!(error.contains("add --consumer"), "{error}");
}

#[test]
fn the_compatible_policy_takes_harmless_forms_only() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    let strange = tenant.replace(
        "authentication.liqo.io/v1beta1",
        "authentication.liqo.io/v2",
    );
    folder.refused(&format!("{APPLY} --policy compatible"), &strange, 3);
    folder.ok_with(&format!("{APPLY} --policy compatible"), &tenant);
}
