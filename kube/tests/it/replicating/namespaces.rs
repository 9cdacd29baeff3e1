//! A provider whose tenant namespace does not have the usual name.

use std::sync::Arc;

use liqo_auth::{
    Consumer,
    consumer::{ConsumerConfig, PeerSettings, SliceOptions},
    crypto::OneKey,
};
use liqo_auth_kube::Cluster;
use serde_json::json;

use super::{Replicator, accepted, named, nowhere, remote_control_plane_in};
use crate::{
    clusters::{Clusters, id, names},
    fake::FakeApiServer,
    life::until,
};

#[tokio::test(start_paused = true)]
async fn replicas_go_to_the_namespace_that_the_identity_names() {
    let milan = FakeApiServer::with_liqo("milan");
    milan.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "renamed",
            "labels": {
                "liqo.io/remote-cluster-id": "rome",
                "liqo.io/tenant-namespace": "true",
            },
        },
    }));
    let clusters = Clusters::start_on(FakeApiServer::with_liqo("rome"), milan).await;
    let cluster = Cluster::open(clusters.rome.client()).await.unwrap();
    let mut config = ConsumerConfig::new(cluster.id().clone());
    let settings = PeerSettings {
        remote_tenant_namespace: Some("renamed".parse().unwrap()),
        ..PeerSettings::default()
    };
    config.peers.insert(id("milan"), settings);
    let side = Consumer::new(config, Arc::new(OneKey(cluster.key())));
    clusters.consumer.set_consumer(side.clone()).unwrap();
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;

    let rights = remote_control_plane_in("renamed");
    let at_milan = clusters.milan.administrator().with_rights(rights);
    let replicator = Replicator::start_side(&cluster, side, at_milan.client(), |it| it).await;
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    until("the Renew has a replica", async || {
        names(&clusters.milan, "renews") == ["controlplane-milan"]
    })
    .await;
    for (plural, name) in [
        ("resourceslices", "mypool"),
        ("renews", "controlplane-milan"),
    ] {
        let replica = named(&clusters.milan, plural, name);
        assert_eq!(replica["metadata"]["namespace"], "renamed");
    }
    replicator.delete("mypool").await;
    nowhere(&clusters, "mypool").await;
    assert_eq!(at_milan.forbidden(), []);
}
