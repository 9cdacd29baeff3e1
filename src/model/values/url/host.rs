//! The host of a URL.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::UrlError;
use crate::model::is_dns_subdomain;

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
            return Ok(Self::Address(embedded_ipv4_or_self(address)));
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

    /// Whether the address is link-local, unspecified, multicast, broadcast or
    /// AWS's metadata address. No API server has such an address, but some clouds
    /// serve a machine's credentials there.
    pub(crate) fn is_never_an_api_server(&self) -> bool {
        match self {
            Self::Name(_) => false,
            Self::Address(IpAddr::V4(address)) => is_never_an_api_server(*address),
            Self::Address(IpAddr::V6(address)) => {
                // The address at which AWS serves a machine's credentials.
                let is_metadata = *address == METADATA;
                address.is_unicast_link_local()
                    || is_metadata
                    || address.is_unspecified()
                    || address.is_multicast()
                    || leads_to_link_local(*address)
            }
        }
    }
}

fn is_never_an_api_server(address: Ipv4Addr) -> bool {
    address.is_link_local()
        || address.octets().first() == Some(&0)
        || address.is_multicast()
        || address.is_broadcast()
}

const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// The IPv4 address that an IPv6 address embeds: mapped, translated (RFC 2765),
/// compatible, or by the prefixes of NAT64 (RFC 6052) and 6to4 (RFC 3056).
fn embedded_ipv4_or_self(address: Ipv6Addr) -> IpAddr {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => v4(g, h),
        // `::` and `::1` embed no IPv4 address.
        [0, 0, 0, 0, 0, 0] if g != 0 || h > 1 => v4(g, h),
        [0x2002, high, low, ..] => v4(high, low),
        _ => IpAddr::V6(address),
    }
}

/// Whether an IPv6 address leads to a link-local IPv4 address by a tunnel or a
/// translator: NAT64 with a local prefix of any length (RFC 8215, RFC 6052), Teredo
/// (RFC 4380), ISATAP (RFC 5214).
fn leads_to_link_local(address: Ipv6Addr) -> bool {
    let [a, b, c, _, e, f, ..] = address.segments();
    let [_, _, _, _, i, j, k, l, _, m, n, o, p, q, r, s] = address.octets();
    let last = [p, q, r, s];
    let inside = match [a, b, c] {
        // In RFC 6052, the ninth byte is never part of the IPv4 address.
        [0x64, 0xff9b, 1] => [[k, l, m, n], [l, m, n, o], [m, n, o, p], last],
        // A Teredo address contains the server's address, and the client's address with
        // inverted bits.
        [0x2001, 0, _] => [[i, j, k, l], last.map(|byte| !byte), last, last],
        _ if matches!([e, f], [0 | 0x200, 0x5efe]) => [last; 4],
        _ => return false,
    };
    inside
        .iter()
        .any(|bytes| Ipv4Addr::from(*bytes).is_link_local())
}

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
