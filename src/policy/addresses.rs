//! The addresses at which a provider's API server may be.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// Which addresses the API server of a provider may have, or the proxy in front of it.
///
/// The provider names its API server, and this cluster sends requests there. So addresses are
/// refused at which this cluster itself may answer:
///
/// - loopback addresses,
/// - the ranges in [`refused`](Self::refused), such as this cluster's range of Services.
///
/// A range in [`allowed`](Self::allowed) is allowed in spite of that. Link-local, multicast,
/// broadcast and unspecified addresses, and those at which clouds serve credentials, are
/// always refused: no API server has one.
///
/// The library checks the addresses that URLs contain, and takes `localhost` for `127.0.0.1`.
/// It looks up no name. The program that connects looks the name up, and connects only to
/// addresses that [`allow`](Self::allow) allows.
///
/// # Examples
/// ```
/// use liqo_auth::policy::Policy;
///
/// let policy: Policy = serde_json::from_str(
///     r#"{ "addresses": { "allowed": ["127.0.0.0/8"], "refused": ["10.96.0.0/12"] } }"#,
/// )?;
/// assert!(policy.addresses.allow("127.0.0.1".parse()?));
/// assert!(!policy.addresses.allow("10.96.0.1".parse()?));
/// assert!(!Policy::default().addresses.allow("127.0.0.1".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Addresses {
    /// Ranges that are allowed although they are refused otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<IpNet>,
    /// Ranges that are refused, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<IpNet>,
}

impl Addresses {
    /// Loopback addresses are refused, but no other range.
    pub(super) const fn usual() -> Self {
        Self {
            allowed: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Whether an API server, or the proxy in front of it, may have this address. An IPv4
    /// address inside of an IPv6 address counts as itself.
    pub fn allow(&self, address: IpAddr) -> bool {
        let address = plain(address);
        let is_in = |ranges: &[IpNet]| ranges.iter().any(|range| range.contains(&address));
        !is_never_an_api_server(address)
            && (is_in(&self.allowed) || !(address.is_loopback() || is_in(&self.refused)))
    }
}

/// Whether the address is link-local, unspecified, multicast, broadcast or AWS's metadata
/// address. No API server has such an address, but some clouds serve a machine's credentials
/// there.
pub(crate) fn is_never_an_api_server(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_link_local()
                || address.octets().first() == Some(&0)
                || address.is_multicast()
                || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            address.is_unicast_link_local()
                || address == METADATA
                || address.is_unspecified()
                || address.is_multicast()
                || leads_to_link_local(address)
        }
    }
}

/// The IPv4 address that an IPv6 address embeds, else the address itself. An IPv4 address can
/// be mapped, translated (RFC 2765), compatible, or embedded by the prefixes of NAT64
/// (RFC 6052) and 6to4 (RFC 3056).
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(address) = address else {
        return address;
    };
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

/// The address at which AWS serves a machine's credentials.
const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn ranges(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn this_machine_and_the_refused_ranges_are_refused() {
        let addresses = Addresses {
            allowed: Vec::new(),
            refused: ranges(&["10.96.0.0/12", "fd00:96::/108"]),
        };
        for refused in [
            "127.0.0.1",
            "127.1.2.3",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "10.96.0.1",
            "10.111.255.255",
            "::ffff:10.96.0.1",
            "fd00:96::1",
            "169.254.169.254",
            "0.0.0.0",
        ] {
            assert!(!addresses.allow(address(refused)), "{refused}");
        }
        for allowed in ["10.95.255.255", "10.112.0.0", "203.0.113.7", "fd00:97::1"] {
            assert!(addresses.allow(address(allowed)), "{allowed}");
        }
    }

    #[test]
    fn an_allowed_range_is_allowed_unless_no_api_server_can_be_there() {
        let addresses = Addresses {
            allowed: ranges(&["127.0.0.1/32", "10.96.7.0/24", "169.254.0.0/16"]),
            refused: ranges(&["10.96.0.0/12"]),
        };
        for allowed in ["127.0.0.1", "::ffff:127.0.0.1", "10.96.7.9"] {
            assert!(addresses.allow(address(allowed)), "{allowed}");
        }
        for refused in ["127.0.0.2", "::1", "10.96.8.1", "169.254.169.254"] {
            assert!(!addresses.allow(address(refused)), "{refused}");
        }
    }
}
