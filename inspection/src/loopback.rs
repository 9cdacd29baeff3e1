//! The addresses of this machine itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// All loopback addresses.
pub const LOOPBACK: [IpNet; 2] = [
    IpNet::new_assert(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    IpNet::new_assert(IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
];

/// Whether the host of a URL is this machine itself.
pub fn is_loopback(url: &str) -> bool {
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
