//! One connection: TLS, one request, and the end.

use std::{
    net::SocketAddr,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpStream, sync::watch, time::timeout};
use tokio_rustls::TlsAcceptor;

use super::{
    answer::{Answering, Caller},
    log::Entry,
};
use crate::limits::locked;

/// Serves a connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    remote: SocketAddr,
    tls: &TlsAcceptor,
    answering: Arc<Answering>,
    mut stopping: watch::Receiver<bool>,
) {
    let log = answering.log.clone();
    let unanswered = |reason: &str| log.write(&Entry::Unanswered { remote, reason });
    // A response is one write, so that a delay to collect more data has no use.
    let _ = stream.set_nodelay(true);
    let stream = match timeout(LONGEST_HANDSHAKE, tls.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return unanswered(&format!("TLS: {error}")),
        Err(_) => return unanswered("TLS: the handshake took too long"),
    };
    let caller = Arc::new(Caller {
        remote,
        delivery: Mutex::default(),
    });
    let service = TowerToHyperService::new(answering.service(caller.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_HEADERS)
        .keep_alive(false)
        .max_buf_size(LARGEST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let served = async {
        tokio::select! {
            result = connection.as_mut() => return result,
            _ = stopping.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
        }
        connection.as_mut().await
    };
    let served = timeout(LONGEST_CONNECTION, served).await;
    let delivery = locked(&caller.delivery).take();
    match served {
        // All of the response has been written.
        Ok(Ok(())) => {
            if let Some(delivery) = delivery {
                delivery.confirm().await;
            }
        }
        Ok(Err(error)) => unanswered(&error.to_string()),
        Err(_) => unanswered("the connection took too long"),
    }
}

/// A home cluster of Liqo gives up after five seconds.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(4);
const LONGEST_HEADERS: Duration = Duration::from_secs(4);
const LARGEST_HEADERS: usize = 16 * 1024;
/// Longer than the sum of the other limits: headers, body, the home, and the delay
/// after a wrong token.
const LONGEST_CONNECTION: Duration = Duration::from_secs(75);
