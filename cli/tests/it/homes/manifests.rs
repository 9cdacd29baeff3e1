//! What a person carries from homes to real clusters by kubectl.

use crate::tool::Folder;
use serde_json::{Value, json};

const EXPORT: &str = "export --home cl-provider --remote-cluster-id cl-consumer -o json";

/// With homes that stand for clusters.
fn homes() -> Folder {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --for-cluster");
    folder.ok("init --home cl-provider --for-cluster");
    folder
}

#[test]
fn the_rights_for_offloading_are_printed_on_request() {
    let folder = Folder::new();
    for (arguments, nodes, quotas) in [
        ("rbac", false, false),
        ("rbac --offloading", true, true),
        ("rbac --consumer --offloading", true, false),
        ("rbac --provider --offloading", false, true),
    ] {
        let printed = folder.ok(arguments);
        let has = |resource: &str| printed.contains(&format!("resources: [{resource}]\n"));
        assert_eq!(
            (has("virtualnodes"), has("quotas")),
            (nodes, quotas),
            "{arguments}"
        );
        // Each document is one object.
        let roles = printed.matches("\nkind: ClusterRole\n").count();
        let bindings = printed.matches("\nkind: ClusterRoleBinding\n").count();
        // The controllers bind one role by themselves, in tenant namespaces.
        assert_eq!(roles, bindings + 1, "{arguments}");
        let kinds = printed.matches("\nkind: ").count();
        assert_eq!(printed.split("---\n").count(), kinds, "{arguments}");
    }
    let error = folder.refused("run --default-limits-enforcement Hard", "", 2);
    assert!(error.contains("--offloading"), "{error}");
}

#[test]
fn a_guard_gets_the_rights_of_its_sides_and_none_of_the_controllers() {
    let folder = Folder::new();
    for (arguments, at_provider, at_consumer) in [
        ("rbac --guard", true, true),
        ("rbac --guard --provider", true, false),
        ("rbac --guard --consumer", false, true),
    ] {
        let printed = folder.ok(arguments);
        let has = |name: &str| printed.contains(&format!("\n  name: {name}\n"));
        assert!(
            has("liqo-auth-guard") && has("liqo-auth-events"),
            "{arguments}"
        );
        assert_eq!(
            (
                has("liqo-auth-guard-provider"),
                has("liqo-auth-guard-consumer")
            ),
            (at_provider, at_consumer),
            "{arguments}"
        );
        assert!(!has("liqo-auth-provider") && !has("liqo-auth-consumer"));
        let tenants = printed.split("---\n");
        let tenants = tenants.filter(|object| {
            object.contains("kind: ClusterRole\n") && object.contains("name: liqo-auth-tenant\n")
        });
        let tenants: Vec<&str> = tenants.collect();
        assert_eq!(tenants.len(), 1);
        assert!(
            tenants[0].ends_with("verbs: [list, watch]\n"),
            "{arguments}"
        );
        let kinds = printed.matches("\nkind: ").count();
        assert_eq!(printed.split("---\n").count(), kinds, "{arguments}");
    }
    let all = folder.ok("rbac --guard --watch-all-secrets");
    assert!(all.contains("name: liqo-auth-all-secrets\n"));
    assert!(!folder.ok("rbac").contains("guard"));
    for refused in ["rbac --guard --offloading", "rbac --guard --replicate"] {
        let error = folder.refused(refused, "", 2);
        assert!(error.contains("--guard"), "{error}");
    }
}

