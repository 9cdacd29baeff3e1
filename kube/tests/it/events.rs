//! Kubernetes events for the administrator.

use futures::future::pending;
use kube::Client;
use liqo_auth::Provider;
use liqo_auth_kube::{Cluster, Controller, Handle};
use tokio::task::JoinSet;

use crate::{
    clusters::{id, signer},
    fake::FakeApiServer,
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
