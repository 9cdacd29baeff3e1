//! Kubernetes events for the administrator.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use futures::future::pending;
use kube::Client;
use liqo_auth::{
    Provider,
    crypto::{Entropy, KeyPair, SigningKey},
    model::TenantCondition,
};
use liqo_auth_kube::{Cluster, Controller, Handle};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    clusters::{Clusters, consumer_of, id, signer},
    fake::FakeApiServer,
    guard::put_slice_beside_a_tenant,
    remote_cluster::tenant_namespace,
};

#[tokio::test(start_paused = true)]
async fn events_are_in_the_tenant_namespace_that_there_is() {
    for name in ["ours", "liqo-tenant-rome"] {
        let milan = FakeApiServer::with_liqo("milan");
        milan.put(tenant_namespace(name));
        let mut running = JoinSet::new();
        let handle = provider(milan.client(), &mut running).await;
        handle.invite(&id("rome")).await.unwrap();
        let requests = milan.requests();
        let published: Vec<&String> = requests
            .iter()
            .filter(|request| request.contains("/apis/events.k8s.io/"))
            .collect();
        assert!(!published.is_empty());
        let there = format!("/namespaces/{name}/events");
        assert!(
            published.iter().all(|request| request.contains(&there)),
            "{published:?}"
        );
    }
}

/// `kubectl describe` shows an event with the object that it regards, by the object's UID.
#[tokio::test(start_paused = true)]
async fn events_regard_the_objects_that_they_speak_of() {
    let milan = FakeApiServer::with_liqo("milan");
    milan.put(tenant_namespace(ROME));
    let mut running = JoinSet::new();
    let handle = provider(milan.client(), &mut running).await;
    handle.invite(&id("rome")).await.unwrap();
    let nonce = |it: &Value| it["metadata"]["name"] == "liqo-nonce";
    let secrets = milan.all("secrets");
    let nonce = secrets.iter().find(|it| nonce(it)).unwrap();
    let regarding = regarding(&milan, "NonceMade");
    assert_eq!(regarding["kind"], "Secret");
    assert_eq!(regarding["name"], "liqo-nonce");
    assert_eq!(regarding["namespace"], ROME);
    assert_eq!(regarding["uid"], nonce["metadata"]["uid"]);

    milan.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": { "name": "rome", "namespace": ROME },
        "spec": { "clusterID": "rome" },
    }));
    until(|| {
        milan
            .all("events")
            .iter()
            .any(|it| it["reason"] == "Refused")
    })
    .await;
    let regarding = self::regarding(&milan, "Refused");
    assert_eq!(regarding["kind"], "Tenant");
    assert_eq!(regarding["name"], "rome");
    let mut tenant = milan.all("tenants").remove(0);
    assert_eq!(regarding["uid"], tenant["metadata"]["uid"]);

    // A notice: the Tenant alone lifts no condition.
    let rome = id("rome");
    let cordoned = handle.order_provider(&rome, |provider, view, _| {
        provider.set_condition(view, TenantCondition::Cordoned)
    });
    cordoned.await.unwrap();
    tenant["spec"]["tenantCondition"] = json!("Active");
    tenant["metadata"]["resourceVersion"].take();
    milan.replace(&tenant);
    until(|| {
        milan
            .all("events")
            .iter()
            .any(|it| it["reason"] == "Notice")
    })
    .await;
    let regarding = self::regarding(&milan, "Notice");
    assert_eq!(regarding["kind"], "Tenant");
    assert_eq!(regarding["uid"], tenant["metadata"]["uid"]);
}

