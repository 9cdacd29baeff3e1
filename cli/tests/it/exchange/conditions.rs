//! Cordoned, drained, let in again, and the end.

use std::fs;

use crate::tool::Folder;

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const CREATE: &str = "create rs mypool --home cl-consumer --remote-home cl-provider --cpu 2";
const REPLICATE: &str = "replicate --home cl-consumer --remote-home cl-provider";
const CORDON: &str = "cordon tenant cl-consumer --home cl-provider";
const UNCORDON: &str = "uncordon tenant cl-consumer --home cl-provider";
const DRAIN: &str = "drain tenant cl-consumer --home cl-provider";
const MAP: &str = "cl-provider/manifests/liqo-tenant-cl-consumer/namespacemap.cl-provider.yaml";
const OFFLOADED: &str = "cl-provider/manifests/shop-rome/rolebinding.liqo-tenant-cl-consumer.yaml";
const UNAUTHENTICATE: &str = "unauthenticate --yes --home cl-consumer --remote-home cl-provider";

#[test]
fn a_cordoned_tenant_keeps_what_it_has_and_gets_nothing_new() {
    let folder = with_slice();
    assert_eq!(
        folder.ok(CORDON),
        " INFO  Tenant \"cl-consumer\" cordoned\n"
    );
    let slice = folder.ok("get rs mypool --home cl-provider -o yaml");
    assert!(slice.contains("liqo.io/cordon-tenant: \"true\""), "{slice}");
    let tenants = folder.ok("get tenants --home cl-provider");
    assert!(tenants.contains("Cordoned"), "{tenants}");
    let run = folder.run("create rs other --home cl-consumer --remote-home cl-provider");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out.contains("ResourceSlice authentication: Accepted")
            && run.err.contains("ResourceSlice resources not accepted"),
        "{run:?}"
    );
    let again = folder.run(CORDON);
    assert_eq!(
        (again.code, again.err.as_str()),
        (
            0,
            "Warning: Tenant \"cl-consumer\" is not active. Activate the tenant to cordon it.\n"
        )
    );
    assert_eq!(
        folder.ok(UNCORDON),
        " INFO  Tenant \"cl-consumer\" uncordoned\n"
    );
    folder.ok(REPLICATE);
    let table = folder.ok("get rs other --home cl-consumer");
    assert!(table.contains("Accepted         Accepted"), "{table}");
    let again = folder.run(UNCORDON);
    assert_eq!(
        (again.code, again.err.as_str()),
        (0, "Warning: Tenant \"cl-consumer\" is not cordoned\n")
    );
}

/// liqoctl lifts a drain by `activate tenant`.
#[test]
fn a_tenant_is_activated_after_a_cordon_and_after_a_drain() {
    let folder = with_slice();
    let activate = "activate tenant cl-consumer --home cl-provider";
    for (condition, shown) in [(CORDON, "Cordoned"), (DRAIN, "Drained")] {
        folder.ok(condition);
        let tenants = folder.ok("get tenants --home cl-provider");
        assert!(tenants.contains(shown), "{tenants}");
        assert_eq!(
            folder.ok(activate),
            " INFO  Tenant \"cl-consumer\" activated\n"
        );
        let tenants = folder.ok("get tenants --home cl-provider");
        assert!(tenants.contains("Active"), "{tenants}");
        folder.ok(REPLICATE);
        let slices = folder.ok("get rs mypool --home cl-consumer");
        assert!(slices.contains("Accepted         Accepted"), "{slices}");
    }
    let before = folder.snapshot();
    let again = folder.run(activate);
    assert_eq!(
        (again.code, again.err.as_str()),
        (0, "Warning: Tenant \"cl-consumer\" is active already\n")
    );
    assert!(before == folder.snapshot());
    let unknown = "activate tenant cl-other --home cl-provider";
    let error = folder.refused(unknown, "", 4);
    assert!(error.contains("no Tenant of cl-other"), "{error}");
}

/// A peering user may write a Tenant of any name in its own namespace.
#[test]
fn a_tenant_that_another_peer_planted_has_no_condition() {
    let folder = with_slice();
    let path =
        |namespace: &str| format!("cl-provider/manifests/{namespace}/tenant.cl-consumer.yaml");
    let planted = folder
        .read(&path("liqo-tenant-cl-consumer"))
        .replace(
            "namespace: liqo-tenant-cl-consumer",
            "namespace: liqo-tenant-a",
        )
        .replacen("spec:", "spec:\n  tenantCondition: Cordoned", 1);
    fs::create_dir_all(folder.path("cl-provider/manifests/liqo-tenant-a")).unwrap();
    folder.write(&path("liqo-tenant-a"), &planted);
    assert_eq!(
        folder.ok(CORDON),
        " INFO  Tenant \"cl-consumer\" cordoned\n"
    );
    assert_eq!(
        folder.ok(UNCORDON),
        " INFO  Tenant \"cl-consumer\" uncordoned\n"
    );
}

