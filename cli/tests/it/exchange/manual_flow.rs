//! The exchange by hand: each step on one home only.

use crate::tool::Folder;

#[test]
fn by_files() {
    let folder = Folder::with_homes();
    let printed = folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
    let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-consumer");
    assert_eq!(nonce.len(), 88, "nothing after the nonce");
    assert_eq!(
        printed,
        format!(
            " INFO  Nonce created\n INFO  Nonce generated successfully\n INFO  Nonce retrieved: {nonce}\n"
        )
    );
    let generate = format!(
        "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce {nonce}"
    );
    let tenant = folder.ok(&generate);
    assert!(
        tenant.starts_with("apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n"),
        "{tenant}"
    );
    folder.write("tenant.yaml", &tenant);
    let applied = folder.run("apply --home cl-provider -f tenant.yaml");
    assert_eq!(
        applied.out,
        "tenant.authentication.liqo.io/cl-consumer created\n"
    );
    assert!(applied.err.contains("generate identity"), "{}", applied.err);
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    folder.write("identity.yaml", &identity);
    let applied = folder.run("apply --home cl-consumer -f identity.yaml");
    assert_eq!(
        applied.out,
        "identity.authentication.liqo.io/controlplane-cl-provider created\n"
    );
    assert!(
        applied.err.contains("The kubeconfig is in Secret"),
        "{}",
        applied.err
    );

    let before = folder.snapshot();
    assert_eq!(
        folder.ok("apply --home cl-provider -f tenant.yaml"),
        "tenant.authentication.liqo.io/cl-consumer unchanged\n"
    );
    assert_eq!(
        folder.ok("apply --home cl-consumer -f identity.yaml"),
        "identity.authentication.liqo.io/controlplane-cl-provider unchanged\n"
    );
    assert_eq!(
        folder.ok("generate tenant --home cl-consumer --remote-cluster-id cl-provider"),
        tenant
    );
    assert!(before == folder.snapshot());
}

#[test]
fn by_pipes_in_json() {
    let folder = Folder::with_homes();
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
    let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-consumer");
    let tenant = folder.ok_with(
        "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce - -o json",
        &format!("{nonce}\r\n"),
    );
    let value: serde_json::Value = serde_json::from_str(&tenant).unwrap();
    assert_eq!(value["kind"], "Tenant");
    assert_eq!(value["metadata"]["name"], "cl-consumer");
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer -o json");
    folder.ok_with("apply --home cl-consumer -f -", &identity);
    folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
}

#[test]
fn the_remote_tenant_namespace_is_written_when_it_is_given() {
    let folder = Folder::with_homes();
    let plain = folder.tenant();
    assert!(
        plain.contains("  namespace: liqo-tenant-cl-consumer\n"),
        "{plain}"
    );
    let named = folder.ok(
        "generate tenant --home cl-consumer --remote-cluster-id cl-provider --remote-tenant-namespace other",
    );
    assert!(named.contains("  namespace: other\n"), "{named}");
    folder.refused("apply --home cl-provider -f -", &named, 3);
    let named = folder.ok(
        "generate tenant --home cl-consumer --remote-cluster-id cl-provider --remote-tenant-namespace liqo-tenant-cl-consumer",
    );
    assert_eq!(named, plain);
    folder.ok_with("apply --home cl-provider -f -", &named);
    let identity = folder.ok(
        "generate identity --home cl-provider --remote-cluster-id cl-consumer --remote-tenant-namespace liqo-tenant-cl-provider",
    );
    assert!(
        identity.contains("  namespace: liqo-tenant-cl-provider\n"),
        "{identity}"
    );
    folder.ok_with("apply --home cl-consumer -f -", &identity);
}

#[test]
fn what_has_to_come_first_is_said() {
    let folder = Folder::with_homes();
    for (arguments, reason) in [
        (
            "get nonce --home cl-provider --remote-cluster-id cl-consumer",
            "there is no nonce for cl-consumer",
        ),
        (
            "generate tenant --home cl-consumer --remote-cluster-id cl-provider",
            "no nonce of cl-provider was signed",
        ),
        (
            "generate identity --home cl-provider --remote-cluster-id cl-consumer",
            "there is no Tenant of cl-consumer",
        ),
        (
            "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider",
            "there is no kubeconfig",
        ),
    ] {
        let error = folder.refused(arguments, "", 4);
        assert!(error.contains(reason), "{arguments}: {error}");
    }
}

#[test]
fn the_nonce_stays_until_it_is_replaced() {
    let folder = Folder::with_homes();
    let create = "create nonce --home cl-provider --remote-cluster-id cl-consumer";
    let first = folder.ok(create);
    assert_eq!(folder.ok(create), first);
    let replaced = folder.run(&format!("{create} --replace"));
    assert_ne!(replaced.out, first);
    assert!(
        replaced.err.contains("liqo-signed-nonce"),
        "{}",
        replaced.err
    );
    // A day later it has expired.
    let later = folder.ok(&format!(
        "{create} --now 2099-01-01T00:00:00Z --write-at-this-time"
    ));
    assert_ne!(later, replaced.out);
}

#[test]
fn the_nonce_comes_as_manifests() {
    let folder = Folder::with_homes();
    let text = folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer -o json");
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    let kinds: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["kind"].clone())
        .collect();
    assert_eq!(kinds, ["Namespace", "Secret"]);
}
