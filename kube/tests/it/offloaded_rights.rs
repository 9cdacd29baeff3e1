//! A drain and an end leave a peer no rights in the namespaces that it has offloaded. These
//! controllers do not offload.

use liqo_auth::model::{Kind, TenantCondition};
use serde_json::{Value, json};

use crate::{
    clusters::{Clusters, id, names},
    fake::FakeApiServer,
    life::until,
    replicating::named,
};

#[tokio::test(start_paused = true)]
async fn a_drain_takes_what_finalizers_hold_and_what_comes_late() {
    let clusters = authenticated().await;
    let milan = &clusters.milan;
    milan.put(map(json!({ "finalizers": ["rome.example/never"] })));
    milan.put(binding("shop-rome"));
    drain(&clusters).await;
    until("the rights are gone", async || of_rome(milan).is_empty()).await;
    let held = || named(milan, "namespacemaps", "milan");
    until("the NamespaceMap is deleted", async || {
        held()["metadata"]["deletionTimestamp"].is_string()
    })
    .await;
    // Whoever binds the peer's group later need not label the binding.
    milan.put(binding("late"));
    until("the rights are gone", async || of_rome(milan).is_empty()).await;
    let other = named(milan, "rolebindings", "of-another");
    assert_eq!(other["metadata"]["namespace"], "shop-rome");
}

#[tokio::test(start_paused = true)]
async fn an_end_keeps_the_namespaces() {
    let clusters = authenticated().await;
    let milan = &clusters.milan;
    let labels = json!({ "liqo.io/replicated": "true", "liqo.io/originID": "rome" });
    milan.put(map(json!({ "labels": labels })));
    milan.put(binding("shop-rome"));
    clusters.provider.end(&id("rome")).await.unwrap();
    until("the rights are gone", async || of_rome(milan).is_empty()).await;
    clusters.settled().await;
    let kept = named(milan, "namespacemaps", "milan");
    assert!(kept["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(kept["metadata"]["labels"]["liqo.io/originID"], "");
    assert_eq!(
        kept["spec"],
        json!({ "desiredMapping": { "shop": "shop-rome" } })
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_offloading_drains_and_serves_namespace_maps_later() {
    let milan = FakeApiServer::with_liqo("milan").without_group("offloading.liqo.io/v1beta1");
    let clusters = Clusters::start_on(FakeApiServer::with_liqo("rome"), milan).await;
    let milan = &clusters.milan;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    drain(&clusters).await;
    until("the rights are gone", async || of_rome(milan).is_empty()).await;
    milan.serve_all();
    milan.put(map(json!({})));
    until("the NamespaceMap is gone", async || {
        names(milan, "namespacemaps").is_empty()
    })
    .await;
}

async fn drain(clusters: &Clusters) {
    let (peer, drained) = (id("rome"), TenantCondition::Drained);
    let order = clusters
        .provider
        .order_provider(&peer, move |provider, view, _| {
            provider.set_condition(view, drained)
        });
    order.await.unwrap();
}

/// Rome has authenticated with milan, which has the namespace that rome offloads.
async fn authenticated() -> Clusters {
    let clusters = Clusters::start().await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    for namespace in ["shop-rome", "late"] {
        clusters.milan.put(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace },
        }));
    }
    let mut of_another = binding("shop-rome");
    of_another["metadata"]["name"] = "of-another".into();
    of_another["subjects"][0]["name"] = "another".into();
    clusters.milan.put(of_another);
    clusters
}

/// A NamespaceMap of rome at milan, with this metadata besides.
fn map(metadata: Value) -> Value {
    let mut map = json!({
        "apiVersion": Kind::NamespaceMap.api_version(),
        "kind": "NamespaceMap",
        "metadata": metadata,
        "spec": { "desiredMapping": { "shop": "shop-rome" } },
    });
    map["metadata"]["name"] = "milan".into();
    map["metadata"]["namespace"] = "liqo-tenant-rome".into();
    map
}

/// A binding of rome's group, without labels.
fn binding(namespace: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": { "name": "liqo-tenant-rome", "namespace": namespace },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "liqo-virtual-kubelet-remote",
        },
        "subjects": [{
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "rome",
        }],
    })
}

/// The bindings that name rome.
fn of_rome(server: &FakeApiServer) -> Vec<Value> {
    let bindings = ["rolebindings", "clusterrolebindings"];
    let bindings = bindings.iter().flat_map(|plural| server.all(plural));
    let is_of_rome = |binding: &Value| {
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        subjects
            .into_iter()
            .any(|subject| subject["name"] == "rome")
    };
    bindings.filter(is_of_rome).collect()
}
