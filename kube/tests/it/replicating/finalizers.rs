//! The finalizers of Liqo's replicator, which may have run before.

use kube::api::{Patch, PatchParams};
use liqo_auth::{consumer::SliceOptions, model::Kind};
use serde_json::{Value, json};

use super::{Replicator, accepted, as_rome, authenticated_in_memory, hold, named, nowhere};
use crate::{
    clusters::names,
    fake::FakeApiServer,
    life::{api, until},
};

#[tokio::test(start_paused = true)]
async fn the_finalizers_of_other_programs_stay() {
    let clusters = authenticated_in_memory().await;
    let replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    let original = (&clusters.rome, "liqo-tenant-milan");
    set_finalizers(original, &["example.com/one", LIQOS, "example.com/two"]).await;
    replicator.delete("mypool").await;
    until("Liqo's finalizer is gone", async || {
        !finalizers(&clusters.rome).contains(&json!(LIQOS))
    })
    .await;
    clusters.settled().await;
    let others = ["example.com/one", "example.com/two"];
    assert_eq!(finalizers(&clusters.rome), others);
    set_finalizers(original, &[]).await;
    nowhere(&clusters, "mypool").await;
}

#[tokio::test(start_paused = true)]
async fn an_original_waits_until_its_replica_is_gone() {
    let clusters = authenticated_in_memory().await;
    let replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    hold(&clusters.rome, Kind::ResourceSlice, "mypool").await;
    // A program of the provider is not done with the replica.
    let replica = (&clusters.milan, "liqo-tenant-rome");
    set_finalizers(replica, &["example.com/one"]).await;
    replicator.delete("mypool").await;
    until("the deletion has come to the provider", async || {
        let replica = named(&clusters.milan, "resourceslices", "mypool");
        !replica["metadata"]["deletionTimestamp"].is_null()
    })
    .await;
    clusters.settled().await;
    assert_eq!(names(&clusters.rome, "resourceslices"), ["mypool"]);
    assert_eq!(finalizers(&clusters.rome), [LIQOS]);
    set_finalizers(replica, &[]).await;
    nowhere(&clusters, "mypool").await;
}

/// Another replicator, or the same one with another destination, still needs them.
#[tokio::test(start_paused = true)]
async fn objects_that_are_not_shared_with_the_provider_are_not_released() {
    let clusters = authenticated_in_memory().await;
    let replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    clusters.rome.put(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "elsewhere" },
    }));
    let shared = |destination: &str| {
        json!({
            "liqo.io/replication": "true",
            "liqo.io/remoteID": destination,
            "liqo.io/remote-cluster-id": destination,
        })
    };
    let of_milan = json!({
        "liqo.io/replication": "false",
        "liqo.io/replicated": "true",
        "liqo.io/originID": "milan",
        "liqo.io/remoteID": "rome",
        "liqo.io/remote-cluster-id": "milan",
    });
    let mut unshared = shared("milan");
    unshared["liqo.io/replication"] = json!("false");
    let here = "liqo-tenant-milan";
    let waiting = [
        ("ResourceSlice", here, "for-turin", shared("turin")),
        ("ResourceSlice", here, "unshared", unshared.clone()),
        ("ResourceSlice", here, "of-milan", of_milan.clone()),
        ("ResourceSlice", "elsewhere", "elsewhere", shared("milan")),
        ("Renew", here, "for-turin", shared("turin")),
        ("Renew", here, "of-milan", of_milan),
        ("Secret", here, "kubeconfig-controlplane-turin", unshared),
    ];
    for (kind, namespace, name, labels) in waiting.clone() {
        let (version, finalizer) = match kind {
            "Secret" => ("v1", "crdreplicator.liqo.io/operator"),
            _ => ("authentication.liqo.io/v1beta1", LIQOS),
        };
        let object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels,
                "finalizers": [finalizer],
            },
        });
        clusters.rome.put(object.clone());
        clusters.rome.delete(&object);
    }

    // What is shared is released meanwhile.
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    hold(&clusters.rome, Kind::ResourceSlice, "mypool").await;
    replicator.delete("mypool").await;
    nowhere(&clusters, "mypool").await;
    clusters.settled().await;
    for (kind, namespace, name, _) in waiting {
        let plural = format!("{}s", kind.to_lowercase());
        let stays = clusters.rome.all(&plural).into_iter().any(|object| {
            let metadata = &object["metadata"];
            metadata["name"] == name
                && metadata["namespace"] == namespace
                && metadata["finalizers"].as_array().unwrap().len() == 1
        });
        assert!(stays, "{kind} {namespace}/{name}");
    }
}

/// The finalizers of the slice `mypool`.
fn finalizers(server: &FakeApiServer) -> Vec<Value> {
    let slice = named(server, "resourceslices", "mypool");
    let finalizers = slice["metadata"]["finalizers"].as_array();
    finalizers.cloned().unwrap_or_default()
}

/// Sets the finalizers of the slice `mypool`.
async fn set_finalizers((server, namespace): (&FakeApiServer, &str), finalizers: &[&str]) {
    let client = server.administrator().client();
    let slices = api(&client, Kind::ResourceSlice, namespace);
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": finalizers } }));
    let parameters = PatchParams::default();
    slices.patch("mypool", &parameters, &patch).await.unwrap();
}

const LIQOS: &str = "crdreplicator.liqo.io/resource";
