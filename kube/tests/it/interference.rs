//! Other writers, and watches that end.

use std::{sync::Arc, time::Duration};

use futures::future::pending;
use liqo_auth::{
    consumer::{Consumer, ConsumerConfig},
    crypto::OneKey,
};
use liqo_auth_kube::{Cluster, Controller, Error, Handle};
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    clusters::{Clusters, id, names},
    fake::FakeApiServer,
};

#[tokio::test(start_paused = true)]
async fn two_controllers_of_one_provider_make_one_request_and_one_certificate() {
    let mut clusters = Clusters::start().await;
    let other = clusters.another_provider().await;
    let peer = id("rome");
    let (first, second) = futures::join!(clusters.provider.invite(&peer), other.invite(&peer));
    first.unwrap();
    second.unwrap();
    clusters.authenticated().await;
    clusters.settled().await;
    assert_eq!(
        names(&clusters.milan, "certificatesigningrequests").len(),
        1
    );
    let created = clusters.milan.requests();
    let requests = created
        .iter()
        .filter(|line| *line == "POST /apis/certificates.k8s.io/v1/certificatesigningrequests");
    assert!(requests.count() <= 2);
}

/// Each kind has a watch of its own. So a controller may see the proof and the bindings that
/// another one wrote before it sees the Tenant that they are about.
#[tokio::test(start_paused = true)]
async fn a_tenant_that_a_watch_shows_late_is_not_taken_for_gone() {
    let mut clusters = Clusters::start().await;
    let late = clusters
        .milan
        .administrator()
        .with_late_watches(&["tenants"]);
    clusters.another_provider_on(late.client()).await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    clusters.settled().await;
    let requests = clusters.milan.requests();
    let deletions: Vec<&String> = requests
        .iter()
        .filter(|line| line.starts_with("DELETE "))
        .collect();
    assert!(deletions.is_empty(), "{deletions:?}");
    let asked = |line: &&String| line.contains("/tenants?") && line.contains("metadata.name");
    assert!(requests.iter().any(|line| asked(&line)), "it has not asked");
    assert_eq!(names(&clusters.milan, "clusterrolebindings").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_exchange_goes_on_when_all_watches_end() {
    let clusters = Clusters::start().await;
    clusters.milan.drop_watches();
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.rome.drop_watches();
    clusters.authenticated().await;
}

#[tokio::test(start_paused = true)]
async fn an_exchange_goes_on_when_writes_are_refused_for_a_while() {
    for (code, reason) in [
        (409, "Conflict"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
    ] {
        let clusters = Clusters::start().await;
        clusters.settled().await;
        let before = clusters.milan.requests().len();
        clusters.provider.invite(&id("rome")).await.unwrap();
        clusters.milan.refuse_writes(2, code, reason);
        clusters.rome.refuse_writes(2, code, reason);
        clusters.authenticated().await;
        clusters.settled().await;
        let requests = clusters.milan.requests().split_off(before);
        let certificates = names(&clusters.milan, "certificatesigningrequests");
        assert_eq!(certificates.len(), 1, "{code}: {requests:#?}");
        assert_eq!(names(&clusters.milan, "rolebindings").len(), 1, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_without_the_labels_is_met_by_name_only() {
    let clusters = Clusters::start().await;
    clusters.milan.put(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "foreign", "namespace": "liqo" },
        "data": { "password": "Zm9yZWlnbg==" },
    }));
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    let requests = clusters.milan.requests();
    let unselected = requests.iter().filter(|line| {
        line.starts_with("GET") && line.contains("/secrets?") && !line.contains("labelSelector")
    });
    assert_eq!(unselected.count(), 0);
    assert!(!requests.iter().any(|line| line.contains("foreign")));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_controller_takes_no_orders() {
    let server = FakeApiServer::with_liqo("milan");
    let (controller, handle) = consumer_of(&server).await;
    let (stop, stopped) = futures::channel::oneshot::channel::<()>();
    let running = tokio::spawn(controller.run(async move {
        let _ = stopped.await;
    }));
    handle.synchronized().await;
    handle.unauthenticate(&id("rome")).await.unwrap();
    drop(stop);
    running.await.unwrap();
    let error = handle.unauthenticate(&id("rome")).await.unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_order_waits_until_the_controller_runs_and_has_listed_all_objects() {
    let server = FakeApiServer::with_liqo("milan").without_group(LIQO_GROUP);
    let (controller, handle) = consumer_of(&server).await;
    let ordered = handle.clone();
    let order = tokio::spawn(async move { ordered.unauthenticate(&id("rome")).await });
    sleep(Duration::from_millis(50)).await;
    let mut running = JoinSet::new();
    running.spawn(controller.run(pending()));
    // Without Liqo's API group, nothing is known of the peers.
    sleep(Duration::from_millis(300)).await;
    assert!(!order.is_finished());
    assert!(matches!(
        handle.status(&id("rome")),
        Err(Error::NotSynchronized)
    ));
    server.serve_all();
    order.await.unwrap().unwrap();
    handle.synchronized().await;
}

#[tokio::test(start_paused = true)]
async fn an_order_that_waits_ends_with_its_controller() {
    let server = FakeApiServer::with_liqo("milan").without_group(LIQO_GROUP);
    let (controller, handle) = consumer_of(&server).await;
    let order = tokio::spawn(async move { handle.unauthenticate(&id("rome")).await });
    let stop = sleep(Duration::from_millis(100));
    controller.run(stop).await;
    let error = order.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
}

async fn consumer_of(server: &FakeApiServer) -> (Controller, Handle) {
    let cluster = Cluster::open(server.client()).await.unwrap();
    let config = ConsumerConfig::new(cluster.id().clone());
    let consumer = Consumer::new(config, Arc::new(OneKey(cluster.key())));
    Controller::builder(&cluster).consumer(consumer).build()
}

const LIQO_GROUP: &str = "authentication.liqo.io/v1beta1";
