//! A kubeconfig that an administrator has made, in place of an Identity.

use std::sync::Arc;

use liqo_auth::{
    Consumer,
    consumer::{ConsumerConfig, PeerSettings, SliceOptions},
    crypto::OneKey,
};
use liqo_auth_kube::Cluster;
use serde_json::json;

use super::{Replicator, as_rome, encoded};
use crate::{
    clusters::{Clusters, id, names},
    fake::FakeApiServer,
    life::until,
    tenant_namespaces::namespace,
};

const KUBECONFIG: &str = r#"{
  "apiVersion": "v1", "kind": "Config", "current-context": "milan",
  "contexts": [{ "name": "milan", "context": { "cluster": "milan", "user": "rome" } }],
  "clusters": [{ "name": "milan", "cluster": { "server": "https://api.milan.example" } }],
  "users": [{ "name": "rome", "user": { "token": "hunter2" } }]
}
"#;
/// What `sha256sum` says.
const DIGEST: &str = "SHA256:7dca03ff88ff0830cdc68b64d0d881bb8816b1395bd1ef0c0057670a5392bb47";

#[tokio::test(start_paused = true)]
async fn slices_go_to_the_provider_of_a_kubeconfig_that_the_settings_name() {
    let (rome, milan) = (
        FakeApiServer::with_liqo("rome"),
        FakeApiServer::with_liqo("milan"),
    );
    let clusters = Clusters::start_with(rome, milan, |builder| builder).await;
    clusters.rome.put(namespace("milan"));
    clusters.milan.put(namespace("rome"));
    clusters.rome.put(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "cplane-secret",
            "namespace": "liqo-tenant-milan",
            "labels": {
                "liqo.io/identity-type": "ControlPlane",
                "liqo.io/remote-cluster-id": "milan",
            },
        },
        "data": { "kubeconfig": encoded(KUBECONFIG.as_bytes()) },
    }));

    let cluster = Cluster::open(clusters.rome.client()).await.unwrap();
    let mut config = ConsumerConfig::new(cluster.id().clone());
    let settings = PeerSettings {
        kubeconfig_digest: Some(DIGEST.parse().unwrap()),
        publicly_trusted: true,
        ..PeerSettings::default()
    };
    config.peers.insert(id("milan"), settings);
    let side = Consumer::new(config, Arc::new(OneKey(cluster.key())));
    let milan = as_rome(&clusters.milan).client();
    let replicator = Replicator::start_side(&cluster, side, milan, |builder| builder).await;
    replicator.request(SliceOptions::named("mypool")).await;
    until("the slice is at the provider", async || {
        names(&clusters.milan, "resourceslices") == ["mypool"]
    })
    .await;
    let hosts = replicator.hosts.lock().unwrap().clone();
    assert_eq!(hosts, ["api.milan.example"]);
}
