//! What an API server refuses is told in a sentence, with the next command.

use serde_json::json;

use super::Cluster;
use crate::{
    fake::Rule,
    tool::{Folder, Run},
};

const CREATE: &str = "create nonce --kubeconfig milan --remote-cluster-id rome";

/// Asserts that a run failed with one sentence of the tool, and nothing of its libraries.
fn assert_told(run: &Run, code: i32, parts: &[&str]) {
    assert_eq!(run.code, code, "{run:?}");
    assert_eq!(run.err.lines().count(), 1, "{run:?}");
    assert!(run.err.len() < 600, "{run:?}");
    for part in parts {
        assert!(run.err.contains(part), "{part}: {run:?}");
    }
    for theirs in [
        "ApiError",
        "ErrorResponse",
        "Status {",
        "Some(",
        "request failed",
        "\u{1b}",
    ] {
        assert!(!run.err.contains(theirs), "{theirs}: {run:?}");
    }
}

#[test]
fn a_missing_right_is_named() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    folder.ok(CREATE);
    milan.has_a_user(&folder, "jane", Vec::new());
    for command in ["status", "get tenants", "doctor", CREATE] {
        let command = command.replace(" --kubeconfig milan", "");
        let run = folder.run(&format!("{command} --kubeconfig jane"));
        let parts = [
            "the API server does not let the user jane ",
            "(403, ",
            "liqo-auth rbac",
            "kubectl auth can-i ",
        ];
        assert_told(&run, 1, &parts);
    }
    // The user may read everything, and write nothing.
    let reader = json!({
        "kind": "ClusterRole",
        "metadata": { "name": "reader" },
        "rules": [{
            "apiGroups": [
                "",
                "authentication.liqo.io",
                "certificates.k8s.io",
                "rbac.authorization.k8s.io",
                "storage.k8s.io",
                "networking.k8s.io",
                "core.liqo.io",
                "offloading.liqo.io",
                "ipam.liqo.io",
                "apps",
            ],
            "resources": [
                "secrets",
                "configmaps",
                "namespaces",
                "tenants",
                "identities",
                "resourceslices",
                "renews",
                "certificatesigningrequests",
                "rolebindings",
                "clusterrolebindings",
                "clusterroles",
                "storageclasses",
                "foreignclusters",
                "namespacemaps",
                "networks",
                "servicecidrs",
                "serviceaccounts",
                "deployments",
            ],
            "verbs": ["get", "list", "watch"],
        }],
    });
    milan.has_a_user(&folder, "reader", Rule::of_role(&reader));
    let create = "create nonce --kubeconfig reader --remote-cluster-id turin";
    let parts = [
        "the user jane create namespaces (403, create Namespace liqo-tenant-turin)",
        "kubectl auth can-i create namespaces\n",
    ];
    assert_told(&folder.run(create), 1, &parts);
}

#[test]
fn what_the_api_server_cannot_do_now_is_told() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    for (code, reason, parts) in [
        (
            500,
            "InternalError",
            ["has failed (500, create ", "kubectl get --raw /readyz"],
        ),
        (
            422,
            "Invalid",
            [
                "refuses the object (code 422, create ",
                "kubectl api-resources",
            ],
        ),
    ] {
        milan.server.refuse_writes(1, code, reason);
        assert_told(&folder.run(CREATE), 1, &parts);
    }
    milan
        .server
        .deny_writes(1, &format!("\u{1b}[2J{}", "a".repeat(10_000)));
    let parts = [
        "the admission of the API server denies this (403, create ",
        "\\u{1b}[2J",
    ];
    assert_told(&folder.run(CREATE), 1, &parts);
    folder.ok(CREATE);
    // Somebody else writes all the time.
    milan.server.contest(&["secrets"]);
    let run = folder.run(&format!("{CREATE} --replace"));
    assert_told(&run, 4, &["run the command again"]);
}
