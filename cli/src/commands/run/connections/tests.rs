//! Clients that use up the connections of a listener.

use axum::routing::{get, post};
use futures::FutureExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::oneshot,
};

use super::*;

/// A listener, until the sender is dropped.
async fn start(connections: Connections) -> (SocketAddr, oneshot::Sender<()>) {
    let router = Router::new().route("/", get(|| async { "it is answered" }));
    start_with(router, connections).await
}

async fn start_with(router: Router, connections: Connections) -> (SocketAddr, oneshot::Sender<()>) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let listener = Listener {
        socket,
        router,
        certificate: None,
        connections,
    };
    let (stop, stopped) = oneshot::channel();
    let stopped = stopped.map(drop).boxed().shared();
    tokio::spawn(listener.serve(stopped));
    (address, stop)
}

async fn is_answered(address: SocketAddr) -> bool {
    let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    answer_to(address, request)
        .await
        .ends_with("it is answered")
}

async fn answer_to(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is closed may be reset.
    let _ = stream.write_all(request.as_bytes()).await;
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

async fn silent(address: SocketAddr, number: usize) -> Vec<TcpStream> {
    let mut connections = Vec::new();
    for _ in 0..number {
        connections.push(TcpStream::connect(address).await.unwrap());
    }
    connections
}

#[tokio::test]
async fn silent_connections_give_way_to_a_request() {
    let (address, _stop) = start(Connections {
        at_once: 4,
        of_source: None,
        stay_open: false,
    })
    .await;
    let _silent = silent(address, 20).await;
    assert!(is_answered(address).await);
}

#[tokio::test]
async fn a_source_has_its_share_of_the_connections() {
    let (address, _stop) = start(Connections {
        at_once: 64,
        of_source: Some(Shares::of(32)),
        stay_open: true,
    })
    .await;
    let silent = silent(address, 4).await;
    assert!(!is_answered(address).await);
    drop(silent);
    // The listener notices a little later.
    while !is_answered(address).await {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_with_a_large_body_holds_the_room_that_it_takes() {
    let is_large = |large: Option<Extension<LargeBody>>| async move { large.is_some().to_string() };
    let connections = Connections {
        at_once: 4,
        of_source: None,
        stay_open: false,
    };
    let router = Router::new().route("/", post(is_large));
    let (address, _stop) = start_with(router, connections).await;
    for (size, expected) in [(1000, "false"), (100_000, "true")] {
        let body = "a".repeat(size);
        let head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
        let request = format!("{head}Content-Length: {size}\r\n\r\n{body}");
        let answer = answer_to(address, &request).await;
        assert!(answer.ends_with(expected), "{answer}");
    }
}
