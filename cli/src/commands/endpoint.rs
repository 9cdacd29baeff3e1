//! The API server of this cluster, as its peers reach it.

use std::net::IpAddr;

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

/// Whether the host of a URL is this machine itself.
pub(super) fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(host) => host.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<IpAddr>();
    host == "localhost"
        || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for url in [
            "https://127.0.0.1:6443",
            "https://localhost",
            "https://[::1]:6443/",
            "https://0.0.0.0",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "https://10.0.0.1:6443",
            "https://localhost.example",
            "https://[fd00::1]",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
