//! Peering users on clusters.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Cluster, trials::ends_at_the_signer, until};
use crate::{
    fake::Rule,
    tool::{Folder, Run},
};

const GENERATE: &str = "generate peering-user --kubeconfig milan --consumer-cluster-id rome";
const DELETE: &str = "delete peering-user --kubeconfig milan --consumer-cluster-id rome";
const USER: &str = "liqo-peer-user-rome";
const LABEL: &str = "liqo.io/peering-user-name";
const REQUESTS: &str = "certificatesigningrequests";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Milan with Liqo's roles for peering users. Its keys are there already.
fn milan(folder: &Folder) -> Cluster {
    let milan = Cluster::start(folder, "milan");
    for (kind, name, namespace) in [
        ("ClusterRole", "liqo-peering-user-tenant-ns", None),
        ("Role", "liqo-peering-user-liqo-ns", Some("liqo")),
    ] {
        let mut role = json!({
            "apiVersion": RBAC,
            "kind": kind,
            "metadata": {
                "name": name,
                "labels": { "app.kubernetes.io/component": "peering-user" },
            },
            "rules": [],
        });
        if let Some(namespace) = namespace {
            role["metadata"]["namespace"] = namespace.into();
        }
        milan.server.put(role);
    }
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id turin");
    milan
}

/// What the commands may leave: the requests, bindings and namespaces, with their versions.
fn left(milan: &Cluster) -> Vec<String> {
    let kinds = [REQUESTS, "rolebindings", "namespaces"];
    let objects = kinds.into_iter().flat_map(|kind| milan.server.all(kind));
    objects
        .map(|object| object["metadata"].to_string())
        .collect()
}

fn labelled(milan: &Cluster, plural: &str) -> Vec<Value> {
    let mut objects = milan.server.all(plural);
    objects.retain(|object| object["metadata"]["labels"][LABEL] == USER);
    objects
}

#[test]
fn a_peering_user_is_made_on_a_cluster_and_deleted() {
    let folder = Folder::new();
    let milan = milan(&folder);
    milan.has_a_signer();
    let run = folder.run(GENERATE);
    assert_eq!(run.code, 0, "{run:?}");
    for line in [
        "- name: rome-user\n",
        "    namespace: liqo-tenant-rome\n",
        "    server: https://milan.example:6443\n",
    ] {
        assert!(run.out.contains(line), "{line}: {run:?}");
    }
    let lines = run.out.lines().map(str::trim);
    let mut keys = lines.filter_map(|line| line.strip_prefix("client-key-data: "));
    let key = keys.next().unwrap();

    // The objects are Liqo's.
    let request = labelled(&milan, REQUESTS).remove(0);
    assert_eq!(request["metadata"]["name"], USER);
    assert_eq!(
        request["spec"]["signerName"],
        "kubernetes.io/kube-apiserver-client"
    );
    assert_eq!(request["status"]["conditions"][0]["type"], "Approved");
    let bindings = labelled(&milan, "rolebindings");
    let mut bound: Vec<[&str; 4]> = bindings
        .iter()
        .map(|binding| {
            let at = |pointer: &str| binding.pointer(pointer).unwrap().as_str().unwrap();
            [
                at("/metadata/namespace"),
                at("/metadata/name"),
                at("/roleRef/kind"),
                at("/roleRef/name"),
            ]
        })
        .collect();
    bound.sort_unstable();
    assert_eq!(
        bound,
        [
            [
                "liqo",
                "liqo-peer-user-rome-liqo-ns-reader",
                "Role",
                "liqo-peering-user-liqo-ns"
            ],
            [
                "liqo-tenant-rome",
                "liqo-peer-user-rome-tenant-ns-writer",
                "ClusterRole",
                "liqo-peering-user-tenant-ns"
            ],
        ]
    );
    for binding in &bindings {
        let name = binding["subjects"][0]["name"].as_str().unwrap();
        assert!(name.starts_with("liqo-peer-user-rome-"), "{name}");
    }
    // Its key is stored nowhere.
    for kind in [REQUESTS, "rolebindings", "secrets", "configmaps"] {
        for object in milan.server.all(kind) {
            assert!(!object.to_string().contains(key), "{object}");
        }
    }

    let before = milan.writes();
    let error = folder.refused(GENERATE, "", 5);
    assert!(error.contains("already has a peering user"), "{error}");
    assert_eq!(milan.writes(), before);

    let deleted = folder.ok(DELETE);
    assert_eq!(
        deleted,
        " INFO  Peering user for cluster with ID \"rome\" deleted successfully\n"
    );
    assert!(labelled(&milan, REQUESTS).is_empty());
    assert!(labelled(&milan, "rolebindings").is_empty());
    let before = milan.writes();
    assert_eq!(folder.ok(DELETE), deleted);
    assert_eq!(milan.writes(), before);
    folder.ok(GENERATE);
}