#[test]
fn a_drained_tenant_loses_rights_and_slices_until_it_is_let_in_again() {
    let folder = with_slice();
    let kubeconfig = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider";
    let before = folder.ok(kubeconfig);
    assert_eq!(folder.ok(DRAIN), " INFO  Tenant \"cl-consumer\" drained\n");
    assert_eq!(folder.run("get rs --home cl-provider").out, "");
    assert!(bindings(&folder).is_empty());
    let run = folder.run(REPLICATE);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("grants cl-consumer no rights"), "{run:?}");
    let status = folder.ok("status --home cl-provider");
    assert!(status.contains("Drained"), "{status}");
    let generate = "generate identity --home cl-provider --remote-cluster-id cl-consumer";
    let error = folder.refused(generate, "", 4);
    assert!(
        error.contains("is drained") && error.contains("liqo-auth uncordon tenant cl-consumer"),
        "{error}"
    );
    folder.ok(UNCORDON);
    assert_eq!(bindings(&folder).len(), 2);
    folder.ok(REPLICATE);
    let table = folder.ok("get rs mypool --home cl-consumer");
    assert!(table.contains("Accepted         Accepted"), "{table}");
    assert_eq!(folder.ok(kubeconfig), before);
}

#[test]
fn a_slice_that_cannot_be_read_stops_no_drain() {
    let folder = with_slice();
    let file = "cl-provider/manifests/liqo-tenant-cl-consumer/resourceslice.mypool.yaml";
    let text = folder.read(file);
    assert!(text.contains("class: default"), "{text}");
    folder.write(file, &text.replace("class: default", "class: [1, 2]"));
    assert_eq!(folder.ok(DRAIN), " INFO  Tenant \"cl-consumer\" drained\n");
    assert!(bindings(&folder).is_empty());
    assert!(!folder.path(file).exists());
}

#[test]
fn a_tenant_that_cannot_be_read_is_drained() {
    let folder = with_slice();
    let file = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let text = folder.read(file);
    folder.write(file, &text.replace("  csr: ", "  csr: 5\n  was: "));
    assert_eq!(folder.ok(DRAIN), " INFO  Tenant \"cl-consumer\" drained\n");
    assert!(bindings(&folder).is_empty());
}

/// Only this side's administrator could have changed these. A drain needs none of them.
#[test]
fn what_cannot_be_read_at_the_provider_stops_no_drain() {
    let role = "clusterrole.liqo-virtual-kubelet-remote-clusterwide";
    let binding = "rolebinding.liqo-binding-liqo-remote-controlplane";
    for (file, from, to) in [
        (
            "records/secret.liqo-auth-provider-cl-consumer.yaml".to_owned(),
            "seal: ",
            "seal: A",
        ),
        (
            format!("manifests/_cluster/{role}.yaml"),
            "rules:",
            "rules: 5\nwas:",
        ),
        (
            format!("manifests/liqo-tenant-cl-consumer/{binding}.yaml"),
            "subjects:",
            "subjects: 5\nwas:",
        ),
        (
            "manifests/_cluster/namespace.liqo-tenant-cl-consumer.yaml".to_owned(),
            "  labels:",
            "  labels: 5\n  was:",
        ),
    ] {
        let folder = with_slice();
        let file = format!("cl-provider/{file}");
        let text = folder.read(&file);
        assert!(text.contains(from), "{file}: {text}");
        folder.write(&file, &text.replace(from, to));
        let run = folder.run(DRAIN);
        assert!(
            run.out.ends_with(" INFO  Tenant \"cl-consumer\" drained\n"),
            "{file}: {run:?}"
        );
        assert!(bindings(&folder).is_empty(), "{file}: {run:?}");
    }
}

#[test]
fn a_tenant_namespace_that_cannot_be_read_stops_no_end() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let file = "cl-provider/manifests/_cluster/namespace.liqo-tenant-cl-consumer.yaml";
    let text = folder.read(file);
    folder.write(file, &text.replace("  labels:", "  labels: 5\n  was:"));
    let run = folder.run("unauthenticate --yes --home cl-provider --remote-cluster-id cl-consumer");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(bindings(&folder).is_empty(), "{run:?}");
    let tenant = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    assert!(!folder.path(tenant).exists(), "{run:?}");
}

