//! Connections of the probes, the metrics and the webhook: so many at once, and each for
//! so long. A client that waits or sends slowly holds up nobody else.

use std::{
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use futures::future::Shared;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use crate::{failure::Result, input, legacy::tls_certificate::TlsCertificate};

/// Answers requests until `stop` is ready. Then the requests in progress are finished, for
/// two seconds at most.
pub(super) async fn serve<S>(
    listener: TcpListener,
    router: Router,
    mut tls: Option<Certificate>,
    stop: Shared<S>,
) where
    S: Future<Output = ()> + Send + 'static,
{
    let router = router
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn(within_limit));
    let room = Arc::new(Semaphore::new(MOST_AT_ONCE));
    let mut connections = JoinSet::new();
    let mut stopped = pin!(stop.clone());
    loop {
        // A further connection waits in the queue of the system.
        let permit = tokio::select! {
            permit = room.clone().acquire_owned() => permit,
            () = &mut stopped => break,
        };
        let Ok(permit) = permit else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Out of file handles, for example: some are given back soon.
                Err(_) => {
                    tokio::time::sleep(SHORTLY).await;
                    continue;
                }
            },
            () = &mut stopped => break,
        };
        while connections.try_join_next().is_some() {}
        let (router, stop) = (router.clone(), stop.clone());
        let acceptor = tls.as_mut().map(Certificate::acceptor);
        connections.spawn(async move {
            let _permit = permit;
            let _ = stream.set_nodelay(true);
            match acceptor {
                None => answer(stream, router, stop).await,
                Some(acceptor) => {
                    let handshake = timeout(LONGEST_HANDSHAKE, acceptor.accept(stream));
                    if let Ok(Ok(stream)) = handshake.await {
                        answer(stream, router, stop).await;
                    }
                }
            }
        });
    }
    // A connection that is left open does not hold up the end.
    let _ = timeout(PATIENCE, connections.join_all()).await;
}

async fn answer<S>(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router, stop: Shared<S>)
where
    S: Future<Output = ()>,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_IDLE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop => {}
        () = tokio::time::sleep(LONGEST_CONNECTION) => {}
    }
    // The request in progress is finished.
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LONGEST_REQUEST, connection).await;
}

/// Answers a request, if all of it comes in time.
async fn within_limit(request: Request, next: Next) -> Response {
    let answered = timeout(LONGEST_REQUEST, next.run(request)).await;
    answered.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response())
}

/// A certificate in two files. It is read again when they have changed, since certificates
/// in a cluster are renewed while the program runs.
pub(super) struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    acceptor: TlsAcceptor,
    version: Option<[SystemTime; 2]>,
}

impl Certificate {
    pub(super) fn read(chain: &Path, key: &Path) -> Result<Self> {
        Ok(Self {
            acceptor: acceptor(chain, key)?,
            version: version(chain, key),
            chain: chain.to_owned(),
            key: key.to_owned(),
        })
    }

    fn acceptor(&mut self) -> TlsAcceptor {
        let version = version(&self.chain, &self.key);
        if version != self.version {
            match acceptor(&self.chain, &self.key) {
                Ok(acceptor) => {
                    tracing::info!("the certificate of the webhook is read again");
                    self.acceptor = acceptor;
                    self.version = version;
                }
                // Between the changes of two files, they do not fit each other.
                Err(failure) => tracing::warn!(%failure, "the certificate stays as it was"),
            }
        }
        self.acceptor.clone()
    }
}

fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor> {
    let certificate = TlsCertificate {
        chain: input::read(chain)?,
        key: input::read(key)?,
    };
    Ok(TlsAcceptor::from(certificate.server_config()?))
}

/// When the files changed last.
fn version(chain: &Path, key: &Path) -> Option<[SystemTime; 2]> {
    let changed = |path: &Path| {
        std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok()
    };
    Some([changed(chain)?, changed(key)?])
}

/// Listens at an address.
pub(super) async fn listen(address: std::net::SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    Ok(listener.with_context(|| format!("{address} cannot be used"))?)
}

/// Enough for an API server and a monitor. Others wait.
const MOST_AT_ONCE: usize = 64;
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(5);
/// How long a connection may wait for the next request, or for the rest of its headers. API
/// servers keep theirs open.
const LONGEST_IDLE: Duration = Duration::from_secs(30);
/// The longest time that an API server waits for a webhook is 30 seconds, and by default 10.
const LONGEST_REQUEST: Duration = Duration::from_secs(10);
const LONGEST_CONNECTION: Duration = Duration::from_secs(600);
/// An object of Kubernetes has 1.5 MiB at most, and a review has two of them.
const LARGEST_BODY: usize = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);
const SHORTLY: Duration = Duration::from_millis(100);