/// `liqoctl` makes the same objects. Those of another user stay.
#[test]
fn the_peering_user_of_liqoctl_is_found() {
    let folder = Folder::new();
    let milan = milan(&folder);
    for user in [USER, "liqo-peer-user-turin"] {
        let labels = json!({ (LABEL): user });
        milan.server.put(json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": { "name": user, "labels": labels },
            "spec": {
                "groups": ["system:authenticated"],
                "request": "eA==",
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["digital signature", "key encipherment", "client auth"],
            },
        }));
        milan.server.put(json!({
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": {
                "name": format!("{user}-liqo-ns-reader"),
                "namespace": "liqo",
                "labels": labels,
            },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": "liqo-peering-user-liqo-ns",
            },
            "subjects": [{
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "User",
                "name": format!("{user}-0123"),
            }],
        }));
    }
    let error = folder.refused(GENERATE, "", 5);
    assert!(error.contains("already has a peering user"), "{error}");
    folder.ok(DELETE);
    for kind in [REQUESTS, "rolebindings"] {
        assert!(labelled(&milan, kind).is_empty());
        assert_eq!(milan.server.all(kind).len(), 1, "{kind}");
    }
}

#[test]
fn a_peering_user_that_cannot_be_made_leaves_nothing() {
    let folder = Folder::new();
    let milan = milan(&folder);
    let before = left(&milan);

    // There is no signer.
    let error = folder.refused(&format!("{GENERATE} --timeout 1s"), "", 4);
    let waited = "kubernetes.io/kube-apiserver-client has not signed it within 1 seconds";
    assert!(error.contains(waited), "{error}");
    assert_eq!(left(&milan), before);

    // The signer fails.
    let run = while_open(&folder, &milan, "Failed");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("has the condition Failed") && run.err.contains("no such profile"),
        "{run:?}"
    );
    assert_eq!(left(&milan), before);

    // A namespace without labels has the name of the tenant namespace.
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "liqo-tenant-rome" },
    });
    milan.server.put(namespace.clone());
    let writes = milan.writes();
    let error = folder.refused(GENERATE, "", 5);
    assert!(error.contains("liqo-tenant-rome"), "{error}");
    assert_eq!(milan.writes(), writes);
    milan.server.delete(&namespace);

    // Somebody else's request has the name.
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": { "name": USER },
        "spec": { "request": "eA==", "signerName": "example.org/other", "usages": ["any"] },
    });
    milan.server.put(request.clone());
    let with_request = left(&milan);
    let error = folder.refused(GENERATE, "", 5);
    assert!(error.contains(USER), "{error}");
    assert_eq!(left(&milan), with_request);
    milan.server.delete(&request);

    // Liqo has no role for peering users.
    let role = milan.server.all("roles").remove(0);
    milan.server.delete(&role);
    let writes = milan.writes();
    let error = folder.refused(GENERATE, "", 4);
    assert!(error.contains("Role"), "{error}");
    assert_eq!(milan.writes(), writes);

    let error = folder.refused(&format!("{GENERATE} --liqo-namespace nowhere"), "", 5);
    assert!(error.contains("nowhere"), "{error}");
    let own = GENERATE.replace("rome", "milan");
    let error = folder.refused(&own, "", 2);
    assert!(error.contains("name the other cluster"), "{error}");
    assert_eq!(milan.writes(), writes);
}

/// Runs the command until its request is approved. Then the request gets this condition.
fn while_open(folder: &Folder, milan: &Cluster, condition: &str) -> Run {
    let command = folder
        .command(GENERATE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the request is approved", || {
        let requests = milan.named(REQUESTS, USER);
        requests
            .iter()
            .any(|request| request["status"]["conditions"][0]["type"] == "Approved")
    });
    let open = milan.named(REQUESTS, USER).remove(0);
    let mut conditions = open["status"]["conditions"].clone();
    let answer = json!({ "type": condition, "status": "True", "message": "no such profile" });
    conditions.as_array_mut().unwrap().push(answer);
    let status = json!({ "conditions": conditions });
    milan.server.patch_status(&open, status).unwrap();
    Run::of(command.wait_with_output().unwrap())
}