#[test]
fn no_manifest_has_anything_of_its_home() {
    let folder = homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs pool --home cl-consumer --remote-home cl-provider --cpu 2");
    for arguments in [
        EXPORT,
        "export --home cl-consumer -o json",
        "export --home cl-consumer --secrets -o json",
        "get tenants -o json --home cl-provider",
        "get identities -o json --home cl-consumer",
        "get resourceslices -o json --home cl-consumer",
        "get resourceslices -o json --home cl-provider",
        "get renews -o json --home cl-consumer",
        "generate tenant --home cl-consumer --remote-cluster-id cl-provider -o json",
        "generate identity --home cl-provider --remote-cluster-id cl-consumer -o json",
        "generate resourceslice pool --home cl-consumer --remote-cluster-id cl-provider -o json",
        "generate resourceslice pool --home cl-provider --remote-cluster-id cl-consumer -o json",
        "create nonce --home cl-provider --remote-cluster-id cl-other -o json",
        "create rs other --home cl-consumer --remote-cluster-id cl-provider -o json",
    ] {
        let printed: Value = serde_json::from_str(&folder.ok(arguments)).unwrap();
        for object in items(&printed) {
            let metadata = object["metadata"].as_object().unwrap();
            for field in metadata.keys() {
                let known = ["annotations", "labels", "name", "namespace"];
                assert!(known.contains(&field.as_str()), "{arguments}: {object:#}");
            }
            if arguments.starts_with("export") {
                assert_eq!(object.get("status"), None, "{arguments}: {object:#}");
            }
        }
    }
}

#[test]
fn a_cluster_gets_what_it_needs_and_no_key() {
    let folder = homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs pool --home cl-consumer --remote-home cl-provider --cpu 2");
    assert_eq!(
        names(&folder.ok(EXPORT)),
        [
            "Namespace liqo-tenant-cl-consumer",
            "Tenant cl-consumer",
            "RoleBinding liqo-binding-liqo-remote-controlplane",
            "ClusterRoleBinding liqo-binding-liqo-virtual-kubelet-remote-clusterwide-cl-consumer",
        ]
    );
    let own = "export --home cl-consumer -o json";
    assert_eq!(
        names(&folder.ok(own)),
        [
            "Namespace liqo-tenant-cl-provider",
            "Identity controlplane-cl-provider",
            "Identity resourceslice-pool",
            "ResourceSlice pool",
            "Renew controlplane-cl-provider",
        ]
    );
    let keys = names(&folder.ok(&format!("{own} --secrets")));
    let kubeconfigs: Vec<_> = keys
        .iter()
        .filter(|name| name.starts_with("Secret"))
        .collect();
    assert_eq!(
        kubeconfigs,
        [
            "Secret kubeconfig-controlplane-cl-provider",
            "Secret kubeconfig-resourceslice-pool"
        ]
    );
    let error = folder.refused("export --home cl-provider --remote-cluster-id cl-x", "", 4);
    assert!(error.contains("nothing of cl-x"), "{error}");
}

#[test]
fn a_tenant_has_its_namespace() {
    let folder = homes();
    let tenant = folder.tenant();
    assert!(
        tenant.contains("  namespace: liqo-tenant-cl-consumer\n"),
        "{tenant}"
    );
    folder.ok_with("apply --home cl-provider -f -", &tenant);
}

#[test]
fn an_identity_has_its_namespace() {
    let folder = homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let generate = "generate identity --home cl-provider --remote-cluster-id cl-consumer";
    let identity = folder.ok(generate);
    assert!(
        identity.contains("  namespace: liqo-tenant-cl-provider\n"),
        "{identity}"
    );
    let identity = folder.ok(&format!("{generate} --remote-tenant-namespace other"));
    assert!(identity.contains("  namespace: other\n"), "{identity}");
}

#[test]
fn a_slice_is_carried_as_a_replica_and_its_answer_as_a_status() {
    let folder = homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs pool --home cl-consumer --remote-cluster-id cl-provider --cpu 2");
    let run = folder.run(
        "generate resourceslice pool --home cl-consumer --remote-cluster-id cl-provider -o json",
    );
    assert!(
        run.err
            .contains("cl-provider takes it with: kubectl apply -f -"),
        "{run:?}"
    );
    let replica: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(replica["metadata"]["namespace"], "liqo-tenant-cl-consumer");
    for (label, value) in [
        ("liqo.io/replication", "false"),
        ("liqo.io/replicated", "true"),
        ("liqo.io/originID", "cl-consumer"),
        ("liqo.io/remote-cluster-id", "cl-consumer"),
    ] {
        assert_eq!(replica["metadata"]["labels"][label], value, "{label}");
    }
    folder.ok_with("apply --home cl-provider -f -", &run.out);
    let run = folder.run(
        "generate resourceslice pool --home cl-provider --remote-cluster-id cl-consumer -o json",
    );
    assert!(
        run.err
            .contains("kubectl -n liqo-tenant-cl-provider replace --subresource status -f -"),
        "{run:?}"
    );
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(answer["metadata"].get("namespace"), None);
    assert_eq!(answer["status"]["conditions"][0]["status"], "Accepted");
    folder.ok_with("apply --home cl-consumer -f -", &run.out);
    folder.ok(
        "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider --resourceslice pool",
    );
}

