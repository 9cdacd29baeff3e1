//! The addresses that a consumer's cluster takes for those of a provider.

use serde_json::json;

use super::Cluster;
use crate::tool::Folder;

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";

/// The controllers of rome would send their requests to a Service of rome.
#[test]
fn a_provider_at_a_service_of_the_consumers_cluster_is_refused() {
    let folder = Folder::new();
    let rome = Cluster::start(&folder, "rome");
    let milan = Cluster::start(&folder, "milan");
    rome.server.put(json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": { "name": "kubernetes" },
        "spec": { "cidrs": ["10.96.0.0/12"] },
    }));
    milan.has_a_signer();
    for (url, address) in [
        ("https://10.96.0.1", "10.96.0.1"),
        ("https://localhost:6443", "127.0.0.1"),
    ] {
        folder.ok(&format!("set api-server {url} --kubeconfig milan"));
        let run = folder.run(AUTHENTICATE);
        assert_eq!(run.code, 3, "{run:?}");
        let says = format!("spec.authParams.apiServer: the policy refuses: {address} is");
        assert!(run.err.contains(&says), "{}", run.err);
        assert!(run.err.contains("`addresses.allowed`"), "{}", run.err);
        assert!(rome.named("identities", "controlplane-milan").is_empty());
    }
    rome.set(&json!({
        "apiServer": "https://rome.example:6443",
        "addresses": { "allowed": ["127.0.0.0/8"] },
    }));
    folder.ok(AUTHENTICATE);
}