/// Rights to do everything but this.
fn all_but(missing: &[(&str, &str)]) -> Vec<Rule> {
    let groups = ["", "authentication.liqo.io", "certificates.k8s.io", RBAC];
    let groups = groups.map(|group| group.trim_end_matches("/v1"));
    let resources = [
        "clusterrolebindings",
        "clusterroles",
        "configmaps",
        "certificatesigningrequests",
        "certificatesigningrequests/approval",
        "namespaces",
        "rolebindings",
        "roles",
        "secrets",
        "signers",
    ];
    let verbs = [
        "approve", "bind", "create", "delete", "get", "list", "patch", "update", "watch",
    ];
    let rules = resources.map(|resource| {
        let mut verbs = verbs.to_vec();
        verbs.retain(|verb| !missing.contains(&(*verb, resource)));
        json!({ "apiGroups": groups, "resources": [resource], "verbs": verbs })
    });
    Rule::of_role(&json!({ "kind": "ClusterRole", "rules": rules }))
}

#[test]
fn who_lacks_a_right_makes_no_peering_user() {
    let folder = Folder::new();
    let milan = milan(&folder);
    milan.has_a_signer();
    let before = left(&milan);
    for missing in [
        ("create", REQUESTS),
        ("patch", "certificatesigningrequests/approval"),
        ("approve", "signers"),
        ("watch", REQUESTS),
        ("create", "namespaces"),
        ("create", "rolebindings"),
        ("bind", "clusterroles"),
        ("list", "roles"),
    ] {
        let _ = milan.server.clone().with_rights(all_but(&[missing]));
        let error = folder.refused(GENERATE, "", 1);
        assert!(error.contains("forbidden"), "{missing:?}: {error}");
        assert!(!error.contains("are left"), "{missing:?}: {error}");
        assert_eq!(left(&milan), before, "{missing:?}");
    }

    // What cannot be deleted either is named.
    let missing = [("create", "rolebindings"), ("delete", REQUESTS)];
    let _ = milan.server.clone().with_rights(all_but(&missing));
    let error = folder.refused(GENERATE, "", 1);
    let named = format!(
        "These objects are left and have to be deleted: CertificateSigningRequest {USER} ("
    );
    assert!(error.contains(&named), "{error}");
    let error = folder.refused(DELETE, "", 1);
    assert!(error.contains("forbidden"), "{error}");
    let _ = milan.server.clone().with_rights(all_but(&[]));
    folder.ok(DELETE);
    assert_eq!(left(&milan), before);
    folder.ok(GENERATE);
}

#[test]
fn a_peering_user_is_made_if_another_program_was_faster() {
    let folder = Folder::new();
    let milan = milan(&folder);
    milan.has_a_signer();
    milan.server.refuse_writes(1, 409, "Conflict");
    folder.ok(GENERATE);
    assert_eq!(labelled(&milan, "rolebindings").len(), 2);
}

#[test]
fn a_trial_of_a_peering_user_ends_at_the_signer() {
    let folder = Folder::new();
    let milan = milan(&folder);
    let before = milan.writes();
    let run = folder.run(&format!("{GENERATE} --dry-run"));
    ends_at_the_signer(&run);
    let header =
        format!("+++ the cluster of --kubeconfig milan: CertificateSigningRequest {USER}\n");
    assert!(run.out.contains(&header), "{run:?}");
    assert!(!run.out.contains("PRIVATE KEY"), "{run:?}");
    assert_eq!(milan.writes(), before);

    milan.has_a_signer();
    folder.ok(GENERATE);
    let before = milan.writes();
    let run = folder.run(&format!("{DELETE} --dry-run"));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.out.matches("-kind: RoleBinding\n").count(),
        2,
        "{run:?}"
    );
    assert_eq!(milan.writes(), before);
}

/// EKS does not sign certificates for clients.
#[test]
fn a_cluster_of_aws_makes_no_peering_user() {
    let folder = Folder::new();
    let milan = milan(&folder);
    milan.set(&json!({ "apiServer": "https://milan.example:6443", "signer": "aws" }));
    let before = milan.writes();
    let error = folder.refused(GENERATE, "", 2);
    assert!(error.contains("signer: aws"), "{error}");
    assert_eq!(milan.writes(), before);
}
