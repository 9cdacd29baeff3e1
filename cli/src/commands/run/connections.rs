//! Connections of the probes, the metrics and the webhook: so many at once, and each for
//! so long. A client that waits or sends slowly holds up nobody else.

mod bodies;
mod certificate;
mod places;
#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use axum::{
    Extension, Router,
    body::{Body, HttpBody, to_bytes},
    extract::{DefaultBodyLimit, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
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
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use self::places::{Place, Places};
pub(super) use self::{
    bodies::{Bodies, LargeBody, SMALL},
    certificate::{Certificate, CertificateFiles},
};
use crate::{
    failure::Result,
    limits::{Shares, network},
};

/// An address where requests are answered.
pub(super) struct Listener {
    pub(super) socket: TcpListener,
    pub(super) router: Router,
    /// Set for HTTPS.
    pub(super) certificate: Option<Certificate>,
    pub(super) connections: Connections,
}

/// The connections that an address takes.
#[derive(Clone)]
pub(super) struct Connections {
    /// How many at once. If there are more, one that asks for nothing gives way.
    pub(super) at_once: usize,
    /// Those of one source, if they are limited.
    pub(super) of_source: Option<Shares<IpAddr>>,
    /// Whether a connection may bring further requests.
    pub(super) stay_open: bool,
}

/// The network that a request comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source(pub(super) IpAddr);

/// Listens at an address.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    Ok(listener.with_context(|| format!("{address} cannot be used"))?)
}

impl Listener {
    /// Answers requests until `stop` is ready. Then the requests in progress are finished, for
    /// two seconds at most.
    pub(super) async fn serve<S>(mut self, stop: Shared<S>)
    where
        S: Future<Output = ()> + Send + 'static,
    {
        let router = self
            .router
            .layer(DefaultBodyLimit::max(LARGEST_BODY))
            .layer(from_fn_with_state(Bodies::default(), within_limits));
        let verifies_clients = self
            .certificate
            .as_ref()
            .is_some_and(Certificate::verifies_clients);
        let places = Places::new(self.connections.at_once, verifies_clients);
        let mut connections = JoinSet::new();
        let mut stopped = pin!(stop.clone());
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut stopped => break,
            };
            let Ok((stream, remote)) = accepted else {
                // Out of file handles, for example: some are given back soon.
                tokio::time::sleep(SHORTLY).await;
                continue;
            };
            let source = network(remote.ip());
            let share = match &self.connections.of_source {
                None => None,
                Some(shares) => match shares.take(source) {
                    None => continue,
                    share => share,
                },
            };
            // Further connections wait in the queue of the system.
            let place = tokio::select! {
                place = places.take(source) => Arc::new(place),
                () = &mut stopped => break,
            };
            while connections.try_join_next().is_some() {}
            let answered = Answered {
                router: router
                    .clone()
                    .layer(Extension(Source(source)))
                    .layer(Extension(place.clone())),
                stays_open: self.connections.stay_open,
                stop: stop.clone(),
            };
            let acceptor = self.certificate.as_mut().map(Certificate::acceptor);
            connections.spawn(async move {
                let _share = share;
                tokio::select! {
                    () = serve(stream, acceptor, &place, answered) => {}
                    () = place.gives_way() => {}
                }
            });
        }
        // A connection that is left open does not hold up the end.
        let _ = timeout(PATIENCE, connections.join_all()).await;
    }
}

/// How the requests of a connection are answered.
struct Answered<S: Future<Output = ()>> {
    router: Router,
    stays_open: bool,
    stop: Shared<S>,
}

async fn serve<S>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    place: &Place,
    answered: Answered<S>,
) where
    S: Future<Output = ()>,
{
    let _ = stream.set_nodelay(true);
    match acceptor {
        None => {
            place.has_arrived();
            answer(stream, answered).await;
        }
        Some(acceptor) => {
            let handshake = timeout(LONGEST_HANDSHAKE, acceptor.accept(stream));
            if let Ok(Ok(stream)) = handshake.await {
                place.has_arrived();
                answer(stream, answered).await;
            }
        }
    }
}

async fn answer<S>(stream: impl AsyncRead + AsyncWrite + Unpin, answered: Answered<S>)
where
    S: Future<Output = ()>,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_IDLE)
        .keep_alive(answered.stays_open)
        .serve_connection(
            TokioIo::new(stream),
            TowerToHyperService::new(answered.router),
        );
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = answered.stop => {}
        () = tokio::time::sleep(LONGEST_CONNECTION) => {}
    }
    // The request in progress is finished.
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LONGEST_REQUEST, connection).await;
}

/// Answers a request, if all of it comes in time. Until all of it is here, its connection may
/// have to give way. A large body has a [`LargeBody`] in the request.
async fn within_limits(
    State(bodies): State<Bodies>,
    Extension(place): Extension<Arc<Place>>,
    request: Request,
    next: Next,
) -> Response {
    let answered = timeout(LONGEST_REQUEST, async {
        let (mut parts, body) = request.into_parts();
        let most = body.size_hint().upper();
        let most = most.and_then(|most| usize::try_from(most).ok());
        if let Some(large) = bodies.admit(most).await {
            parts.extensions.insert(large);
        }
        let Ok(body) = to_bytes(body, LARGEST_BODY).await else {
            return StatusCode::PAYLOAD_TOO_LARGE.into_response();
        };
        let _busy = place.busy();
        next.run(Request::from_parts(parts, Body::from(body))).await
    });
    let answered = answered.await;
    answered.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response())
}

const LONGEST_HANDSHAKE: Duration = Duration::from_secs(5);
/// How long a connection may wait for the next request, or for the rest of its headers. API
/// servers keep theirs open.
const LONGEST_IDLE: Duration = Duration::from_secs(30);
/// The longest time that an API server waits for a webhook is 30 seconds, and by default 10.
const LONGEST_REQUEST: Duration = Duration::from_secs(10);
const LONGEST_CONNECTION: Duration = Duration::from_secs(600);
/// An object of Kubernetes has 1.5 MiB at most, and a review has two of them.
pub(super) const LARGEST_BODY: usize = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);
const SHORTLY: Duration = Duration::from_millis(100);
