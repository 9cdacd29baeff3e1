//! API servers behind a proxy, and proxies that fail.

use std::{
    error,
    io::{BufRead, BufReader, Read, Write},
    iter::successors,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use futures::future::pending;
use http::{Request, Uri};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use liqo_auth::{Consumer, consumer::ConsumerConfig, crypto::OneKey, policy::Addresses};
use liqo_auth_kube::{
    Cluster, Controller, RemoteCluster, Transport, Unreachable, client_of, client_within, config_of,
};
use serde_json::{Value, json};
use tower::service_fn;

use crate::{
    clusters::{Clusters, id},
    connect_proxy::{ConnectProxy, no_proxy_at},
    fake::FakeApiServer,
    life::until,
    remote_cluster::{empty_tenant, to_milan},
};

#[tokio::test]
async fn a_proxy_passes_requests_on_and_gets_its_password() {
    let proxy = ConnectProxy::answering(200);
    let api_server = api_server();
    let url = format!("http://rome:p%40ss@{}", proxy.address);
    let client = client(&format!("http://{api_server}"), &url).await;
    let request = Request::get("/version").body(Vec::new()).unwrap();
    assert_eq!(client.request_text(request).await.unwrap(), "{}");
    let requests = proxy.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let connect = format!("CONNECT {api_server} HTTP/1.1\r\n");
    assert!(requests[0].starts_with(&connect), "{requests:?}");
    let user = format!(
        "Proxy-Authorization: Basic {}\r\n",
        STANDARD.encode("rome:p@ss")
    );
    assert!(requests[0].contains(&user), "{requests:?}");
}

#[tokio::test]
async fn a_proxy_that_fails_is_named_without_its_password() {
    let (wants_a_user, refuses) = (ConnectProxy::answering(407), ConnectProxy::answering(403));
    // The system accepts the connection, and nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for (address, says) in [
        (wants_a_user.address, "wants a user and a password (407)"),
        (
            refuses.address,
            "has to allow CONNECT to milan.example:6443",
        ),
        (
            no_proxy_at(),
            "the proxy cannot be reached from here, Connection refused",
        ),
        (
            silent.local_addr().unwrap(),
            "the proxy does not answer in time",
        ),
    ] {
        let url = format!("http://rome:secret@{address}");
        let client = client("http://milan.example:6443", &url).await;
        let remote = RemoteCluster::new(client, id("milan"), id("rome"));
        let error = remote.deliver(&to_milan(empty_tenant())).await.unwrap_err();
        let shown = format!("{error:?}");
        let route = format!(
            "cannot reach the API server http://milan.example:6443 by the proxy http://{address} (proxy-url of the kubeconfig): "
        );
        assert!(shown.contains(says), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
        let causes = causes(&*error);
        assert!(causes.contains(&route), "{causes}");
        assert!(!causes.contains("secret"), "{causes}");
    }
}

/// One sentence, of which the failure of a request is the cause.
#[tokio::test]
async fn an_api_server_that_cannot_be_reached_is_named_with_the_root_of_the_failure() {
    let nobody = no_proxy_at();
    let client = client(&format!("http://{nobody}"), "").await;
    let remote = RemoteCluster::new(client, id("milan"), id("rome"));
    let error = remote.deliver(&to_milan(empty_tenant())).await.unwrap_err();
    let found = chain(&*error).find_map(|cause| cause.downcast_ref::<Unreachable>());
    let expected =
        format!("cannot reach the API server http://{nobody}: Connection refused (os error 111)");
    assert_eq!(found.unwrap().to_string(), expected);
}

#[tokio::test]
async fn a_proxy_with_https_is_reached_by_tls_and_one_with_http_is_not() {
    // The first byte of CONNECT, and that of a handshake (RFC 8446 section 5.1).
    for (scheme, expected) in [("http", b'C'), ("https", 22)] {
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}", proxy.local_addr().unwrap());
        let first = thread::spawn(move || {
            let (mut stream, _) = proxy.accept().unwrap();
            let mut first = [0];
            stream.read_exact(&mut first).unwrap();
            first[0]
        });
        let addresses = Addresses {
            allowed: vec!["127.0.0.0/8".parse().unwrap()],
            ..Addresses::default()
        };
        let config = config("http://milan.example:6443", &url).await;
        let client = client_within(config, &addresses).unwrap();
        let request = Request::get("/version").body(Vec::new()).unwrap();
        // The proxy closes the connection.
        client.request_text(request).await.unwrap_err();
        assert_eq!(first.join().unwrap(), expected, "{scheme}");
    }
}

