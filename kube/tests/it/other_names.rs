//! A Tenant that a person has applied under another name than the peer's ID, and labels that
//! somebody changes.

use std::sync::Arc;

use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{Entropy, KeyPair, Nonce, OneKey},
    machine::{Env, Message, MessageBody, Objects, Stage},
    model::Object,
    policy::Policy,
};
use liqo_auth_kube::Handle;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    clusters::{Clusters, id, name, names, provider_alone},
    fake::FakeApiServer,
    life::until,
};

/// A provider with the consumer rome, whose Tenant is `my-tenant`.
struct Milan {
    server: FakeApiServer,
    handle: Handle,
    _running: JoinSet<()>,
}

impl Milan {
    async fn start() -> Self {
        let milan = Self::invites().await;
        milan.applies().await;
        milan
    }

    async fn invites() -> Self {
        let server = FakeApiServer::with_liqo("milan");
        let (handle, running) = provider_alone(&server, |builder| builder).await;
        let milan = Self {
            server,
            handle,
            _running: running,
        };
        milan.handle.invite(&id("rome")).await.unwrap();
        until("there is a nonce", async || milan.nonce().is_some()).await;
        milan
    }

    async fn applies(&self) {
        let mut tenant = self.tenant();
        tenant["metadata"]["name"] = "my-tenant".into();
        tenant["metadata"]["namespace"] = NAMESPACE.into();
        self.server.put(tenant);
        self.authenticates().await;
    }

    async fn authenticates(&self) {
        until("rome has authenticated", async || {
            let statuses = self.handle.status(&id("rome")).unwrap();
            statuses[0].control_plane.stage == Stage::Authenticated
        })
        .await;
    }

    fn nonce(&self) -> Option<Nonce> {
        let secrets = self.server.all("secrets").into_iter();
        let found = secrets.map(Object::from_value).find_map(|it| match it {
            Object::Secret(secret) if secret.metadata.name == "liqo-nonce" => Some(secret),
            _ => None,
        });
        Nonce::parse(found?.get("nonce")?, &Policy::strict()).ok()
    }

    /// The Tenant that rome makes for the nonce.
    fn tenant(&self) -> Value {
        let entropy = Entropy::from_bytes([3; 32]);
        let keys = OneKey(Arc::new(KeyPair::from_entropy(&entropy)));
        let rome = Consumer::new(ConsumerConfig::new(id("rome")), Arc::new(keys));
        let message = Message::new(&id("milan"), &id("rome"), self.nonce().unwrap());
        let env = Env {
            now: liqo_auth_kube::Clock::default().now().unwrap(),
            entropy: Entropy::from_bytes([4; 32]),
        };
        let objects = Objects::new(&entropy);
        let view = objects.view(&id("milan"));
        let step = rome.receive(&view, message, env).unwrap();
        match &step.outbox[0].body {
            MessageBody::Tenant(tenant) => Object::from((**tenant).clone()).to_value(),
            other => panic!("{other:?}"),
        }
    }

    fn found(&self, wanted: &str) -> Option<Value> {
        let tenants = self.server.all("tenants").into_iter();
        tenants.into_iter().find(|tenant| name(tenant) == wanted)
    }

    fn deletions(&self) -> usize {
        let requests = self.server.requests();
        let is_deletion = |line: &&String| line.starts_with("DELETE ");
        requests.iter().filter(is_deletion).count()
    }
}

/// A Tenant as a peer can write it in its tenant namespace.
fn planted(name: &str) -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": { "liqo.io/remote-cluster-id": "rome" },
        },
        "spec": { "clusterID": "rome", "tenantCondition": "Drained" },
    })
}

