//! The options about a provider.

use liqo_auth::model::ClusterId;

use crate::{
    arguments::Known,
    failure::{Failure, Result},
    home::Home,
};

/// Stores the options about a provider in the settings. Settings without an option
/// stay as they are.
pub(super) fn keep(home: &mut Home, peer: &ClusterId, known: &Known) -> Result<()> {
    if known.proxy_url.is_none()
        && known.provider_keys.is_empty()
        && !known.accept_unproven_provider
        && !known.publicly_trusted
        && !known.accept_aws
    {
        return Ok(());
    }
    let proxy_url = match known.proxy_url.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(url) => {
            Some(Some(url.parse().map_err(|error| {
                Failure::usage(format!("--proxy-url: {error}"))
            })?))
        }
    };
    let settings = home.peer_mut(peer);
    if let Some(proxy_url) = proxy_url {
        settings.proxy_url = proxy_url;
    }
    if !known.provider_keys.is_empty() {
        settings.provider_keys.clone_from(&known.provider_keys);
    }
    settings.accept_unproven_provider |= known.accept_unproven_provider;
    settings.publicly_trusted |= known.publicly_trusted;
    settings.accept_aws |= known.accept_aws;
    Ok(())
}
