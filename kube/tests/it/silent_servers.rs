//! API servers that do not answer, and watches that end at once.

use std::time::Duration;

use futures::future::{join_all, pending};
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use liqo_auth::model::{CertificateSigningRequest, Metadata, Object};
use liqo_auth_kube::{Cluster, Error, RemoteCluster, Transport, answered};
use serde_json::json;
use tokio::{task::JoinSet, time::timeout};
use tower::service_fn;

use crate::{
    clusters::id,
    events::provider,
    fake::FakeApiServer,
    remote_cluster::{empty_tenant, tenant_namespace, to_milan},
};

/// Otherwise a controller could not stop, since it completes what it has begun.
#[tokio::test(start_paused = true)]
async fn no_request_is_waited_for_longer_than_half_a_minute() {
    let with_namespace = FakeApiServer::with_liqo("milan");
    with_namespace.put(tenant_namespace("liqo-tenant-rome"));
    let with_tenant = FakeApiServer::with_liqo("milan");
    with_tenant.put(tenant_namespace("liqo-tenant-rome"));
    with_tenant.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": { "name": "rome", "namespace": "liqo-tenant-rome" },
        "spec": { "clusterID": "rome" },
    }));
    let deliveries = [
        (&with_namespace, Method::GET, "/namespaces"),
        (&with_namespace, Method::GET, "/tenants/rome"),
        (&with_namespace, Method::POST, "/tenants"),
        (&with_tenant, Method::PUT, "/tenants/rome"),
    ];
    let deliveries = join_all(deliveries.map(|(server, method, path)| async move {
        let client = silent(server, method.clone(), path);
        let remote = RemoteCluster::new(client, id("milan"), id("rome"));
        let delivered = remote.deliver(&to_milan(empty_tenant())).await;
        let error = delivered.unwrap_err().to_string();
        assert!(
            error.contains("not answered within 30 s"),
            "{method} {path}: {error}"
        );
    }));
    let opening = async {
        let client = silent(&with_namespace, Method::GET, "/configmaps");
        let error = Cluster::open(client).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    };
    let publishing = async {
        let server = FakeApiServer::with_liqo("milan");
        let mut running = JoinSet::new();
        let handle = provider(silent(&server, Method::POST, "/events"), &mut running).await;
        handle.invite(&id("rome")).await.unwrap();
    };
    let all = async { futures::join!(deliveries, opening, publishing) };
    timeout(Duration::from_secs(45), all).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_not_repeated_at_once() {
    let server = FakeApiServer::with_liqo("milan");
    let request = CertificateSigningRequest {
        metadata: Metadata {
            name: "open".to_owned(),
            ..Metadata::default()
        },
        ..CertificateSigningRequest::default()
    };
    server.put(Object::from(request.clone()).to_value());
    let behind = server.client();
    let ending = service_fn(move |request: Request<Body>| {
        let behind = behind.clone();
        async move {
            if request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"))
            {
                return Ok(Response::new(Body::empty()));
            }
            behind.send(request).await
        }
    });
    let client = Client::new(ending, "default");
    let answer = answered(&client, &request, Duration::from_millis(2500)).await;
    assert_eq!(answer.unwrap(), None);
    let requests = server.requests();
    assert!((1..=3).contains(&requests.len()), "{requests:?}");
}

/// A client of the server. Some of its requests get no answer.
fn silent(server: &FakeApiServer, method: Method, path: &'static str) -> Client {
    let server = server.client();
    let service = service_fn(move |request: Request<Body>| {
        let (server, method) = (server.clone(), method.clone());
        async move {
            if request.method() == method && request.uri().path().contains(path) {
                pending::<()>().await;
            }
            server.send(request).await
        }
    });
    Client::new(service, "default")
}