/// The controller asks the API server for the Tenant that is on record, and for no other one.
#[tokio::test(start_paused = true)]
async fn a_tenant_of_another_name_that_a_watch_shows_late_is_not_taken_for_gone() {
    let milan = Milan::invites().await;
    let late = milan.server.administrator();
    let late = late.with_late_watches(&["tenants"]);
    let (_handle, _running) = provider_alone(&late, |builder| builder).await;
    milan.applies().await;
    assert!(milan.found("rome").is_none());
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(milan.deletions(), 0);
    let requests = milan.server.requests();
    let asked = |line: &&String| line.contains("/tenants?") && line.contains("my-tenant");
    assert!(requests.iter().any(|line| asked(&line)), "{requests:#?}");
    assert_eq!(names(&milan.server, "clusterrolebindings").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_tenant_changes_nothing_and_the_first_ones_end_counts() {
    let milan = Milan::start().await;
    for name in ["another", "rome"] {
        milan.server.put(planted(name));
    }
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    milan.authenticates().await;
    assert_eq!(milan.deletions(), 0);
    for name in ["another", "rome"] {
        let planted = milan.found(name).unwrap();
        assert_eq!(planted["metadata"]["finalizers"], Value::Null, "{name}");
        milan.server.delete(&planted);
        assert!(milan.found(name).is_none());
    }
    milan.server.put(planted("another"));
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(milan.deletions(), 0);

    milan.server.delete(&milan.found("my-tenant").unwrap());
    until("the Tenant is gone", async || {
        milan.found("my-tenant").is_none()
    })
    .await;
    assert_eq!(names(&milan.server, "clusterrolebindings"), [""; 0]);
    assert!(milan.found("another").is_some());
}

/// The controllers watch all Tenants and Identities, whatever their labels say.
#[tokio::test(start_paused = true)]
async fn the_labels_of_tenants_and_identities_come_back() {
    let clusters = Clusters::start().await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    clusters.settled().await;
    for (server, plural, peer) in [
        (&clusters.milan, "tenants", "rome"),
        (&clusters.rome, "identities", "milan"),
    ] {
        for label in [Value::Null, "turin".into()] {
            let mut object = server.all(plural)[0].clone();
            object["metadata"]["labels"]["liqo.io/remote-cluster-id"] = label.clone();
            let labels = object["metadata"]["labels"].as_object_mut().unwrap();
            labels.retain(|_, value| !value.is_null());
            server.replace(&object);
            until("the label is back", async || {
                let labels = &server.all(plural)[0]["metadata"]["labels"];
                labels["liqo.io/remote-cluster-id"] == peer
            })
            .await;
        }
    }
    clusters.authenticated().await;
}

/// No controller may label a Namespace: its rights on Secrets follow from these labels.
#[tokio::test(start_paused = true)]
async fn the_labels_of_a_namespace_are_a_persons() {
    let clusters = Clusters::start().await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    clusters.settled().await;
    for label in ["liqo.io/tenant-namespace", "liqo.io/remote-cluster-id"] {
        let namespaces = clusters.milan.all("namespaces").into_iter();
        let mut namespaces = namespaces.filter(|it| name(it) == NAMESPACE);
        let whole = namespaces.next().unwrap();
        let mut object = whole.clone();
        let labels = object["metadata"]["labels"].as_object_mut().unwrap();
        assert!(labels.remove(label).is_some());
        clusters.milan.replace(&object);
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let requests = clusters.milan.requests();
        let is_write =
            |it: &&String| it.starts_with("PATCH /api/v1/namespaces/") || it.starts_with("DELETE");
        let writes: Vec<&String> = requests.iter().filter(is_write).collect();
        assert!(writes.is_empty(), "{label}: {writes:?}");
        assert_eq!(names(&clusters.milan, "clusterrolebindings").len(), 1);
        // When the person has put it back, everything goes on.
        let mut object = clusters.milan.all("namespaces").into_iter();
        let mut object = object.find(|it| name(it) == NAMESPACE).unwrap();
        object["metadata"]["labels"] = whole["metadata"]["labels"].clone();
        clusters.milan.replace(&object);
        clusters.settled().await;
        clusters.authenticated().await;
    }
}

const NAMESPACE: &str = "liqo-tenant-rome";
