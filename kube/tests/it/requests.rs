//! How many requests the controllers make. A change that makes more has to say why.

use std::collections::BTreeMap;

use liqo_auth::crypto::Algorithm;
use liqo_auth_kube::Cluster;

use crate::{
    clusters::{Clusters, id},
    fake::FakeApiServer,
};

#[tokio::test(start_paused = true)]
async fn a_tool_opens_a_cluster_by_two_lists() {
    let server = FakeApiServer::with_liqo("milan");
    let client = server.client();
    let opened = Cluster::open_with_objects(client, "liqo", |_| Ok(Algorithm::Ed25519));
    opened.await.unwrap();
    // The two keys are made once.
    assert_eq!(by_method(&server.requests()), [("GET", 2), ("POST", 2)]);
    let before = server.requests().len();
    let client = server.client();
    Cluster::existing_with_objects(client, "liqo")
        .await
        .unwrap();
    let again = server.requests().split_off(before);
    assert_eq!(by_method(&again), [("GET", 2)]);
}

#[tokio::test(start_paused = true)]
async fn an_exchange_takes_twenty_two_requests() {
    let clusters = Clusters::start().await;
    clusters.settled().await;
    let (rome, milan) = (&clusters.rome, &clusters.milan);
    let before = (rome.requests().len(), milan.requests().len());
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    clusters.settled().await;
    let at_rome = rome.requests().split_off(before.0);
    let at_milan = milan.requests().split_off(before.1);
    let counted = by_method(&at_rome);
    assert_eq!(
        counted,
        // Whether there is a key for the provider alone is asked once.
        [("GET", 1), ("PATCH", 1), ("POST", 6), ("PUT", 1)],
        "{at_rome:#?}"
    );
    let counted = by_method(&at_milan);
    assert_eq!(
        counted,
        [("PATCH", 3), ("POST", 8), ("PUT", 2)],
        "{at_milan:#?}"
    );

    // Without a change, there is no request but for the watches that are open.
    clusters.settled().await;
    assert_eq!(rome.requests().len(), before.0 + at_rome.len());
    assert_eq!(milan.requests().len(), before.1 + at_milan.len());
}

/// The number of requests of each method.
fn by_method(requests: &[String]) -> Vec<(&str, usize)> {
    let mut counts = BTreeMap::new();
    for request in requests {
        let (method, _) = request.split_once(' ').unwrap();
        *counts.entry(method).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}
