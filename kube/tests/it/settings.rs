//! A running controller that is configured anew.

use std::time::Duration;

use liqo_auth::provider::{Endpoint, Provider};
use liqo_auth_kube::{Cluster, Controller, Error};
use tokio::task::JoinSet;

use crate::{
    clusters::{Clusters, id, signer},
    fake::FakeApiServer,
};

fn provider(cluster: &Cluster, endpoint: &Endpoint) -> Provider {
    Provider::builder(cluster.id().clone(), endpoint.clone(), cluster.record_key())
        .key(cluster.key())
        .principals(cluster.principals())
        .configure(|config| config.kubernetes_signer = true)
        .build()
}

#[tokio::test(start_paused = true)]
async fn new_settings_count_at_once() {
    let clusters = Clusters::start().await;
    let mut running = JoinSet::new();
    let turin = FakeApiServer::with_liqo("turin");
    let endpoint = signer(&turin, &mut running);
    let cluster = Cluster::open(turin.client()).await.unwrap();
    let (controller, handle) = Controller::builder(&cluster)
        .provider(provider(&cluster, &endpoint))
        .build();
    running.spawn(controller.run(std::future::pending()));
    assert!(handle.has_provider() && !handle.has_consumer());
    let invitation = handle.invite(&id("rome")).await.unwrap();
    let nonce = invitation.outbox.into_iter().next().unwrap();
    let signed = clusters.consumer.receive(nonce).await.unwrap();
    let tenant = signed.outbox.into_iter().next().unwrap();
    handle.receive(tenant).await.unwrap();
    until(|| api_server(&turin) == "https://api.milan.example:6443").await;

    // No object changes: the settings alone are the reason.
    let moved = Endpoint::new("https://moved.example:6443".parse().unwrap(), None);
    handle.set_provider(provider(&cluster, &moved)).unwrap();
    until(|| api_server(&turin) == "https://moved.example:6443").await;
}

/// The URL that the peer is told.
fn api_server(cluster: &FakeApiServer) -> String {
    let tenants = cluster.all("tenants");
    let url = tenants
        .first()
        .map(|tenant| &tenant["status"]["authParams"]["apiServer"]);
    url.and_then(|url| url.as_str())
        .unwrap_or_default()
        .to_owned()
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..300 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within three seconds");
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_watches_other_objects_is_refused() {
    let clusters = Clusters::start().await;
    let cluster = Cluster::open(clusters.milan.client()).await.unwrap();
    let api_server = "https://api.milan.example:6443".parse().unwrap();
    let endpoint = Endpoint::new(api_server, None);
    let other = Provider::builder(cluster.id().clone(), endpoint, cluster.record_key())
        .key(cluster.key())
        .principals(cluster.principals())
        .configure(|config| config.namespace = Some("elsewhere".parse().unwrap()))
        .build();
    let error = clusters.provider.set_provider(other.clone()).unwrap_err();
    assert!(matches!(error, Error::OtherWatches), "{error}");
    let error = clusters.consumer.set_provider(other).unwrap_err();
    assert!(matches!(error, Error::NoSuchSide("provider's")), "{error}");
}
