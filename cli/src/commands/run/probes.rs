//! What the cluster asks of a running controller: is it alive, is it ready, how is it?

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use liqo_auth_kube::Handle;

use super::metrics;

pub(super) fn router(handle: Handle) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(measured))
        .with_state(handle)
}

/// Ready: all objects of the cluster have been listed.
async fn ready(State(handle): State<Handle>) -> (StatusCode, &'static str) {
    if handle.is_synchronized() {
        (StatusCode::OK, "ok\n")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "not all objects of the cluster are listed yet\n",
        )
    }
}

async fn measured(State(handle): State<Handle>) -> Response {
    match metrics::text(&handle) {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
