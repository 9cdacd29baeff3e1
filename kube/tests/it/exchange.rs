//! Whole exchanges between two controllers.

use liqo_auth_kube::Error;

use crate::{
    clusters::{Clusters, id, names},
    fake::FakeApiServer,
    life::Life,
};

#[tokio::test(start_paused = true)]
async fn a_life_in_memory() {
    let clusters = Clusters::start().await;
    let life = Life {
        consumer: &clusters.consumer,
        provider: &clusters.provider,
        rome: &clusters.rome.client(),
        milan: &clusters.milan.client(),
    };
    life.begin().await;
    life.lose_a_binding().await;
    life.end().await;
    life.begin().await;
}

#[tokio::test(start_paused = true)]
async fn a_settled_peering_makes_no_requests() {
    let clusters = Clusters::start().await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    clusters.settled().await;
    let counts = clusters.provider.counts();
    // The nonce and the Identity.
    assert_eq!(counts.deliveries, 2, "{counts:?}");
    assert_eq!((counts.failures, counts.conflicts), (0, 0), "{counts:?}");
    let looks = counts.looks;
    clusters.settled().await;
    assert_eq!(clusters.provider.counts().looks, looks);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_let_in_without_an_invitation() {
    let clusters = Clusters::start().await;
    clusters.settled().await;
    assert!(names(&clusters.milan, "tenants").is_empty());
    assert!(names(&clusters.milan, "certificatesigningrequests").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_of_a_release_candidate_of_liqo_1_0_has_no_renews() {
    let clusters = Clusters::start_on(
        FakeApiServer::with_liqo("rome").without_resource("renews"),
        FakeApiServer::with_liqo("milan").without_resource("renews"),
    )
    .await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
}

#[tokio::test(start_paused = true)]
async fn an_order_for_a_side_that_does_not_run_is_refused() {
    let clusters = Clusters::start().await;
    let error = clusters.consumer.invite(&id("milan")).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchSide("provider's")), "{error}");
    let error = clusters.provider.invite(&id("milan")).await.unwrap_err();
    assert!(matches!(error, Error::Library(_)), "{error}");
}
