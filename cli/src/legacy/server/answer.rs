//! One request and its response.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Extension, Router,
    body::{Body, HttpBody},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, request::Parts},
    response::Response,
};
use liqo_auth::legacy::{Foreign, HttpRequest, HttpResponse, IdentityRequest, Outcome, Reading};
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::{
    desk::{Delivery, Desk, Verdict},
    hold_back::HoldBack,
    log::{Entry, Log},
};
use crate::{legacy::foreign_side::ForeignSide, limits::locked};

/// Answers the requests of all connections.
pub(super) struct Answering {
    pub(super) foreign: Foreign,
    pub(super) hold_back: HoldBack,
    pub(super) desk: Arc<Desk>,
    pub(super) side: Arc<ForeignSide>,
    pub(super) log: Arc<Log>,
}

/// The connection of a request.
pub(super) struct Caller {
    pub(super) remote: SocketAddr,
    /// The identity that is in the response.
    pub(super) delivery: Mutex<Option<Delivery>>,
}

impl Answering {
    /// The service that hyper calls for a connection. The library checks the path
    /// and the method.
    pub(super) fn service(self: Arc<Self>, caller: Arc<Caller>) -> Router {
        Router::new()
            .fallback(answer)
            .with_state(self)
            .layer(Extension(caller))
    }

    async fn answer(
        &self,
        request: &HttpRequest,
        caller: &Caller,
    ) -> (HttpResponse, Option<Outcome>) {
        let (response, outcome) = match self.foreign.read(request) {
            Reading::Reply(reply) => (reply.response, reply.outcome),
            Reading::Identity(request) => {
                let from = caller.remote.ip();
                let Some(_turn) = self.hold_back.turn(from).await else {
                    return (HttpResponse::unavailable(), None);
                };
                let (response, outcome) = self.ask(request, caller).await;
                if let Ok(now) = self.side.clock().now() {
                    self.hold_back.count(from, outcome.as_ref(), now);
                }
                (response, outcome)
            }
            _ => (None, None),
        };
        let response = response.unwrap_or_else(HttpResponse::internal_error);
        (response, outcome)
    }

    async fn ask(
        &self,
        request: Box<IdentityRequest>,
        caller: &Caller,
    ) -> (Option<HttpResponse>, Option<Outcome>) {
        match timeout(LONGEST_WAIT, self.desk.clone().answer(request)).await {
            Ok(Verdict::Reply(reply, delivery)) => {
                *locked(&caller.delivery) = delivery;
                (reply.response, reply.outcome)
            }
            Ok(Verdict::Unavailable) | Err(_) => (Some(HttpResponse::unavailable()), None),
            Ok(Verdict::Failed) => (Some(HttpResponse::internal_error()), None),
        }
    }
}

async fn answer(
    State(answering): State<Arc<Answering>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: Request,
) -> Response {
    let began = Instant::now();
    let (parts, body) = request.into_parts();
    let limit = answering.side.policy().limits.legacy_request;
    let (method, path) = (parts.method.as_str(), parts.uri.path());
    let (response, outcome) = match timeout(LONGEST_BODY, read(body, limit)).await {
        Ok(Ok(body)) => answering.answer(&to_library(&parts, body), &caller).await,
        Ok(Err(_)) | Err(_) => (too_slow(), None),
    };
    answering.log.write(&Entry::Answered {
        remote: caller.remote,
        method,
        path,
        status: response.status,
        took: began.elapsed(),
        outcome: outcome.as_ref(),
    });
    to_transport(&response)
}

/// Reads a body, but at most one byte more than the limit, so that a body that is
/// too large is noticed. The rest is received and dropped: a connection that is
/// closed with unread data loses its response.
async fn read(body: Body, limit: usize) -> Result<Zeroizing<Vec<u8>>, axum::Error> {
    let mut body = std::pin::pin!(body);
    let most = limit.saturating_add(1);
    // The buffer is so large that it never grows. Growth would leave a copy of the
    // content in memory that is not wiped.
    let hint = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let capacity = if hint == 0 { most } else { hint.min(most) };
    let mut content = Zeroizing::new(Vec::with_capacity(capacity));
    let mut passed = 0_usize;
    while let Some(frame) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await
    {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        passed = passed.saturating_add(data.len());
        let room = most.saturating_sub(content.len());
        content.extend(data.iter().take(room));
        if passed > MOST_THROWN_AWAY {
            break;
        }
    }
    Ok(content)
}

fn to_library(parts: &Parts, body: Zeroizing<Vec<u8>>) -> HttpRequest {
    let mut request = HttpRequest::new(parts.method.as_str(), parts.uri.path(), body.as_slice());
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), value)
    };
    request.headers = parts.headers.iter().map(header).collect();
    request
}

fn to_transport(response: &HttpResponse) -> Response {
    let mut builder = Response::builder().status(response.status);
    for (name, value) in &response.headers {
        builder = builder.header(name, value);
    }
    let body = Body::from(response.body.expose().to_vec());
    builder.body(body).unwrap_or_else(|_| {
        // The library's statuses and headers are well-formed.
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

fn too_slow() -> HttpResponse {
    let mut response = HttpResponse::unavailable();
    response.status = 408;
    response.body = b"request timeout\n".as_slice().into();
    response
}

/// The maximum time to receive a body.
const LONGEST_BODY: Duration = Duration::from_secs(10);
/// The maximum time to wait for the home. Other commands may have locked it.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const MOST_THROWN_AWAY: usize = 1024 * 1024;
