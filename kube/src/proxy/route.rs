//! What the failure of a connection means.

use std::{error, fmt, iter::successors};

use http::Uri;
use hyper_util::client::legacy;
use liqo_auth::crypto::BoxError;

use super::without_user;
use crate::error::with_sources;

/// The way to an API server, for messages.
#[derive(Clone)]
pub(super) struct Route {
    api_server: String,
    /// `None` if the API server is reached directly.
    by: Option<Proxy>,
}

/// The proxy on the way.
#[derive(Clone)]
struct Proxy {
    url: String,
    /// What names the proxy.
    field: String,
    /// The host and the port that the proxy is asked for.
    target: String,
}

/// An API server cannot be reached: its address, or the proxy in front of it. This is a cause of
/// [`Error::Request`](crate::Error::Request), by a client that [`client_of`](crate::client_of) or
/// [`client_within`](crate::client_within) has made. Its text is one sentence that names the API
/// server, the proxy and the cause, but not the proxy's password. With a proxy, what to do follows.
/// Its sources are those of the client, such as the error of TLS.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach {route}: {cause}{advice}")]
pub struct Unreachable {
    route: String,
    cause: String,
    advice: String,
    source: BoxError,
}

impl Route {
    pub(super) fn direct(api_server: &Uri) -> Self {
        Self {
            api_server: without_user(api_server),
            by: None,
        }
    }

    pub(super) fn by_proxy(api_server: &Uri, proxy: &Uri, field: String) -> Self {
        let host = api_server.host().unwrap_or_default();
        let port = api_server.port_u16().unwrap_or(443);
        Self {
            api_server: without_user(api_server),
            by: Some(Proxy {
                url: without_user(proxy),
                field,
                target: format!("{host}:{port}"),
            }),
        }
    }

    /// An error that names the route, if the connection has failed. Another error stays as
    /// it is.
    pub(super) fn explain(&self, error: BoxError) -> BoxError {
        let Some(failed) = failed_connection(&*error) else {
            return error;
        };
        // The layers above the root have texts for developers.
        let root = root_of(failed).to_string();
        let (cause, advice) = match &self.by {
            None => (root, String::new()),
            Some(proxy) => {
                let layers =
                    error::Error::source(failed).map_or_else(|| failed.to_string(), with_sources);
                let (cause, advice) = proxy.explained(&layers, root);
                (cause, format!(". {advice}"))
            }
        };
        Box::new(Unreachable {
            route: self.to_string(),
            cause,
            advice,
            source: error,
        })
    }
}

impl Proxy {
    /// The cause, and what to do. The texts of the layers are those of hyper-util and
    /// hyper-timeout, which do not publish the kinds of these failures.
    fn explained(&self, layers: &str, root: String) -> (String, String) {
        let target = &self.target;
        if layers.contains("proxy authorization required") {
            return (
                "the proxy wants a user and a password (407)".to_owned(),
                "The proxy-url of a kubeconfig may have them; that of an Identity may not, so its proxy has to do without them".to_owned(),
            );
        }
        if layers.contains("tunnel error: unsuccessful") {
            return (
                "the proxy refuses this connection".to_owned(),
                format!("It has to allow CONNECT to {target}"),
            );
        }
        let is_late = layers.contains("deadline");
        if is_late || layers.contains("failed to create underlying connection") {
            return (
                match is_late {
                    true => "the proxy does not answer in time".to_owned(),
                    false => format!("the proxy cannot be reached from here, {root}"),
                },
                "A proxy in Liqo's network, as an in-band peering has it, can only be reached in the clusters of the peering, and only while Liqo's network connects them: run this program there. Elsewhere, use a kubeconfig without this proxy, or authenticate again with --proxy-url \"\"".to_owned(),
            );
        }
        (
            root,
            format!(
                "See whether the proxy is an HTTP proxy that allows CONNECT to {target}, and whether it passes TLS on unchanged"
            ),
        )
    }
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the API server {}", self.api_server)?;
        match &self.by {
            Some(Proxy { url, field, .. }) => write!(formatter, " by the proxy {url} ({field})"),
            None => Ok(()),
        }
    }
}

/// The failure to connect among the causes of an error.
fn failed_connection<'e>(error: &'e (dyn error::Error + 'static)) -> Option<&'e legacy::Error> {
    let mut causes = successors(Some(error), |error| error.source());
    causes.find_map(|cause| {
        let cause = cause.downcast_ref::<legacy::Error>()?;
        cause.is_connect().then_some(cause)
    })
}

fn root_of<'e>(error: &'e (dyn error::Error + 'static)) -> &'e (dyn error::Error + 'static) {
    let causes = successors(Some(error), |error| error.source());
    causes.last().unwrap_or(error)
}
