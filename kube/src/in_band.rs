//! The proxy of an in-band peering: a consumer reaches the API server of a provider through
//! Liqo's network, and not by a public address.
//!
//! At the provider, Liqo's network gives the proxy of the API server an address (the IP
//! `api-server-proxy`). The consumer may see the provider's networks at other addresses (the
//! Configuration in the provider's tenant namespace).
//!
//! Source: Liqo `pkg/liqoctl/authenticate`, `pkg/utils/ipam/mapping`.

mod networks;

use std::net::Ipv4Addr;

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
};
use liqo_auth::model::{ClusterId, ProxyUrl, UrlError, names};

use self::networks::seen_at;
use crate::{
    Error,
    bounded::{bounded, bounded_for_peer},
    error::{in_time, succeeds_in_time},
};

/// Why a consumer has no way to a provider's API server through Liqo's network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InBandError {
    /// The provider's Liqo has no proxy in its network.
    #[error(
        "there is no IP {namespace}/api-server-proxy, which Liqo makes at its start. Install Liqo at the provider with its networking module and its proxy (`networking.enabled`, `proxy.enabled`)"
    )]
    NoProxy {
        /// Liqo's namespace at the provider.
        namespace: String,
    },
    /// The provider's proxy has no address in Liqo's network yet.
    #[error(
        "the IP {namespace}/api-server-proxy has no status.ip yet. Try again when Liqo's networking module at the provider has given it one: kubectl -n {namespace} get ips.ipam.liqo.io api-server-proxy"
    )]
    NoAddress {
        /// Liqo's namespace at the provider.
        namespace: String,
    },
    /// The networks of the two clusters are not connected.
    #[error(
        "there is no Configuration of {provider} in the namespace {namespace}. Connect the networks of the two clusters first: liqoctl network connect"
    )]
    NotConnected {
        /// The provider.
        provider: ClusterId,
        /// Its tenant namespace at the consumer.
        namespace: String,
    },
    /// The consumer's cluster has several Configurations of the provider.
    #[error(
        "the namespace {namespace} has {found} Configurations of {provider}, expected one. Delete those that are not in use"
    )]
    Ambiguous {
        /// The provider.
        provider: ClusterId,
        /// Its tenant namespace at the consumer.
        namespace: String,
        /// The number of Configurations found.
        found: usize,
    },
    /// The consumer's Liqo has not decided yet where it sees the provider's networks.
    #[error(
        "the Configuration {configuration} does not say yet where this cluster sees the networks of its peer. Try again when Liqo has remapped them: kubectl get configurations.networking.liqo.io -A -o wide"
    )]
    NotRemapped {
        /// The namespace and the name.
        configuration: String,
    },
    /// The address of the provider's proxy is in none of the provider's networks.
    #[error(
        "the address {address} of the provider's proxy is in none of the networks that the Configuration {configuration} has in spec.remote.cidr, so that Liqo's network does not lead there. Compare it with status.ip of the IP api-server-proxy at the provider"
    )]
    OtherNetwork {
        /// The address at the provider.
        address: Ipv4Addr,
        /// The namespace and the name.
        configuration: String,
    },
    /// No API server can be reached at the address at which the consumer sees the proxy.
    #[error("this cluster sees the provider's proxy at {address}: {source}")]
    Unusable {
        /// The address at the consumer.
        address: Ipv4Addr,
        /// What is wrong with it.
        source: UrlError,
    },
    /// A field is not what Liqo writes there.
    #[error("{object}: {field} is malformed, expected {expected}")]
    Malformed {
        /// The kind, the namespace and the name.
        object: String,
        /// The path of the field.
        field: String,
        /// What Liqo writes there.
        expected: &'static str,
    },
}

/// The address that the proxy of a provider's API server has in the provider's network.
/// `namespace` is Liqo's namespace there. A peering user may read it.
///
/// # Errors
/// [`Error::InBand`], [`Error::Request`] and [`Error::TimedOut`].
pub async fn in_band_address(client: &Client, namespace: &str) -> Result<Ipv4Addr, Error> {
    let ips = resource("ipam.liqo.io/v1alpha1", "IP", "ips");
    let api: Api<DynamicObject> = Api::namespaced_with(bounded_for_peer(client), namespace, &ips);
    let request = format!("get IP {namespace}/{PROXY}");
    let found = succeeds_in_time(request, api.get_opt(PROXY)).await?;
    let found = found.ok_or_else(|| InBandError::NoProxy {
        namespace: namespace.to_owned(),
    })?;
    let text = found.data.pointer("/status/ip").and_then(|ip| ip.as_str());
    let text = text.filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| InBandError::NoAddress {
        namespace: namespace.to_owned(),
    })?;
    let address = text.parse().map_err(|_| InBandError::Malformed {
        object: format!("IP {namespace}/{PROXY}"),
        field: "status.ip".to_owned(),
        expected: "an IPv4 address",
    })?;
    Ok(address)
}

/// The URL of a provider's proxy, as a consumer reaches it: its port is that of `liqoctl`.
/// `client` is the consumer's, `namespace` the provider's tenant namespace there, and `address`
/// the one that the provider says.
///
/// # Rights
/// In the tenant namespace: `list` Configurations.
///
/// # Errors
/// [`Error::InBand`], [`Error::Request`] and [`Error::TimedOut`].
pub async fn in_band_proxy(
    client: &Client,
    namespace: &str,
    provider: &ClusterId,
    address: Ipv4Addr,
) -> Result<ProxyUrl, Error> {
    let mut found = configurations(client, namespace, provider).await?;
    let (Some(configuration), []) = (found.pop(), found.as_slice()) else {
        return Err(several(namespace, provider, found.len()).into());
    };
    let address = seen_at(&configuration, address)?;
    let url = format!("http://{address}:{PORT}").parse();
    Ok(url.map_err(|source| InBandError::Unusable { address, source })?)
}

/// The Configurations of a provider. None if the cluster does not serve any.
async fn configurations(
    client: &Client,
    namespace: &str,
    provider: &ClusterId,
) -> Result<Vec<DynamicObject>, Error> {
    let kind = resource(
        "networking.liqo.io/v1beta1",
        "Configuration",
        "configurations",
    );
    let api: Api<DynamicObject> = Api::namespaced_with(bounded(client), namespace, &kind);
    let of_provider = format!("{}={provider}", names::REMOTE_CLUSTER_ID_LABEL);
    let of_provider = ListParams::default().labels(&of_provider);
    let request = format!("list Configurations in {namespace}");
    match in_time(request.clone(), api.list(&of_provider)).await? {
        Ok(listed) => Ok(listed.items),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(Error::request(request, error)),
    }
}

/// The error if there is not one Configuration, with so many others beside the last one.
fn several(namespace: &str, provider: &ClusterId, others: usize) -> InBandError {
    let (provider, namespace) = (provider.clone(), namespace.to_owned());
    match others {
        0 => InBandError::NotConnected {
            provider,
            namespace,
        },
        others => InBandError::Ambiguous {
            provider,
            namespace,
            found: others + 1,
        },
    }
}

fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// The IP of the proxy of a cluster's API server, in Liqo's namespace.
const PROXY: &str = "api-server-proxy";
/// The port of the proxy, which `liqoctl` takes for granted.
const PORT: u16 = 8118;
