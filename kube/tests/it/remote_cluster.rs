//! The peer's API server as the way to the peer.

mod deliveries;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::pending;
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use liqo_auth::{
    Consumer, Provider,
    consumer::ConsumerConfig,
    crypto::{Entropy, Nonce, OneKey},
    machine::{Message, Stage},
    model::{Identity, Metadata, Tenant, TenantSpec},
    provider::Endpoint,
};
use liqo_auth_kube::{Cluster, Controller, Error, Handle, RemoteCluster, Transport};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::timeout};
use tower::service_fn;

use crate::{
    clusters::{id, names, signer},
    fake::FakeApiServer,
    life::until,
};

#[tokio::test(start_paused = true)]
async fn a_consumer_authenticates_by_its_providers_api_server() {
    let rome = FakeApiServer::with_liqo("rome");
    let milan = FakeApiServer::with_liqo("milan");
    let mut running = JoinSet::new();
    let endpoint = signer(&milan, &mut running);
    provider(&milan, endpoint, &mut running).await;
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    let consumer = consumer(&rome, &remote, &mut running).await;

    remote.authenticate(&consumer, MINUTE).await.unwrap();
    authenticated(&consumer).await;
    // The provider's proof is not lost on the way.
    let identity = &rome.all("identities")[0];
    let annotations = &identity["metadata"]["annotations"];
    assert!(
        annotations["liqo-auth/commitment"].is_string(),
        "{identity}"
    );

    let before = (milan.all("tenants"), rome.all("identities"));
    remote.authenticate(&consumer, MINUTE).await.unwrap();
    assert_eq!((milan.all("tenants"), rome.all("identities")), before);
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_the_provider_has_deleted_is_written_again() {
    let rome = FakeApiServer::with_liqo("rome");
    let milan = FakeApiServer::with_liqo("milan");
    let mut running = JoinSet::new();
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    let consumer = consumer(&rome, &remote, &mut running).await;
    offer_nonce(&milan);
    let soon = Duration::from_millis(200);
    for _ in 0..2 {
        let error = remote.authenticate(&consumer, soon).await.unwrap_err();
        assert!(matches!(error, Error::Unanswered { .. }), "{error}");
        milan.delete(&milan.all("tenants")[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_is_being_deleted_is_no_answer_and_takes_no_message() {
    let rome = FakeApiServer::with_liqo("rome");
    let milan = FakeApiServer::with_liqo("milan");
    let mut running = JoinSet::new();
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    let consumer = consumer(&rome, &remote, &mut running).await;
    offer_nonce(&milan);
    milan.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": "rome",
            "namespace": "liqo-tenant-rome",
            "finalizers": ["tenant.liqo.io/finalizer"],
        },
        "spec": {},
    }));
    milan.delete(&milan.all("tenants")[0]);
    let before = milan.all("tenants");
    let error = remote.authenticate(&consumer, MINUTE).await.unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    assert_eq!(milan.all("tenants"), before);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_does_not_answer_is_waited_for_in_vain() {
    let rome = FakeApiServer::with_liqo("rome");
    let milan = FakeApiServer::with_liqo("milan");
    let mut running = JoinSet::new();
    let client = with_at_most(100, &milan);
    let remote = RemoteCluster::new(client, id("milan"), id("rome"));
    let consumer = consumer(&rome, &remote, &mut running).await;
    let soon = Duration::from_millis(200);
    let error = remote.authenticate(&consumer, soon).await.unwrap_err();
    let Error::Unanswered {
        message: "nonce",
        source: None,
        ..
    } = error
    else {
        panic!("{error}");
    };
    let asked = &milan.all("secrets")[0];
    assert_eq!(asked["metadata"]["name"], "liqo-nonce");
    assert_eq!(asked["metadata"]["labels"]["liqo.io/nonce"], "true");
    assert_eq!(
        asked["metadata"]["labels"]["liqo.io/remote-cluster-id"],
        "rome"
    );
    assert_eq!(asked.get("data"), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_the_consumer_refuses_is_named() {
    let rome = FakeApiServer::with_liqo("rome");
    let milan = FakeApiServer::with_liqo("milan");
    let mut running = JoinSet::new();
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    let consumer = consumer(&rome, &remote, &mut running).await;
    offer_nonce(&milan);
    milan.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": { "name": "rome", "namespace": "liqo-tenant-rome" },
        "spec": {},
    }));
    let status = json!({ "tenantNamespace": "liqo-tenant-rome", "authParams": {} });
    milan
        .patch_status(&milan.all("tenants")[0], status)
        .unwrap();
    let soon = Duration::from_millis(500);
    let error = remote.authenticate(&consumer, soon).await.unwrap_err();
    let Error::Unanswered {
        message: "Identity",
        source: Some(refusal),
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert!(matches!(*refusal, Error::Library(_)), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn a_program_without_a_controller_finds_the_peer_and_takes_the_steps() {
    let milan = FakeApiServer::with_liqo("milan");
    let find = |client, namespace| RemoteCluster::find(client, namespace, id("rome"));
    let remote = find(milan.client(), "liqo").await.unwrap();
    assert_eq!(remote.peer(), &id("milan"));
    let error = find(milan.client(), "nowhere").await.unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    let without_rights = milan.administrator().with_rights(Vec::new());
    let error = find(without_rights.client(), "liqo").await.unwrap_err();
    assert!(error.is_forbidden(), "{error}");

    // Who looks writes nothing.
    assert!(remote.nonce().await.unwrap().is_none());
    assert!(remote.identity().await.unwrap().is_none());
    assert!(!remote.has_tenant().await.unwrap());
    assert!(!remote.end().await.unwrap());
    assert_eq!(writes(&milan), 0);

    // The namespace and the Secret are made once.
    remote.ask_for_nonce().await.unwrap();
    assert_eq!(writes(&milan), 2);
    remote.ask_for_nonce().await.unwrap();
    assert_eq!(writes(&milan), 2);

    milan.deny_writes(1, "no");
    let error = remote.send(&to_milan(empty_tenant())).await.unwrap_err();
    assert!(error.is_forbidden(), "{error}");
    remote.send(&to_milan(empty_tenant())).await.unwrap();
    assert!(remote.has_tenant().await.unwrap());
    assert!(remote.end().await.unwrap());
    assert!(names(&milan, "tenants").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_is_deleted_may_wait_for_its_finalizers() {
    let milan = FakeApiServer::with_liqo("milan");
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    milan.put(tenant_namespace("liqo-tenant-rome"));
    milan.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": "rome",
            "namespace": "liqo-tenant-rome",
            "finalizers": ["tenant.liqo.io/finalizer"],
        },
        "spec": {},
    }));
    assert!(remote.end().await.unwrap());
    let deleted = milan.all("tenants");
    assert!(deleted[0]["metadata"]["deletionTimestamp"].is_string());
    assert!(remote.has_tenant().await.unwrap());
    assert!(remote.end().await.unwrap());
    assert_eq!(milan.all("tenants"), deleted);
}

#[tokio::test(start_paused = true)]
async fn a_wait_may_be_without_end() {
    let rome = FakeApiServer::with_liqo("rome");
    let milan = FakeApiServer::with_liqo("milan");
    let mut running = JoinSet::new();
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    let consumer = consumer(&rome, &remote, &mut running).await;
    let waiting = remote.authenticate(&consumer, Duration::MAX);
    let waited = timeout(Duration::from_millis(300), waiting).await;
    assert!(waited.is_err(), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_for_another_cluster_is_not_written() {
    let milan = FakeApiServer::with_liqo("milan");
    let remote = RemoteCluster::new(milan.client(), id("turin"), id("rome"));
    remote.deliver(&to_milan(nonce(1))).await.unwrap_err();
    assert!(names(&milan, "secrets").is_empty());
}

async fn provider(milan: &FakeApiServer, endpoint: Endpoint, running: &mut JoinSet<()>) {
    let cluster = Cluster::open(milan.client()).await.unwrap();
    let side = Provider::builder(cluster.id().clone(), endpoint, cluster.record_key())
        .key(cluster.key())
        .principals(cluster.principals())
        .configure(|config| config.kubernetes_signer = true)
        .build();
    let (controller, _) = Controller::builder(&cluster).provider(side).build();
    running.spawn(controller.run(pending()));
}

async fn consumer(
    rome: &FakeApiServer,
    provider: &RemoteCluster,
    running: &mut JoinSet<()>,
) -> Handle {
    let cluster = Cluster::open(rome.client()).await.unwrap();
    let config = ConsumerConfig::new(cluster.id().clone());
    let side = Consumer::new(config, Arc::new(OneKey(cluster.key())));
    let (controller, handle) = Controller::builder(&cluster)
        .consumer(side)
        .transport(provider.clone())
        .build();
    running.spawn(controller.run(pending()));
    handle
}

/// The number of requests so far that write.
fn writes(server: &FakeApiServer) -> usize {
    let mut requests = server.requests();
    requests.retain(|request| !request.starts_with("GET "));
    requests.len()
}

async fn authenticated(consumer: &Handle) {
    until("the consumer is authenticated", async || {
        let status = consumer.status(&id("milan")).unwrap().remove(0);
        status.control_plane.stage == Stage::Authenticated
    })
    .await;
}

/// A nonce of milan for rome, as Liqo makes it.
fn offer_nonce(milan: &FakeApiServer) {
    milan.put(tenant_namespace("liqo-tenant-rome"));
    milan.put(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "liqo-nonce", "namespace": "liqo-tenant-rome" },
        "data": { "nonce": encoded(nonce(1).as_str()) },
    }));
}

/// A namespace of milan for rome.
pub fn tenant_namespace(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {
                "liqo.io/remote-cluster-id": "rome",
                "liqo.io/tenant-namespace": "true",
            },
        },
    })
}