/// After each change of rights, the tool says what the cluster has to be told.
#[test]
fn a_person_is_told_what_to_carry() {
    let folder = homes();
    let export = "liqo-auth export --home cl-provider | kubectl apply -f -";
    let run = folder.run("authenticate --home cl-consumer --remote-home cl-provider");
    assert!(
        run.err
            .contains(&format!("to the cluster of cl-provider:\n  {export}")),
        "{run:?}"
    );
    assert!(
        run.err
            .contains("liqo-auth export --home cl-consumer --secrets | kubectl apply -f -"),
        "{run:?}"
    );
    let run = folder.run("authenticate --home cl-consumer --remote-home cl-provider");
    assert!(!run.err.contains("Carry"), "{run:?}");

    folder.ok("create rs pool --home cl-consumer --remote-home cl-provider --cpu 2");
    let run = folder.run("drain tenant cl-consumer --home cl-provider");
    for deletion in [
        "kubectl -n liqo-tenant-cl-consumer delete --ignore-not-found rolebindings liqo-binding-liqo-remote-controlplane",
        "kubectl delete --ignore-not-found clusterrolebindings liqo-binding-liqo-virtual-kubelet-remote-clusterwide-cl-consumer",
        "kubectl -n liqo-tenant-cl-consumer delete --ignore-not-found resourceslices.authentication.liqo.io pool",
    ] {
        assert!(run.err.contains(deletion), "{deletion}: {run:?}");
    }
    let run = folder.run("uncordon tenant cl-consumer --home cl-provider");
    assert!(run.err.contains(export), "{run:?}");
    let run = folder.run("replicate --home cl-consumer --remote-home cl-provider");
    let answer = "liqo-auth generate resourceslice pool --home cl-provider --remote-cluster-id cl-consumer | kubectl -n liqo-tenant-cl-consumer replace --subresource status -f -";
    assert!(run.err.contains(answer), "{run:?}");
    folder.ok("delete rs pool --home cl-consumer --remote-home cl-provider");
    let run = folder.run("unauthenticate --yes --home cl-provider --remote-cluster-id cl-consumer");
    assert!(
        run.err
            .contains("delete --ignore-not-found tenants.authentication.liqo.io cl-consumer"),
        "{run:?}"
    );
    assert!(!run.err.contains("apply -f -"), "{run:?}");

    // A home that stands for itself has no cluster to tell.
    let folder = Folder::with_homes();
    let run = folder.run("authenticate --home cl-consumer --remote-home cl-provider");
    assert!(!run.err.contains("Carry"), "{run:?}");
}

