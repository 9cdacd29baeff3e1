//! The way to an API server: its address, or the proxy in front of it.
//!
//! ```text
//! kubeconfig ── its proxy-url ──┐
//!                               ├─▶ config_of ──▶ client_of ──▶ proxy ── CONNECT ──▶ API server
//! environment ── HTTPS_PROXY ───┘                     │
//!                NO_PROXY                             └─ a failure names the route
//! ```

mod environment;
mod route;
mod within;

use std::{env, time::Duration};

use http::{Request, Response, Uri};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use liqo_auth::{crypto::BoxError, policy::Addresses};
use tower::{Service, util::MapErrLayer};

use self::route::Route;
pub use self::route::Unreachable;
use crate::{
    Error,
    bounded::{bounded, bounded_for_peer},
    error::with_sources,
};

/// What a client needs, from a kubeconfig, with the proxy that `kubectl` would use. Give it
/// to [`client_of`].
///
/// - The `proxy-url` of the kubeconfig's cluster counts first, whatever the variables of the
///   environment say.
/// - Without it, `HTTPS_PROXY` counts, or `HTTP_PROXY` for an API server without TLS. An API
///   server that `NO_PROXY` names, or that has a loopback address, is reached directly.
///   Names in lower case count, too.
///
/// Liqo sets `proxy-url` to the `proxyURL` of an Identity. A proxy has a URL with `http` or
/// `https`, and lets `CONNECT` through.
///
/// # Errors
/// [`Error::Kubeconfig`] if the kubeconfig cannot be used, and [`Error::Proxy`] if the URL of
/// the proxy or `NO_PROXY` cannot be used. `NO_PROXY` has no empty entries here.
pub async fn config_of(
    kubeconfig: Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Config, Error> {
    let proxy = proxy_url_in(&kubeconfig, options);
    // A proxy that cannot be used is named before anything else is.
    proxy.as_deref().map(|url| usable(url, FIELD)).transpose()?;
    let config = Config::from_custom_kubeconfig(kubeconfig, options).await;
    let mut config = config.map_err(unusable)?;
    config.cluster_url = without_login(config.cluster_url);
    // The rules of kube-rs for NO_PROXY and for loopback addresses are not those of kubectl.
    config.proxy_url = chosen(proxy.as_deref(), &config.cluster_url)?;
    Ok(config)
}

/// The proxy to an API server: that of its kubeconfig, else that of the environment.
pub(crate) fn chosen(own: Option<&str>, api_server: &Uri) -> Result<Option<Uri>, Error> {
    match own {
        Some(url) => Some(usable(url, FIELD)),
        None => environment::proxy_for(api_server, variable)
            .map(|(name, url)| usable(&url, &of_environment(name))),
    }
    .transpose()
}

/// A client that reaches the API server by the configured proxy. An object in its answers that
/// exceeds the limits of the library is reduced to its metadata. A failure to connect is
/// [`Unreachable`], which names the API server. If there is a proxy, it also names the proxy,
/// without the password in its URL, and says what to do. The whole connection has 20 s then, so
/// that this failure comes before that of a request.
///
/// # Errors
/// Those of kube-rs. [`kube::Error::Service`] with [`Error::Proxy`] if the scheme of the
/// proxy is neither `http` nor `https`.
pub fn client_of(mut config: Config) -> Result<Client, kube::Error> {
    let route = route_of(&mut config)?;
    Ok(client_by(ClientBuilder::try_from(config)?, route))
}

/// Like [`client_of`], for an API server that a peer has named: the client connects to allowed
/// addresses only. Give it the addresses of the verified Identity
/// ([`VerifiedIdentity::addresses`](liqo_auth::verify::VerifiedIdentity::addresses)).
///
/// More than 8 MiB of one answer are not kept, since the peer may never end it.
///
/// The addresses are those of the API server, whatever its name leads to at the time of the
/// connection. With a proxy, they are those of the proxy. A proxy that the environment names is
/// this side's own choice, and is not checked.
///
/// # Errors
/// Those of [`client_of`], and [`kube::Error::Service`] if the URL has an address that is not
/// allowed. If a name has none that is allowed, the requests fail and say so.
pub fn client_within(mut config: Config, addresses: &Addresses) -> Result<Client, kube::Error> {
    let proxy = config.proxy_url.as_ref();
    if proxy.is_some_and(|proxy| field_of(proxy, &config.cluster_url) != FIELD) {
        return Ok(bounded_for_peer(&client_of(config)?));
    }
    let route = route_of(&mut config)?;
    let client = client_by(within::builder(&config, addresses)?, route);
    Ok(bounded_for_peer(&client))
}

/// The way to the API server, by the configured proxy if there is one. The configuration then
/// gets the limit of its connections.
fn route_of(config: &mut Config) -> Result<Route, kube::Error> {
    let Some(proxy) = &config.proxy_url else {
        return Ok(Route::direct(&config.cluster_url));
    };
    let field = field_of(proxy, &config.cluster_url);
    usable(&proxy.to_string(), &field).map_err(|error| kube::Error::Service(Box::new(error)))?;
    let route = Route::by_proxy(&config.cluster_url, proxy, field);
    tracing::debug!(%route, "connects by a proxy");
    let limit = config.connect_timeout.unwrap_or(TWENTY_SECONDS);
    config.connect_timeout = Some(limit.min(TWENTY_SECONDS));
    Ok(route)
}

/// A client whose failures to connect name the route.
fn client_by<S, B>(builder: ClientBuilder<S>, route: Route) -> Client
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Send + 'static,
    S::Future: Send,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let explained = MapErrLayer::new(move |error: BoxError| route.explain(error));
    bounded(&builder.with_layer(&explained).build())
}