/// What a peering awaits of an administrator.
#[tokio::test(start_paused = true)]
async fn a_tenant_that_waits_for_an_approval_is_told_with_the_command() {
    let clusters = Clusters::start_with(
        FakeApiServer::with_liqo("rome"),
        FakeApiServer::with_liqo("milan"),
        |builder| builder.publish_events(),
    )
    .await;
    let side = Provider::builder(
        clusters.cluster.id().clone(),
        clusters.endpoint.clone(),
        clusters.cluster.record_key(),
    );
    let side = side
        .principals(clusters.cluster.principals())
        .configure(|config| config.require_approval = true);
    clusters.provider.set_provider(side.build()).unwrap();
    clusters.provider.invite(&id("rome")).await.unwrap();
    let told = |event: &Value| event["reason"] == "Awaited";
    until(|| clusters.milan.all("events").iter().any(told)).await;
    let mut events = clusters.milan.all("events");
    events.retain(told);
    let [event] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(
        event["note"],
        "To approve the peer: liqo-auth approve tenant rome."
    );
    let tenant = clusters.milan.all("tenants").remove(0);
    assert_eq!(event["regarding"]["kind"], "Tenant");
    assert_eq!(event["regarding"]["uid"], tenant["metadata"]["uid"]);
}

/// Another endpoint, or another key, than the pinned one.
#[tokio::test(start_paused = true)]
async fn what_differs_from_a_pin_is_told_with_the_command_that_releases_it() {
    let clusters = Clusters::start_with(
        FakeApiServer::with_liqo("rome"),
        FakeApiServer::with_liqo("milan"),
        |builder| builder.publish_events(),
    )
    .await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    for (server, peer, plural, field, other) in [
        (
            &clusters.rome,
            "milan",
            "identities",
            "/spec/authParams/apiServer",
            json!("https://elsewhere.example:6443"),
        ),
        (
            &clusters.milan,
            "rome",
            "tenants",
            "/spec/publicKey",
            json!(another_key()),
        ),
    ] {
        let mut object = server.all(plural).remove(0);
        *object.pointer_mut(field).unwrap() = other;
        object["metadata"]["resourceVersion"].take();
        server.replace(&object);
        let command = format!("The command is liqo-auth release --remote-cluster-id {peer}.");
        let tells = |event: &Value| event["note"].as_str().unwrap().contains(&command);
        until(|| server.all("events").iter().any(tells)).await;
    }
}

/// A person may have made the slice, or the provider.
#[tokio::test(start_paused = true)]
async fn a_slice_that_the_provider_may_have_made_is_told_with_both_ways_out() {
    let rome = FakeApiServer::with_liqo("rome");
    put_slice_beside_a_tenant(&rome);
    let cluster = Cluster::open(rome.client()).await.unwrap();
    let builder = Controller::builder(&cluster).consumer(consumer_of(&cluster));
    let (controller, _handle) = builder.publish_events().build();
    let mut running = JoinSet::new();
    running.spawn(controller.run(pending()));
    let tells = |event: &Value| {
        let note = event["note"].as_str().unwrap();
        event["regarding"]["name"] == "mypool"
            && [
                "The command is liqo-auth create resourceslice mypool --remote-cluster-id milan, with",
                "The setting is signSlicesMadeByAnyone: true under milan in peers.",
            ]
            .iter()
            .all(|way_out| note.contains(way_out))
    };
    until(|| rome.all("events").iter().any(tells)).await;
}

/// The public key of another cluster with the same ID, as a Tenant has it.
fn another_key() -> String {
    let key = KeyPair::from_entropy(&Entropy::from_bytes([9; 32]));
    STANDARD.encode(key.public_key().to_tenant_field())
}

/// What an event with this reason regards.
fn regarding(server: &FakeApiServer, reason: &str) -> Value {
    let mut events = server.all("events");
    events.retain(|event| event["reason"] == reason);
    events.remove(0)["regarding"].take()
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..100 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("it does not hold within ten seconds");
}

const ROME: &str = "liqo-tenant-rome";

/// A provider that publishes events.
pub async fn provider(client: Client, running: &mut JoinSet<()>) -> Handle {
    let cluster = Cluster::open(client).await.unwrap();
    let endpoint = signer(&FakeApiServer::with_liqo("milan"), running);
    let side = Provider::builder(cluster.id().clone(), endpoint, cluster.record_key())
        .key(cluster.key())
        .principals(cluster.principals())
        .configure(|config| config.kubernetes_signer = true)
        .build();
    let (controller, handle) = Controller::builder(&cluster)
        .provider(side)
        .publish_events()
        .build();
    running.spawn(controller.run(pending()));
    handle
}
