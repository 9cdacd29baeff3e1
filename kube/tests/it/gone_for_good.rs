//! A provider that an administrator has declared gone for good, as `liqoctl force unpeer` does
//! it. Liqo's replicator has set its finalizers, and runs no more.

use futures::future::pending;
use liqo_auth_kube::{Cluster, Controller, ControllerBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    clusters::{Clusters, consumer_of, id, names},
    fake::FakeApiServer,
    life::until,
    replicating::{authenticated_in_memory, named},
};

#[tokio::test(start_paused = true)]
async fn nothing_waits_for_a_provider_that_is_gone_for_good() {
    let clusters = authenticated_in_memory().await;
    let rome = &clusters.rome;
    deleted_slice(rome, "for-milan", "milan");
    deleted_slice(rome, "for-turin", "turin");
    rome.put(foreign_cluster("Established"));
    clusters.settled().await;
    assert_eq!(names(rome, "resourceslices"), ["for-milan", "for-turin"]);

    declare(rome, "false");
    rome.put(foreign_cluster_of("turin"));
    clusters.settled().await;
    assert_eq!(names(rome, "resourceslices"), ["for-milan", "for-turin"]);

    // Liqo sees milan's API server answer, so the annotation does not count.
    declare(rome, "true");
    clusters.settled().await;
    assert_eq!(names(rome, "resourceslices"), ["for-milan", "for-turin"]);

    let mut foreign = named(rome, "foreignclusters", "milan");
    foreign["status"]["conditions"][0]["status"] = json!("Error");
    rome.replace(&foreign);
    until("the slice is gone", async || {
        names(rome, "resourceslices") == ["for-turin"]
    })
    .await;
    ends(&clusters).await;
}

#[tokio::test(start_paused = true)]
async fn a_declaration_from_before_the_start_counts() {
    let rome = FakeApiServer::with_liqo("rome");
    rome.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "liqo-tenant-milan",
            "labels": {
                "liqo.io/remote-cluster-id": "milan",
                "liqo.io/tenant-namespace": "true",
            },
        },
    }));
    deleted_slice(&rome, "for-milan", "milan");
    rome.put(foreign_cluster("Error"));
    declare(&rome, "true");
    let cluster = Cluster::open(rome.client()).await.unwrap();
    let builder = Controller::builder(&cluster).consumer(consumer_of(&cluster));
    let (controller, _handle) = builder.build();
    let mut running = JoinSet::new();
    running.spawn(controller.run(pending()));
    until("the slice is gone", async || {
        names(&rome, "resourceslices").is_empty()
    })
    .await;
}

/// Liqo may not be installed, or not yet.
#[tokio::test(start_paused = true)]
async fn a_cluster_without_foreign_clusters_declares_nobody_gone() {
    let rome = FakeApiServer::with_liqo("rome").without_resource("foreignclusters");
    let milan = FakeApiServer::with_liqo("milan");
    let clusters = Clusters::start_on(rome, milan).await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    let rome = &clusters.rome;
    deleted_slice(rome, "for-milan", "milan");
    rome.serve_all();
    rome.put(foreign_cluster("Error"));
    declare(rome, "true");
    until("the slice is gone", async || {
        names(rome, "resourceslices").is_empty()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_is_tried_again_and_told() {
    for (code, reason, failures) in [(409, "Conflict", 0), (500, "InternalError", 1)] {
        let (rome, milan) = (
            FakeApiServer::with_liqo("rome"),
            FakeApiServer::with_liqo("milan"),
        );
        let clusters = Clusters::start_with(rome, milan, ControllerBuilder::publish_events).await;
        clusters.provider.invite(&id("rome")).await.unwrap();
        clusters.authenticated().await;
        let rome = &clusters.rome;
        deleted_slice(rome, "for-milan", "milan");
        rome.put(foreign_cluster("Error"));
        clusters.settled().await;
        let before = clusters.consumer.counts();
        rome.refuse_writes(1, code, reason);
        declare(rome, "true");
        until("the slice is gone", async || {
            names(rome, "resourceslices").is_empty()
        })
        .await;
        let after = clusters.consumer.counts();
        assert_eq!(after.failures - before.failures, failures, "{reason}");
        let told = rome.all("events").into_iter();
        let told = told.filter(|event| event["reason"] == "Failed");
        assert_eq!(u64::try_from(told.count()), Ok(failures), "{reason}");
    }
}

/// A provider has nothing that waits for a consumer.
#[tokio::test(start_paused = true)]
async fn a_provider_ends_its_part_without_the_consumer() {
    let clusters = authenticated_in_memory().await;
    let milan = &clusters.milan;
    clusters.rome.clone().with_rights(Vec::new());
    clusters.provider.end(&id("rome")).await.unwrap();
    until("the Tenant is gone", async || {
        names(milan, "tenants").is_empty() && names(milan, "clusterrolebindings").is_empty()
    })
    .await;
    let asked = milan.requests();
    assert!(!asked.iter().any(|line| line.contains("foreignclusters")));
}

/// The end of the peering at rome, with the finalizers of Liqo's replicator on what it deletes.
async fn ends(clusters: &Clusters) {
    let rome = &clusters.rome;
    for (plural, name, finalizer) in [
        ("renews", "controlplane-milan", OF_ORIGINAL),
        ("secrets", KUBECONFIG, "crdreplicator.liqo.io/operator"),
    ] {
        let mut held = named(rome, plural, name);
        held["metadata"]["finalizers"] = json!([finalizer]);
        rome.replace(&held);
    }
    clusters
        .consumer
        .unauthenticate(&id("milan"))
        .await
        .unwrap();
    until("the peering is gone", async || {
        let secrets = names(rome, "secrets");
        names(rome, "renews").is_empty()
            && names(rome, "identities").is_empty()
            && !secrets.contains(&KUBECONFIG.to_owned())
    })
    .await;
}

/// A slice that is being deleted, and that Liqo's replicator keeps.
fn deleted_slice(rome: &FakeApiServer, name: &str, provider: &str) {
    let slice = json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {
            "name": name,
            "namespace": "liqo-tenant-milan",
            "labels": {
                "liqo.io/replication": "true",
                "liqo.io/remoteID": provider,
                "liqo.io/remote-cluster-id": provider,
            },
            "finalizers": [OF_ORIGINAL],
        },
    });
    rome.put(slice.clone());
    rome.delete(&slice);
}

fn foreign_cluster(api_server: &str) -> Value {
    let mut foreign = foreign_cluster_of("milan");
    let condition = json!({ "type": "APIServerStatus", "status": api_server });
    foreign["status"] = json!({ "conditions": [condition] });
    foreign
}

fn foreign_cluster_of(id: &str) -> Value {
    json!({
        "apiVersion": "core.liqo.io/v1beta1",
        "kind": "ForeignCluster",
        "metadata": { "name": id, "labels": { "liqo.io/remote-cluster-id": id } },
        "spec": { "clusterID": id },
    })
}

fn declare(rome: &FakeApiServer, value: &str) {
    let mut foreign = named(rome, "foreignclusters", "milan");
    foreign["metadata"]["annotations"] =
        json!({ "liqo.io/foreign-cluster-permanently-unreachable": value });
    rome.replace(&foreign);
}

const OF_ORIGINAL: &str = "crdreplicator.liqo.io/resource";
const KUBECONFIG: &str = "kubeconfig-controlplane-milan";
