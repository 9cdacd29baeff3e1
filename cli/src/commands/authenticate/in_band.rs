//! `--in-band`: the consumer reaches the provider's API server through Liqo's network.

use liqo_auth::model::{Namespace, NamespaceName, names};

use crate::{
    arguments::Authenticate,
    context::Context,
    failure::{Failure, Result},
    home::{Home, ProviderAccess, Site},
};

/// Whether the proxy of Liqo's network is wanted. As with liqoctl, `--proxy-url` counts before
/// it. A home in a folder has no network.
pub(super) fn is_asked(arguments: &Authenticate, local: &Site, remote: &Site) -> Result<bool> {
    let proxy_url = arguments.known.proxy_url.as_deref().unwrap_or_default();
    if !arguments.in_band || !proxy_url.is_empty() {
        return Ok(false);
    }
    match [local, remote]
        .into_iter()
        .find(|site| site.folder().is_some())
    {
        None => Ok(true),
        Some(folder) => Err(Failure::usage(format!(
            "--in-band needs two clusters, since their Liqo says where the proxy is, and {folder} is a home. Name the proxy with --proxy-url URL"
        ))),
    }
}

/// The URL of the provider's proxy in Liqo's network, as this cluster reaches it. Nothing is
/// written.
pub(super) fn proxy_url(
    context: &Context,
    local: &Home,
    remote: &ProviderAccess,
) -> Result<String> {
    let provider = remote.cluster_id();
    let address = remote.in_band_address()?;
    let namespace = tenant_namespace(local, remote)?;
    let url = local.in_band_proxy(&namespace, provider, address)?;
    context.printer.message(&format!(
        "In band: {} reaches the API server of {provider} by the proxy {url}.",
        local.cluster_id()
    ));
    Ok(url.to_string())
}

/// The tenant namespace of the provider at the consumer, or the name that it gets.
fn tenant_namespace(local: &Home, remote: &ProviderAccess) -> Result<NamespaceName> {
    let provider = remote.cluster_id();
    let is_of_provider = |namespace: &&Namespace| {
        let labels = &namespace.metadata.labels;
        labels
            .get(names::REMOTE_CLUSTER_ID_LABEL)
            .map(String::as_str)
            == Some(provider.as_str())
            && labels
                .get(names::TENANT_NAMESPACE_LABEL)
                .map(String::as_str)
                == Some(names::TRUE)
    };
    let mut namespaces = local.all::<Namespace>();
    let name = match namespaces.find(is_of_provider) {
        Some(namespace) => namespace.metadata.name.clone(),
        None => names::tenant_namespace(provider),
    };
    name.parse()
        .map_err(|error| Failure::at_odds(format!("the namespace {name}: {error}")))
}