/// A client that may not list objects.
fn without_lists(server: &FakeApiServer) -> Client {
    let server = server.client();
    let refusing = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move {
            if request
                .uri()
                .query()
                .is_some_and(|query| query.contains("labelSelector"))
            {
                let refusal = json!({
                    "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403,
                });
                let refusal = Body::from(refusal.to_string().into_bytes());
                return Ok(Response::builder().status(403).body(refusal).unwrap());
            }
            server.send(request).await
        }
    });
    Client::new(refusing, "default")
}

/// A client that gets at most this many answers. The virtual clock stands still while something
/// asks again and again without a pause, so that a limit of time would not end it.
fn with_at_most(requests: usize, server: &FakeApiServer) -> Client {
    let (server, made) = (server.client(), Arc::new(AtomicUsize::new(0)));
    let counting = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        let is_answered = made.fetch_add(1, Ordering::Relaxed) < requests;
        async move {
            match is_answered {
                true => server.send(request).await,
                false => Err(kube::Error::Service("there are too many requests".into())),
            }
        }
    });
    Client::new(counting, "default")
}

pub fn to_milan(body: impl Into<liqo_auth::machine::MessageBody>) -> Message {
    Message::new(&id("rome"), &id("milan"), body)
}

/// A Tenant of rome without content.
pub fn empty_tenant() -> Tenant {
    Tenant {
        metadata: named("rome"),
        ..Tenant::default()
    }
}

fn nonce(seed: u8) -> Nonce {
    Nonce::random(&Entropy::from_bytes([seed; 32]))
}

fn named(name: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        ..Metadata::default()
    }
}

fn encoded(text: &str) -> Value {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(text).into()
}

const MINUTE: Duration = Duration::from_secs(60);
