//! A Tenant that a person declares, as Liqo's page on declared peerings has it.

use serde_json::json;

use super::{Cluster, start, until};
use crate::tool::Folder;

/// What lets the peer in.
const LINE: &str = "tolerateNoHandshake: true";

#[test]
fn a_tenant_without_a_handshake_names_the_setting_that_lets_it_in() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let running = start(&folder);
    milan.server.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "liqo-tenant-rome",
            "labels": {
                "liqo.io/remote-cluster-id": "rome",
                "liqo.io/tenant-namespace": "true",
            },
        },
    }));
    milan.server.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": "my-tenant-rome",
            "namespace": "liqo-tenant-rome",
            "labels": { "liqo.io/remote-cluster-id": "rome" },
        },
        "spec": {
            "clusterID": "rome",
            "authzPolicy": "TolerateNoHandshake",
            "tenantCondition": "Active",
        },
    }));
    until("an event prints the line", || {
        let events = milan.server.all("events");
        let mut notes = events.iter().filter_map(|event| event["note"].as_str());
        notes.any(|note| note.contains(LINE))
    });
    let is_let_in = || {
        let tenants = milan.named("tenants", "my-tenant-rome");
        tenants[0]["status"]["tenantNamespace"] == "liqo-tenant-rome"
    };
    assert!(!is_let_in());
    for command in ["status", "doctor"] {
        let run = folder.run(&format!("{command} --kubeconfig milan"));
        let said = format!("{}{}", run.out, run.err);
        assert!(said.contains(LINE), "{command}: {run:?}");
        assert!(!said.contains("misbehaved"), "{command}: {run:?}");
    }
    milan.set_peers(&json!({ "rome": { "tolerateNoHandshake": true } }));
    until("rome is let in", is_let_in);
    folder.ok("doctor --kubeconfig milan");
    running.stop();
}
