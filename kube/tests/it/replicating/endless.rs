//! A provider whose answers have no end.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Method, Request, Response};
use kube::{Client, client::Body};
use liqo_auth::{
    consumer::SliceOptions,
    crypto::{Entropy, Nonce},
    machine::Message,
};
use liqo_auth_kube::ControllerBuilder;
use serde_json::json;
use tower::service_fn;

use super::{Replicator, accepted, as_rome, authenticated_in_memory};
use crate::{
    clusters::{id, names},
    fake::FakeApiServer,
    life::until,
};

/// Nothing of such a list is an event, so that nothing bounds its requests but their number.
#[tokio::test(start_paused = true)]
async fn a_list_of_empty_pages_without_an_end_is_given_up() {
    let clusters = authenticated_in_memory().await;
    let endless = Endless::new("limit=", |number| {
        json!({
            "apiVersion": "authentication.liqo.io/v1beta1",
            "kind": "ResourceSliceList",
            "metadata": { "resourceVersion": "1", "continue": number.to_string() },
            "items": [],
        })
        .to_string()
    });
    let at_milan = endless.on(&as_rome(&clusters.milan));
    let at_rome = clusters.rome.client();
    let replicator =
        Replicator::start_at(at_rome, at_milan, ControllerBuilder::publish_events).await;
    let notes = || {
        let events = clusters.rome.all("events");
        let events = events
            .into_iter()
            .filter(|event| event["reason"] == "NotReplicated");
        let notes: Vec<String> = events.map(|event| event["note"].to_string()).collect();
        notes
    };
    until("the list is given up", async || !notes().is_empty()).await;
    let asked = endless.asked();
    assert!((65..=2 * 65).contains(&asked), "{asked} pages");
    let note = notes().remove(0);
    for part in [
        "kubeconfig-controlplane-milan",
        "resourceslices in liqo-tenant-rome",
        "more than 64 pages without an object",
    ] {
        assert!(note.contains(part), "{note}");
    }

    // Another peer is served meanwhile.
    let nonce = Nonce::random(&Entropy::from_bytes([7; 32]));
    let message = Message::new(&id("turin"), &id("rome"), nonce);
    replicator.handle.receive(message).await.unwrap();
    until("the nonce of another provider is signed", async || {
        let secrets = clusters.rome.all("secrets");
        secrets.iter().any(|secret| {
            secret["metadata"]["namespace"] == "liqo-tenant-turin"
                && secret["data"]["signedNonce"].is_string()
        })
    })
    .await;
    // It is tried again, after pauses that grow.
    tokio::time::sleep(Duration::from_secs(600)).await;
    let lists = endless.asked() / 65;
    assert!((10..=60).contains(&lists), "{lists} lists");

    // What has come to an end is taken.
    endless.stop();
    // The longest pause is over.
    tokio::time::sleep(Duration::from_secs(120)).await;
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
}

/// An API server may give fewer objects than were asked for.
#[tokio::test(start_paused = true)]
async fn a_list_of_many_pages_with_an_object_is_taken() {
    let clusters = authenticated_in_memory().await;
    let pages = Endless::new("limit=", |number| {
        let next = match number < 200 {
            true => "next",
            false => "",
        };
        json!({
            "apiVersion": "authentication.liqo.io/v1beta1",
            "kind": "ResourceSliceList",
            "metadata": { "resourceVersion": "1", "continue": next },
            "items": [{ "metadata": { "name": format!("s{number}"), "namespace": "elsewhere" } }],
        })
        .to_string()
    });
    let replicator = Replicator::start(&clusters, pages.on(&as_rome(&clusters.milan))).await;
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    assert_eq!(pages.asked(), 201);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_ends_each_watch_at_once_is_asked_once_a_second() {
    let clusters = authenticated_in_memory().await;
    let endless = Endless::new("watch=", |_| String::new());
    let _replicator = Replicator::start(&clusters, endless.on(&as_rome(&clusters.milan))).await;
    until("the Renew has a replica", async || {
        names(&clusters.milan, "renews") == ["controlplane-milan"]
    })
    .await;
    let before = endless.asked();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let asked = endless.asked() - before;
    assert!((15..=21).contains(&asked), "{asked} watches");
}

/// Answers to the requests for slices whose query contains a text.
#[derive(Clone)]
struct Endless {
    query: &'static str,
    answer: fn(usize) -> String,
    asked: Arc<AtomicUsize>,
    is_over: Arc<AtomicUsize>,
}

impl Endless {
    fn new(query: &'static str, answer: fn(usize) -> String) -> Self {
        Self {
            query,
            answer,
            asked: Arc::default(),
            is_over: Arc::default(),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.is_over.store(1, Ordering::Relaxed);
    }

    /// A client of the server that answers so.
    fn on(&self, server: &FakeApiServer) -> Client {
        let (server, endless) = (server.client(), self.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (server, endless) = (server.clone(), endless.clone());
            async move {
                let query = request.uri().query().unwrap_or_default();
                let is_endless = endless.is_over.load(Ordering::Relaxed) == 0
                    && request.method() == Method::GET
                    && request.uri().path().ends_with("/resourceslices")
                    && query.contains(endless.query);
                if !is_endless {
                    return server.send(request).await;
                }
                let number = endless.asked.fetch_add(1, Ordering::Relaxed);
                if number >= MOST {
                    // The virtual clock stands still while something asks without a pause.
                    pending::<()>().await;
                }
                Ok(Response::new((endless.answer)(number).into_bytes().into()))
            }
        });
        Client::new(service, "default")
    }
}

const MOST: usize = 10_000;