#[test]
fn the_consumers_file_lifts_no_condition() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    folder.ok(DRAIN);
    let run = folder.run_with("apply --home cl-provider -f -", &tenant);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("drained"), "{run:?}");
    assert!(folder.ok("status --home cl-provider").contains("Drained"));
    let error = folder.refused(
        "generate identity --home cl-provider --remote-cluster-id cl-consumer",
        "",
        4,
    );
    assert!(error.contains("cl-consumer"), "{error}");
}

/// As `liqoctl cordon` and `liqoctl uncordon` do, which know no record.
#[test]
fn a_condition_that_only_the_tenant_lifts_is_said_until_it_is_lifted() {
    let folder = with_slice();
    let path = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let tenant = folder.read(path);
    let cordoned = tenant.replace("tenantCondition: Active", "tenantCondition: Cordoned");
    assert_ne!(cordoned, tenant);
    for text in [&cordoned, &tenant] {
        folder.write(path, text);
        folder.ok("renew --home cl-provider");
    }
    let status = folder.ok("status --home cl-provider");
    assert!(
        status.contains("Cordoned (held)")
            && status.contains("`uncordon tenant cl-consumer` lifts Cordoned"),
        "{status}"
    );
    let json = folder.ok("status --home cl-provider -o json");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let peering = &value["peerings"][0];
    assert_eq!(peering["condition"], "Cordoned");
    assert_eq!(peering["conditionHeld"], true);
    let waits = &peering["waitsFor"][0];
    assert_eq!(waits["from"], "administrator");
    assert_eq!(
        waits["remedy"],
        serde_json::json!({ "code": "liftCondition", "condition": "Cordoned" })
    );

    assert_eq!(
        folder.ok(UNCORDON),
        " INFO  Tenant \"cl-consumer\" uncordoned\n"
    );
    let status = folder.ok("status --home cl-provider");
    assert!(
        status.contains("Active") && !status.contains("held"),
        "{status}"
    );
}

#[test]
fn nobody_elses_tenant_is_changed() {
    let folder = with_slice();
    for command in ["cordon", "uncordon", "drain"] {
        let error = folder.refused(
            &format!("{command} tenant cl-other --home cl-provider"),
            "",
            4,
        );
        assert!(error.contains("unable to get tenant"), "{error}");
    }
}

#[test]
fn the_end_waits_for_the_slices_and_names_the_command_that_deletes_them() {
    let folder = with_slice();
    let error = folder.refused(UNAUTHENTICATE, "", 4);
    assert!(
        error.starts_with(
            "Error: the Identity is not deleted: ResourceSlice liqo-tenant-cl-provider/mypool: "
        ),
        "{error}"
    );
    let (_, command) = error.split_once("The command is liqo-auth ").unwrap();
    folder.ok(command.trim_end().trim_end_matches('.'));
    assert_eq!(folder.ok(UNAUTHENTICATE), ENDED);
    assert_eq!(folder.run("get identities --home cl-consumer").out, "");
    assert_eq!(folder.run("get tenants --home cl-provider").out, "");
    assert_eq!(folder.run("get rs --home cl-provider").out, "");
    assert!(bindings(&folder).is_empty());
    assert_eq!(folder.ok(UNAUTHENTICATE), ENDED_ALREADY);
    // Who comes back with the same key is let in.
    folder.ok(AUTHENTICATE);
    folder.ok(CREATE);
}

/// A cluster's Liqo binds the consumer's group in each namespace that it offloads.
#[test]
fn a_drain_and_an_end_leave_no_rights_in_offloaded_namespaces() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    offload(&folder);
    let trial = folder.ok(&format!("{DRAIN} --dry-run"));
    for kind in ["NamespaceMap", "RoleBinding"] {
        assert!(trial.contains(kind), "{trial}");
    }
    folder.ok(DRAIN);
    assert!(!folder.path(MAP).exists());
    assert!(!folder.path(OFFLOADED).exists());
    folder.ok(UNCORDON);

    offload(&folder);
    let provider = "unauth --yes --home cl-provider --remote-cluster-id cl-consumer";
    folder.ok(provider);
    assert!(folder.read(MAP).contains("shop: shop-rome"));
    assert!(!folder.path(OFFLOADED).exists());
    let deletes = folder.ok(&format!("{provider} --delete-offloaded"));
    assert_eq!(
        deletes,
        " INFO  Tenant already deleted\n INFO  NamespaceMaps correctly deleted\n"
    );
    assert!(!folder.path(MAP).exists());
}

