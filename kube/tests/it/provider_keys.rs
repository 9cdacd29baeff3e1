//! Keys that are for one provider alone.

use std::{collections::BTreeMap, future::pending, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    machine::Stage,
    model::{Kubeconfig, UserCredential},
};
use liqo_auth_kube::{Cluster, Controller, Handle, ProviderKeys};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    clusters::{Clusters, consumer_with, id, name, names},
    fake::FakeApiServer,
};

const OF_MILAN: &str = "authentication-keys-milan";
const OF_ROME: &str = "authentication-keys";

fn data(server: &FakeApiServer, secret: &str, field: &str) -> Vec<u8> {
    let secrets = server.all("secrets");
    let found = secrets.iter().find(|it| name(it) == secret).unwrap();
    STANDARD
        .decode(found["data"][field].as_str().unwrap())
        .unwrap()
}

fn has(server: &FakeApiServer, secret: &str) -> bool {
    names(server, "secrets").iter().any(|it| it == secret)
}

/// The private key in the kubeconfig, which lies in the tenant namespace.
fn used(server: &FakeApiServer) -> Vec<u8> {
    let text = data(server, "kubeconfig-controlplane-milan", "kubeconfig");
    let kubeconfig = Kubeconfig::parse(std::str::from_utf8(&text).unwrap()).unwrap();
    match kubeconfig.credential {
        UserCredential::KeyData { key, .. } => key.expose().to_vec(),
        other => panic!("{other:?}"),
    }
}

fn private_key(server: &FakeApiServer, secret: &str) -> Vec<u8> {
    data(server, secret, "privateKey")
}

/// Milan was invited by rome, too.
fn milan_is_a_consumer(rome: &FakeApiServer) {
    rome.put(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "liqo-auth-provider-milan",
            "namespace": "liqo",
            "labels": {
                "app.kubernetes.io/managed-by": "liqo-auth",
                "liqo-auth/peer": "milan",
            },
        },
        "data": {},
    }));
}

async fn authenticated(clusters: &Clusters) {
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
}

/// Another run of rome's controller.
async fn again(rome: &FakeApiServer, setting: Option<bool>) -> (Handle, JoinSet<()>) {
    let cluster = Cluster::open(rome.client()).await.unwrap();
    let keys = ProviderKeys::of(&cluster);
    keys.set(setting, BTreeMap::new());
    let (controller, handle) = Controller::builder(&cluster)
        .consumer(consumer_with(&cluster, &keys))
        .provider_keys(keys)
        .build();
    let mut running = JoinSet::new();
    running.spawn(controller.run(pending()));
    handle.synchronized().await;
    for _ in 0..300 {
        if stage(&handle) == Stage::Authenticated {
            return (handle, running);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}", handle.status(&id("milan")));
}

fn stage(handle: &Handle) -> Stage {
    let statuses = handle.status(&id("milan")).unwrap();
    statuses[0].control_plane.stage
}

/// Everything of rome that a key is in.
fn keyed(rome: &FakeApiServer) -> Vec<Value> {
    let all = ["secrets", "identities"].map(|plural| rome.all(plural));
    all.concat()
}

#[tokio::test(start_paused = true)]
async fn a_provider_gets_the_key_of_the_cluster() {
    let clusters = Clusters::start().await;
    authenticated(&clusters).await;
    assert!(!has(&clusters.rome, OF_MILAN));
    assert_eq!(used(&clusters.rome), private_key(&clusters.rome, OF_ROME));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_a_consumer_too_gets_a_key_of_its_own() {
    let clusters = Clusters::start().await;
    milan_is_a_consumer(&clusters.rome);
    authenticated(&clusters).await;
    let rome = &clusters.rome;
    assert_eq!(used(rome), private_key(rome, OF_MILAN));
    assert_ne!(used(rome), private_key(rome, OF_ROME));
    let secrets = rome.all("secrets");
    let own = secrets.iter().find(|it| name(it) == OF_MILAN).unwrap();
    assert_eq!(own["metadata"]["namespace"], "liqo");
    assert!(own["metadata"]["labels"].is_null(), "{own}");
}

#[tokio::test(start_paused = true)]
async fn a_setting_gives_each_provider_or_one_a_key_of_its_own() {
    let milan = |own| BTreeMap::from([(id("milan"), own)]);
    for (of_all, of_peers, own) in [
        (Some(true), BTreeMap::new(), true),
        (None, milan(true), true),
        (Some(true), milan(false), false),
    ] {
        let clusters = Clusters::start().await;
        clusters.keys.set(of_all, of_peers);
        authenticated(&clusters).await;
        assert_eq!(has(&clusters.rome, OF_MILAN), own);
        let expected = if own { OF_MILAN } else { OF_ROME };
        assert_eq!(used(&clusters.rome), private_key(&clusters.rome, expected));
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_run_uses_the_same_key() {
    let clusters = Clusters::start().await;
    milan_is_a_consumer(&clusters.rome);
    authenticated(&clusters).await;
    clusters.settled().await;
    let before = keyed(&clusters.rome);
    // Whatever is said now.
    for setting in [None, Some(false), Some(true)] {
        let _running = again(&clusters.rome, setting).await;
        clusters.settled().await;
        assert_eq!(keyed(&clusters.rome), before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_running_peering_keeps_the_key_of_the_cluster() {
    let clusters = Clusters::start().await;
    authenticated(&clusters).await;
    milan_is_a_consumer(&clusters.rome);
    clusters.keys.set(Some(true), BTreeMap::new());
    clusters.settled().await;
    let before = keyed(&clusters.rome);
    let _running = again(&clusters.rome, Some(true)).await;
    clusters.settled().await;
    assert_eq!(keyed(&clusters.rome), before);
    assert_eq!(used(&clusters.rome), private_key(&clusters.rome, OF_ROME));
}

/// The key of the cluster does not take the place of one that cannot be read.
#[tokio::test(start_paused = true)]
async fn nothing_is_signed_while_the_key_cannot_be_read() {
    let clusters = Clusters::start().await;
    let unreadable = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": OF_MILAN, "namespace": "liqo" },
        "data": { "privateKey": STANDARD.encode("no key") },
    });
    clusters.rome.put(unreadable.clone());
    clusters.provider.invite(&id("rome")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(clusters.provider.counts().failed_deliveries > 0);
    assert_ne!(stage(&clusters.consumer), Stage::Authenticated);
    let secrets = clusters.rome.all("secrets");
    assert!(secrets.iter().all(|it| it["data"]["signedNonce"].is_null()));
    clusters.rome.delete(&unreadable);
    clusters.authenticated().await;
}
