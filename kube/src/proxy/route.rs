//! What the failure of a connection by a proxy means.

use std::{error, fmt, iter::successors};

use http::Uri;
use hyper_util::client::legacy;
use liqo_auth::crypto::BoxError;

use super::without_user;
use crate::error::with_sources;

/// The way to an API server by a proxy, for messages.
#[derive(Clone)]
pub(super) struct Route {
    api_server: String,
    /// The host and the port that the proxy is asked for.
    target: String,
    proxy: String,
    /// What names the proxy.
    field: String,
}

/// An API server cannot be reached by its proxy.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach {route}: {cause}. {advice}")]
struct Unconnected {
    route: String,
    cause: String,
    advice: String,
}

impl Route {
    pub(super) fn new(api_server: &Uri, proxy: &Uri, field: String) -> Self {
        let host = api_server.host().unwrap_or_default();
        let port = api_server.port_u16().unwrap_or(443);
        Self {
            api_server: without_user(api_server),
            target: format!("{host}:{port}"),
            proxy: without_user(proxy),
            field,
        }
    }

    /// An error that names the proxy, if the connection has failed. Another error stays as
    /// it is.
    pub(super) fn explain(&self, error: BoxError) -> BoxError {
        let Some(cause) = cause_of_connection(&*error) else {
            return error;
        };
        Box::new(Unconnected {
            route: self.to_string(),
            advice: self.advice(&cause),
            cause,
        })
    }

    /// What to do. The texts are those of hyper-util and hyper-timeout, which do not publish
    /// the kinds of these failures.
    fn advice(&self, cause: &str) -> String {
        let target = &self.target;
        if cause.contains("proxy authorization required") {
            return "The proxy wants a user and a password (407). The proxy-url of a kubeconfig may have them; that of an Identity may not, so its proxy has to do without them".to_owned();
        }
        if cause.contains("tunnel error: unsuccessful") {
            return format!(
                "The proxy refuses this connection: it has to allow CONNECT to {target}"
            );
        }
        if cause.contains("failed to create underlying connection") || cause.contains("deadline") {
            return "The proxy cannot be reached from here, or does not answer. A proxy in Liqo's network, as an in-band peering has it, can only be reached in the clusters of the peering, and only while Liqo's network connects them: run this program there. Elsewhere, use a kubeconfig without this proxy, or authenticate again with --proxy-url \"\"".to_owned();
        }
        format!(
            "See whether the proxy is an HTTP proxy that allows CONNECT to {target}, and whether it passes TLS on unchanged"
        )
    }
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            api_server,
            proxy,
            field,
            ..
        } = self;
        write!(
            formatter,
            "the API server {api_server} by the proxy {proxy} ({field})"
        )
    }
}

/// Why no connection was made. `None` if the error is another one.
fn cause_of_connection(error: &(dyn error::Error + 'static)) -> Option<String> {
    let mut causes = successors(Some(error), |error| error.source());
    let failed = causes.find_map(|cause| {
        let cause = cause.downcast_ref::<legacy::Error>()?;
        cause.is_connect().then_some(cause)
    })?;
    Some(match error::Error::source(failed) {
        Some(cause) => with_sources(cause),
        None => failed.to_string(),
    })
}