/// The `proxy-url` of the cluster that counts.
fn proxy_url_in(kubeconfig: &Kubeconfig, options: &KubeConfigOptions) -> Option<String> {
    let cluster = match &options.cluster {
        Some(name) => name,
        None => {
            let current = kubeconfig.current_context.as_ref();
            let name = options.context.as_ref().or(current)?;
            let mut contexts = kubeconfig.contexts.iter();
            let context = contexts.find(|context| context.name == *name)?;
            &context.context.as_ref()?.cluster
        }
    };
    let mut clusters = kubeconfig.clusters.iter();
    let found = clusters.find(|found| found.name == *cluster)?;
    let url = found.cluster.as_ref()?.proxy_url.clone();
    url.filter(|url| !url.is_empty())
}

/// A proxy's URL that a client can use. The field has the text.
fn usable(text: &str, field: &str) -> Result<Uri, Error> {
    let refused = |problem: String| Error::Proxy {
        field: field.to_owned(),
        problem,
    };
    // The text may have a password, so it is not shown before its parts are known.
    let no_url = || refused(format!("this is no URL of a proxy, {SUCH_AS}"));
    let url: Uri = text.parse().map_err(|_| no_url())?;
    match (url.scheme_str(), url.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(url),
        (Some(scheme), Some(_)) => {
            let shown = without_user(&url);
            Err(refused(format!(
                "the proxy {shown} cannot be used, since {scheme} is not supported. Use a proxy with http or https, {SUCH_AS}"
            )))
        }
        _ => Err(no_url()),
    }
}

/// What names the proxy: the environment, if it names the same.
fn field_of(proxy: &Uri, api_server: &Uri) -> String {
    let named = environment::proxy_for(api_server, variable);
    let named = named.filter(|(_, url)| url.parse::<Uri>().is_ok_and(|url| url == *proxy));
    named.map_or_else(|| FIELD.to_owned(), |(name, _)| of_environment(name))
}

/// The URL of an API server without the user and the password in it. No request has them, and
/// whatever names the URL, such as a log of requests, would show them.
fn without_login(api_server: Uri) -> Uri {
    let authority = api_server.authority();
    let bare = authority.and_then(|it| it.as_str().rsplit_once('@')?.1.parse().ok());
    let Some(bare) = bare else {
        return api_server;
    };
    let mut parts = api_server.into_parts();
    parts.authority = Some(bare);
    Uri::from_parts(parts).unwrap_or_default()
}

/// The scheme, the host and the port of a proxy.
fn without_user(proxy: &Uri) -> String {
    let scheme = proxy.scheme_str().unwrap_or_default();
    let host = proxy.host().unwrap_or_default();
    let port = proxy.port_u16();
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}")
}

/// What is wrong with a kubeconfig. Its own proxy was judged before, so that a proxy which
/// kube-rs refuses is that of the environment.
fn unusable(error: KubeconfigError) -> Error {
    let (name, problem) = match error {
        KubeconfigError::ParseNoProxy(cause) => (
            "NO_PROXY",
            format!(
                "{}. Write hosts, addresses and ranges of addresses into it, with one comma between two of them",
                with_sources(&cause)
            ),
        ),
        KubeconfigError::ParseProxyUrl(_) => (
            "HTTPS_PROXY",
            format!("this is no URL of a proxy, {SUCH_AS}"),
        ),
        error => return Error::Kubeconfig(Box::new(error)),
    };
    Error::Proxy {
        field: of_environment(name),
        problem,
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn of_environment(variable: &str) -> String {
    format!("{variable} of the environment")
}

const FIELD: &str = "proxy-url of the kubeconfig";
const SUCH_AS: &str = "such as http://proxy.example.com:3128";
const TWENTY_SECONDS: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests;
