//! Connections to allowed addresses only.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::{Request, Response, Uri};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{
        self,
        connect::{
            HttpConnector,
            dns::{GaiResolver, Name},
            proxy::Tunnel,
        },
    },
    rt::TokioExecutor,
};
use kube::{
    Config,
    client::{Body, ClientBuilder, ConfigExt},
};
use liqo_auth::{crypto::BoxError, policy::Addresses};
use tower::{Service, ServiceBuilder, ServiceExt, util::BoxService};

/// A connector that looks up names, and connects to allowed addresses only.
type Connector = HttpConnector<Resolver>;

/// What answers the requests of a client.
type Answering = BoxService<Request<Body>, Response<hyper::body::Incoming>, BoxError>;

/// The services of a client as kube-rs makes them, which connect to allowed addresses only: to
/// the API server, or to the proxy in front of it. kube-rs does not take another resolver of names.
pub(super) fn builder(
    config: &Config,
    addresses: &Addresses,
) -> Result<ClientBuilder<Answering>, kube::Error> {
    let first = config.proxy_url.as_ref().unwrap_or(&config.cluster_url);
    // A connector looks up names only.
    if let Some(address) = address_in(first)
        && !addresses.allow(address)
    {
        let host = first.host().unwrap_or_default().to_owned();
        return Err(kube::Error::Service(Refused { host, address }.into()));
    }
    // Two providers of cryptography may be built in, and rustls does not choose one.
    #[cfg(feature = "aws-lc-rs")]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may be faster.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
    let mut connector = Connector::new_with_resolver(Resolver {
        names: GaiResolver::new(),
        addresses: Arc::new(addresses.clone()),
    });
    connector.enforce_http(false);
    match &config.proxy_url {
        None => with_connector(
            config,
            config.rustls_https_connector_with_connector(connector)?,
        ),
        Some(proxy) if proxy.scheme_str() == Some("https") => {
            let connector = config.rustls_https_connector_with_connector(connector)?;
            let tunnel = Tunnel::new(proxy.clone(), connector);
            with_connector(
                config,
                config.rustls_https_connector_with_connector(tunnel)?,
            )
        }
        Some(proxy) => {
            let tunnel = Tunnel::new(proxy.clone(), connector);
            with_connector(
                config,
                config.rustls_https_connector_with_connector(tunnel)?,
            )
        }
    }
}

fn with_connector<C>(config: &Config, connector: C) -> Result<ClientBuilder<Answering>, kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: hyper::rt::Read + hyper::rt::Write + legacy::connect::Connection + Send + Unpin,
    C::Future: Send,
    C::Error: Into<BoxError>,
    TimeoutConnector<C>: legacy::connect::Connect,
{
    let mut connector = TimeoutConnector::new(connector);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let answering = legacy::Client::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(answering);
    Ok(ClientBuilder::new(
        service.map_err(Into::into).boxed(),
        config.default_namespace.clone(),
    ))
}

/// The address that is the host of a URL.
fn address_in(url: &Uri) -> Option<IpAddr> {
    let host = url.host()?;
    let host = host.strip_prefix('[').unwrap_or(host);
    host.strip_suffix(']').unwrap_or(host).parse().ok()
}

/// Looks up names, and shows allowed addresses only.
#[derive(Clone)]
struct Resolver {
    names: GaiResolver,
    addresses: Arc<Addresses>,
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.names.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = self.addresses.clone();
        let host = name.to_string();
        let found = self.names.call(name).map_err(BoxError::from);
        let allowed = found.and_then(async move |found| Ok(allowed(&addresses, host, found)?));
        allowed.boxed()
    }
}

/// The allowed addresses of a host.
fn allowed(
    addresses: &Addresses,
    host: String,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<vec::IntoIter<SocketAddr>, BoxError> {
    let (allowed, refused): (Vec<_>, Vec<_>) = found.partition(|found| addresses.allow(found.ip()));
    match refused.first() {
        Some(refused) if allowed.is_empty() => {
            let address = refused.ip();
            Err(Refused { host, address }.into())
        }
        None if allowed.is_empty() => {
            let problem = format!("{host} has no address");
            Err(io::Error::new(io::ErrorKind::NotFound, problem).into())
        }
        _ => Ok(allowed.into_iter()),
    }
}

/// No connection is made to this address.
#[derive(Debug, thiserror::Error)]
#[error(
    "{host} has the address {address}, which is one of this machine, or in a range that is refused. If the address is right, allow it in addresses.allowed of the settings"
)]
struct Refused {
    host: String,
    address: IpAddr,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hosts_addresses_the_allowed_ones_remain() {
        let shown = |texts: &[&str]| {
            let found = texts.iter().map(|text| text.parse().unwrap());
            let shown = allowed(&Addresses::default(), "milan.example".to_owned(), found);
            shown.map(|shown| shown.map(|shown| shown.to_string()).collect::<Vec<_>>())
        };
        let both = shown(&["127.0.0.1:0", "203.0.113.7:0", "[::1]:0"]);
        assert_eq!(both.unwrap(), ["203.0.113.7:0"]);
        let refused = shown(&["[::1]:0", "127.0.0.1:0"]).unwrap_err().to_string();
        assert!(
            refused.contains("milan.example has the address ::1"),
            "{refused}"
        );
        let none = shown(&[]).unwrap_err().to_string();
        assert_eq!(none, "milan.example has no address");
    }

    #[test]
    fn an_address_in_a_url_needs_no_look_up() {
        for (url, address) in [
            ("https://127.0.0.1:6443", Some("127.0.0.1")),
            ("https://[::1]:6443/", Some("::1")),
            ("https://milan.example", None),
        ] {
            let expected = address.map(|address| address.parse().unwrap());
            assert_eq!(address_in(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