/// As in an in-band peering without Liqo's network.
#[tokio::test]
async fn an_event_says_that_the_proxy_of_an_identity_is_down() {
    let clusters = Clusters::start().await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    let (client, published) = publishing(&clusters.rome);
    let cluster = Cluster::open(client).await.unwrap();
    let config = ConsumerConfig::new(cluster.id().clone());
    let side = Consumer::new(config, Arc::new(OneKey(cluster.key())));
    let proxy = format!("http://{}", no_proxy_at());
    let of_identity: Uri = proxy.parse().unwrap();
    let (controller, _handle) = Controller::builder(&cluster)
        .consumer(side)
        .publish_events()
        .replicate(move |mut config, _| {
            config.proxy_url = Some(of_identity.clone());
            client_of(config)
        })
        .build();
    let running = tokio::spawn(controller.run(pending()));
    until("an event names the proxy", async || {
        let events = published.lock().unwrap();
        events.iter().any(|event| {
            let note = event["note"].as_str().unwrap_or_default();
            event["reason"] == "NotReplicated"
                && event["metadata"]["namespace"] == "liqo-tenant-milan"
                && note.contains(&format!("by the proxy {proxy} "))
        })
    })
    .await;
    running.abort();
}

/// A client of the server, and the events that it publishes.
fn publishing(server: &FakeApiServer) -> (Client, Arc<Mutex<Vec<Value>>>) {
    let published = Arc::new(Mutex::new(Vec::new()));
    let (client, events) = (server.client(), published.clone());
    let service = service_fn(move |request: Request<Body>| {
        let (client, events) = (client.clone(), events.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            if head.uri.path().contains("/apis/events.k8s.io/") {
                let event = serde_json::from_slice(&body).unwrap();
                events.lock().unwrap().push(event);
            }
            let request = Request::from_parts(head, Body::from(body.to_vec()));
            client.send(request).await
        }
    });
    (Client::new(service, "default"), published)
}

async fn client(api_server: &str, proxy_url: &str) -> Client {
    let mut config = config(api_server, proxy_url).await;
    config.connect_timeout = Some(Duration::from_secs(1));
    client_of(config).unwrap()
}

async fn config(api_server: &str, proxy_url: &str) -> Config {
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "milan",
        "contexts": [{ "name": "milan", "context": { "cluster": "milan", "user": "rome" } }],
        "clusters": [
            { "name": "milan", "cluster": { "server": api_server, "proxy-url": proxy_url } },
        ],
        "users": [{ "name": "rome", "user": { "token": "x" } }],
    });
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig.to_string()).unwrap();
    let config = config_of(kubeconfig, &KubeConfigOptions::default()).await;
    config.unwrap()
}

fn causes(error: &(dyn error::Error + 'static)) -> String {
    let causes = chain(error).map(ToString::to_string);
    causes.collect::<Vec<_>>().join(": ")
}

/// The error and its causes.
fn chain<'e>(
    error: &'e (dyn error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn error::Error + 'static)> {
    successors(Some(error), |error| error.source())
}

/// A server that answers one request.
fn api_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let head = lines
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty());
        assert!(head.count() > 0);
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{{}}").unwrap();
    });
    address
}