#[test]
fn offloaded_namespaces_are_deleted_with_the_end_if_that_is_wanted() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    offload(&folder);
    let consumer =
        "unauth --yes --home cl-consumer --remote-cluster-id cl-provider --delete-offloaded";
    let error = folder.refused(consumer, "", 2);
    assert!(error.contains("is a consumer of cl-provider"), "{error}");
    let ended = folder.ok(&format!("{UNAUTHENTICATE} --delete-offloaded"));
    let deleted = " INFO   (remote) NamespaceMaps correctly deleted\n";
    assert_eq!(ended, format!("{ENDED}{deleted}"));
    assert!(!folder.path(MAP).exists());
    assert!(!folder.path(OFFLOADED).exists());
}

/// Writes what a consumer that offloads has at its provider.
fn offload(folder: &Folder) {
    folder.write(
        MAP,
        "apiVersion: offloading.liqo.io/v1beta1
kind: NamespaceMap
metadata:
  name: cl-provider
  namespace: liqo-tenant-cl-consumer
  labels: {liqo.io/replicated: \"true\", liqo.io/originID: cl-consumer}
spec:
  desiredMapping:
    shop: shop-rome
",
    );
    fs::create_dir_all(folder.path("cl-provider/manifests/shop-rome")).unwrap();
    folder.write(
        OFFLOADED,
        "apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: liqo-tenant-cl-consumer, namespace: shop-rome}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: cl-consumer}
",
    );
}

#[test]
fn each_side_ends_by_itself() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let consumer = "unauthenticate --yes --home cl-consumer --remote-cluster-id cl-provider";
    assert_eq!(
        folder.ok(consumer),
        " INFO  No leftover resourceslices on consumer cluster\n \
         INFO  Identity control plane correctly deleted\n"
    );
    let provider = "unauth --yes --home cl-provider --remote-cluster-id cl-consumer";
    assert_eq!(folder.ok(provider), " INFO  Tenant correctly deleted\n");
    folder.refused(
        "unauth --yes --home cl-provider --remote-cluster-id cl-other",
        "",
        4,
    );
}

#[test]
fn a_provider_that_ends_it_first_waits_for_the_slices() {
    let folder = with_slice();
    let provider = "unauth --yes --home cl-provider --remote-cluster-id cl-consumer";
    let error = folder.refused(provider, "", 4);
    assert!(error.contains("slices"), "{error}");
}

#[test]
fn another_key_is_refused_until_the_first_is_released() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder.ok("init --home other --cluster-id cl-consumer");
    let run = folder.run("authenticate --home other --remote-home cl-provider");
    assert_eq!(run.code, 3, "{run:?}");
    let released = folder.ok("release --yes --home cl-provider --remote-cluster-id cl-consumer");
    assert!(
        released.starts_with("The key SHA256:")
            && released.contains("for the consumer cl-consumer"),
        "{released}"
    );
    folder.refused(
        "release --yes --home cl-provider --remote-cluster-id cl-nobody",
        "",
        4,
    );
    folder.ok("create nonce --replace --home cl-provider --remote-cluster-id cl-consumer");
    folder.ok("authenticate --home other --remote-home cl-provider");
}

#[test]
fn another_endpoint_is_refused_until_the_first_is_released() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let released = folder.ok("release --yes --home cl-consumer --remote-cluster-id cl-provider");
    assert!(
        released.contains("of the provider cl-provider"),
        "{released}"
    );
    // Its administrator moved the API server.
    let settings = folder.read("cl-provider/home.yaml");
    folder.write(
        "cl-provider/home.yaml",
        &settings.replace("172.19.0.3", "172.19.0.4"),
    );
    folder.ok(AUTHENTICATE);
}

const ENDED: &str = " INFO   (local) No leftover resourceslices on consumer cluster
 INFO   (local) Identity control plane correctly deleted
 INFO   (remote) Tenant correctly deleted
";
const ENDED_ALREADY: &str = " INFO   (local) No leftover resourceslices on consumer cluster
 INFO   (local) Identity control plane already deleted
 INFO   (remote) Tenant already deleted
";

fn with_slice() -> Folder {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder.ok(CREATE);
    folder
}

fn bindings(folder: &Folder) -> Vec<String> {
    let mut names = Vec::new();
    for area in ["_cluster", "liqo-tenant-cl-consumer"] {
        let path = folder.path(&format!("cl-provider/manifests/{area}"));
        let Ok(entries) = fs::read_dir(path) else {
            continue;
        };
        names.extend(
            entries
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .filter(|name| name.contains("rolebinding.")),
        );
    }
    names
}
