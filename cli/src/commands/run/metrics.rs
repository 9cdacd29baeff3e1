//! The metrics of a running controller, for those who may read them.

mod series;
mod text;
mod token;

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{
        StatusCode,
        header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use liqo_auth_kube::Handle;

pub(super) use self::token::Token;
use super::connections::{Connections, Source};
use crate::limits::{Rates, Shares};

pub(super) fn router(handle: Handle, token: Option<Token>) -> Router {
    let router = Router::new()
        .route("/metrics", get(measured))
        .with_state(handle);
    gated(router, token)
}

pub(super) fn connections() -> Connections {
    Connections {
        at_once: MOST_AT_ONCE,
        of_source: Some(Shares::of(MOST_AT_ONCE)),
        stay_open: true,
    }
}

/// Answers each source at a limited rate, and with a token only its holders.
fn gated(router: Router, token: Option<Token>) -> Router {
    let gate = Arc::new(Gate {
        rates: Rates::new(BURST, INTERVAL),
        token,
    });
    router.layer(middleware::from_fn_with_state(gate, admitted))
}

struct Gate {
    rates: Rates<IpAddr>,
    token: Option<Token>,
}

async fn admitted(
    State(gate): State<Arc<Gate>>,
    Extension(Source(source)): Extension<Source>,
    request: Request,
    next: Next,
) -> Response {
    if !gate.rates.allows(&source) {
        let later = [(RETRY_AFTER, "1")];
        let reason = "this source asks too often\n";
        return (StatusCode::TOO_MANY_REQUESTS, later, reason).into_response();
    }
    let shown = request.headers().get(AUTHORIZATION);
    if gate.token.as_ref().is_some_and(|token| !token.is_in(shown)) {
        let wanted = [(WWW_AUTHENTICATE, "Bearer")];
        return (
            StatusCode::UNAUTHORIZED,
            wanted,
            "the token is missing or wrong\n",
        )
            .into_response();
    }
    next.run(request).await
}

async fn measured(State(handle): State<Handle>) -> Response {
    match text::text(&handle) {
        Ok(text) => ([(CONTENT_TYPE, text::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

const MOST_AT_ONCE: usize = 64;
/// Several monitors may have one address.
const BURST: u32 = 16;
const INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_source_that_asks_too_often_is_refused_and_others_are_answered() {
        let router = gated(Router::new().route("/metrics", get(|| async {})), None);
        let ask = async |source: &str| {
            let from = Extension(Source(source.parse().unwrap()));
            let request = Request::get("/metrics").body(Body::empty()).unwrap();
            let answer = router.clone().layer(from).oneshot(request).await;
            answer.unwrap().status()
        };
        for _ in 0..BURST {
            assert_eq!(ask("192.0.2.1").await, StatusCode::OK);
        }
        let mut refused = 0;
        for _ in 0..1000 {
            refused += u32::from(ask("192.0.2.1").await == StatusCode::TOO_MANY_REQUESTS);
        }
        assert!(refused > 0);
        assert_eq!(ask("192.0.2.2").await, StatusCode::OK);
    }
}
