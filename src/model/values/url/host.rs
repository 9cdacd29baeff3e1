//! The host of a URL.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::UrlError;
use crate::{
    model::is_dns_subdomain,
    policy::addresses::{is_never_an_api_server, plain},
};

/// The host of a URL: a DNS name or an address.
#[derive(Debug)]
pub(crate) enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    pub(crate) fn of(text: &str) -> Result<Self, UrlError> {
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(UrlError::Host)?;
            let address = inside.parse::<Ipv6Addr>().map_err(|_| UrlError::Host)?;
            return Ok(Self::Address(plain(address.into())));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let last = name.rsplit('.').next().unwrap_or_default();
        if looks_like_number(last) {
            // Some readers accept 2130706433, 0x7f.1 and 0177.0.0.1 as addresses.
            // This library accepts only four decimal numbers.
            let address = text.parse::<Ipv4Addr>().map_err(|_| UrlError::Host)?;
            return Ok(Self::Address(address.into()));
        }
        let name = name.to_ascii_lowercase();
        let is_short = |label: &str| label.len() <= LONGEST_LABEL;
        if name.len() > LONGEST_NAME || !is_dns_subdomain(&name) || !name.split('.').all(is_short) {
            return Err(UrlError::Host);
        }
        Ok(Self::Name(name))
    }

    /// The address that the host names without a look-up: `localhost` is one of the loopback
    /// addresses (RFC 6761 section 6.3).
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name(name) => (name == "localhost" || name.ends_with(".localhost"))
                .then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        }
    }

    /// Whether the host is one of the in-cluster names of a cluster's own API
    /// server.
    pub(crate) fn is_own_cluster(&self) -> bool {
        let Self::Name(name) = self else { return false };
        let Some(rest) = name.strip_prefix("kubernetes") else {
            return false;
        };
        matches!(rest, "" | ".default" | ".default.svc")
            // The domain of a cluster may differ from cluster.local.
            || rest.starts_with(".default.svc.")
    }

    /// Whether no API server can have the address.
    pub(crate) fn is_never_an_api_server(&self) -> bool {
        match self {
            Self::Name(_) => false,
            Self::Address(address) => is_never_an_api_server(*address),
        }
    }
}

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

fn looks_like_number(label: &str) -> bool {
    let is_hexadecimal = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_decimal = label.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal && !label.is_empty()
        || ["0x", "0X"]
            .iter()
            .any(|prefix| label.strip_prefix(prefix).is_some_and(is_hexadecimal))
}

#[cfg(test)]
mod tests;