/// A provider whose cluster signs: the request goes there by kubectl, and comes back signed.
#[test]
fn a_provider_needs_no_key_of_a_ca() {
    let folder = Folder::with_homes();
    folder.ok("init --home signer");
    let run = folder.run("init --home rome --signer kubernetes");
    assert!(run.err.contains("publicly trusted"), "{run:?}");
    folder.write("ca.crt", &authority(&folder, "tls.crt"));
    folder.ok("init --home milan --signer kubernetes --api-server-ca ca.crt");
    let keys = std::fs::read_dir(folder.path("milan/private/liqo")).unwrap();
    assert_eq!(
        keys.count(),
        2,
        "the cluster's keys and the record key alone"
    );

    folder.ok("create nonce --home milan --remote-cluster-id cl-consumer");
    let nonce = folder.ok("get nonce --home milan --remote-cluster-id cl-consumer");
    let tenant = folder.ok_with(
        "generate tenant --home cl-consumer --remote-cluster-id milan --nonce -",
        &nonce,
    );
    let run = folder.run_with("apply --home milan -f -", &tenant);
    assert_eq!(run.code, 0, "{run:?}");
    let exported = folder.ok("export --home milan -o json");
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let request = &exported["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|object| object["kind"] == "CertificateSigningRequest")
        .unwrap()
        .clone();
    let name = request["metadata"]["name"].as_str().unwrap();
    assert!(
        run.err
            .contains(&format!("kubectl certificate approve {name}")),
        "{run:?}"
    );
    let generate = "generate identity --home milan --remote-cluster-id cl-consumer";
    assert!(
        folder
            .refused(generate, "", 4)
            .contains("waits for the cluster's signer")
    );
    let status = folder.ok("status --home milan");
    assert!(status.contains("this cluster's signer"), "{status}");

    // The signer has not answered; it has answered another request; it has denied.
    let apply = "apply --home milan -f -";
    assert!(
        folder
            .refused(apply, &request.to_string(), 4)
            .contains("certificate approve")
    );
    let signed = signed(&folder, request);
    let mut other = signed.clone();
    other["spec"]["request"] = json!("AAAA");
    assert!(
        folder
            .refused(apply, &other.to_string(), 3)
            .contains("not the request")
    );
    let mut forged = signed.clone();
    forged["status"]["certificate"] = json!(base64(authority(&folder, "tls.crt")));
    folder.refused(apply, &forged.to_string(), 3);
    let mut unknown = signed.clone();
    unknown["metadata"]["name"] = json!("unknown");
    folder.refused(apply, &unknown.to_string(), 4);
    folder.refused("apply --home cl-provider -f -", &signed.to_string(), 2);

    assert_eq!(
        folder.ok_with(apply, &signed.to_string()),
        format!("certificatesigningrequest.certificates.k8s.io/{name} configured\n")
    );
    folder.ok_with(apply, &signed.to_string());
    let identity = folder.ok(generate);
    folder.ok_with("apply --home cl-consumer -f -", &identity);
    folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id milan");
    // What is signed is no request any more.
    assert!(
        !folder
            .ok("export --home milan")
            .contains("CertificateSigningRequest")
    );
    folder.refused(
        "generate peering-user --home milan --consumer-cluster-id cl-x",
        "",
        2,
    );
}

/// What the cluster's controller manager makes of an approved request. The home `signer`
/// signs it.
fn signed(folder: &Folder, request: &Value) -> Value {
    use liqo_auth::{
        crypto::{Authority, Entropy, KeyPair},
        model::Object,
        policy::Policy,
    };
    let policy = Policy::strict();
    let key = KeyPair::from_pkcs8_pem(authority(folder, "tls.key").as_bytes(), &policy).unwrap();
    let certificate = authority(folder, "tls.crt");
    let authority =
        Authority::from_pem(certificate.as_bytes(), std::sync::Arc::new(key), &policy).unwrap();
    let mut signed = request.clone();
    signed["metadata"]["uid"] = json!("of-the-cluster");
    signed["spec"]["username"] = json!("admin");
    signed["status"] =
        json!({"conditions": [{"type": "Approved", "status": "True", "reason": "KubectlApprove"}]});
    let Object::CertificateSigningRequest(object) = Object::from_value(signed.clone()) else {
        panic!("{signed}");
    };
    let now = std::time::SystemTime::now().try_into().unwrap();
    let chain = authority.sign_approved(&object, now, &Entropy::from_bytes([7; 32]));
    signed["status"]["certificate"] = json!(base64(chain.unwrap().unwrap().pem()));
    signed
}

/// A field of the authority of the home `signer`.
fn authority(folder: &Folder, field: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let text = folder.read("signer/private/liqo/secret.liqo-auth-authority.yaml");
    let mut lines = text.lines().map(str::trim);
    let value = lines
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
        .unwrap();
    String::from_utf8(STANDARD.decode(value).unwrap()).unwrap()
}

fn base64(text: impl AsRef<[u8]>) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}

/// The objects of a List, or the object itself.
fn items(printed: &Value) -> Vec<Value> {
    match printed["items"].as_array() {
        Some(items) => items.clone(),
        None => vec![printed.clone()],
    }
}

fn names(printed: &str) -> Vec<String> {
    let printed: Value = serde_json::from_str(printed).unwrap();
    let name = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        format!(
            "{} {}",
            text(&object["kind"]),
            text(&object["metadata"]["name"])
        )
    };
    items(&printed).iter().map(name).collect()
}
