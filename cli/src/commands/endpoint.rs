//! The API server of this cluster, as its peers reach it.

use liqo_auth_inspection::is_loopback;

use crate::{home::Home, output::program};

/// A warning, if only this machine reaches the URL that peers are given.
pub(super) fn loopback(home: &Home) -> Option<String> {
    let url = home.settings.api_server.to_string();
    is_loopback(&url).then(|| {
        format!(
            "only this machine reaches {url}, which {} gives to its peers as its API server. Set the URL that they reach: {} set api-server URL {}",
            home.cluster_id(),
            program(),
            home.site().options()
        )
    })
}
