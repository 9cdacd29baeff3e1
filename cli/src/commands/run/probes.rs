//! What the kubelet asks of a running controller: is it alive, is it ready?

use axum::{Router, extract::State, http::StatusCode, routing::get};
use liqo_auth_kube::Handle;

use super::connections::Connections;

pub(super) fn router(handle: Handle) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(handle)
}

/// The kubelet opens a connection for each probe. Others on its node share its address, so
/// that no source is limited. A probe is answered at once, and those who stay give way to it.
pub(super) fn connections() -> Connections {
    Connections {
        at_once: 32,
        of_source: None,
        stay_open: false,
    }
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
