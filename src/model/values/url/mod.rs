//! The URLs of API servers and of proxies.

mod host;

use core::{net::IpAddr, str::FromStr};

use self::host::Host;
use crate::model::as_text;

/// The URL of an API server that a consumer may connect to: `https`, a host, an
/// optional port and an optional path, and nothing else.
///
/// The host is not an in-cluster name of the consumer's own API server
/// (`kubernetes.default.svc`), and not a link-local address, at which clouds serve
/// credentials. A policy may refuse further addresses
/// ([`Addresses`](crate::policy::Addresses)). Source: RFC 3986 section 3.
///
/// # Examples
/// ```
/// use liqo_auth::model::{ApiServerUrl, UrlError};
///
/// let url: ApiServerUrl = "https://172.19.0.3:6443".parse()?;
/// assert_eq!(url.as_str(), "https://172.19.0.3:6443");
/// assert_eq!("https://kubernetes.default.svc".parse::<ApiServerUrl>(), Err(UrlError::OwnCluster));
/// # Ok::<(), UrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub struct ApiServerUrl(Box<str>);

/// The URL of a proxy to an API server: `http`, `https` or `socks5`, a host and an
/// optional port, and nothing else.
///
/// # Examples
/// ```
/// use liqo_auth::model::{ProxyUrl, UrlError};
///
/// let url: ProxyUrl = "http://10.70.0.2:8118".parse()?;
/// assert_eq!(url.as_str(), "http://10.70.0.2:8118");
/// assert_eq!("socks5://user@proxy".parse::<ProxyUrl>(), Err(UrlError::UserInformation));
/// # Ok::<(), UrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub struct ProxyUrl(Box<str>);

/// Why a text is not an [`ApiServerUrl`] or [`ProxyUrl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The text is too long.
    #[error("the URL has {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// A byte is not visible ASCII, or not allowed in a URL.
    #[error("byte {at} is not allowed in a URL")]
    Character {
        /// The position of the byte, counted from 0.
        at: usize,
    },
    /// The text has no scheme, or a scheme that is not allowed.
    #[error(
        "the URL does not begin as expected: with https:// for an API server, with http://, https:// or socks5:// for a proxy"
    )]
    Scheme,
    /// The URL has a user before the host, perhaps with a password.
    #[error("the URL has user information")]
    UserInformation,
    /// The URL has a query.
    #[error("the URL has a query")]
    Query,
    /// The URL has a fragment.
    #[error("the URL has a fragment")]
    Fragment,
    /// The URL of a proxy has a path, or the path of an API server has `.`, `..` or
    /// a character that is not allowed.
    #[error(
        "the URL of a proxy has a path, or the path of an API server has `.`, `..` or a character that is not allowed"
    )]
    Path,
    /// The host is neither a DNS name nor an IPv4 address of four decimal
    /// numbers nor an IPv6 address in brackets.
    #[error(
        "the host of the URL is not a DNS name, a dotted IPv4 address or an IPv6 address in brackets"
    )]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("the port of the URL is not a number from 1 to 65535")]
    Port,
    /// The host is a name of this cluster's own API server.
    #[error("the host of the URL is a name of this cluster's own API server")]
    OwnCluster,
    /// The host is an address that no API server can have, such as a link-local or
    /// multicast address.
    #[error("the host of the URL is a link-local, multicast or unspecified address")]
    Address,
}

impl ApiServerUrl {
    /// The URL, exactly as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address that the URL names without a look-up.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        address_in(self.as_str())
    }
}

impl ProxyUrl {
    /// The URL, exactly as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address that the URL names without a look-up.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        address_in(self.as_str())
    }
}

impl FromStr for ApiServerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let parts = Parts::of(text, &["https"])?;
        if !is_plain_path(parts.path) {
            return Err(UrlError::Path);
        }
        let host = Host::of(parts.host)?;
        if host.is_own_cluster() {
            return Err(UrlError::OwnCluster);
        }
        if host.is_never_an_api_server() {
            return Err(UrlError::Address);
        }
        Ok(Self(text.into()))
    }
}

impl FromStr for ProxyUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let parts = Parts::of(text, &PROXY_SCHEMES)?;
        if !matches!(parts.path, "" | "/") {
            return Err(UrlError::Path);
        }
        if Host::of(parts.host)?.is_never_an_api_server() {
            return Err(UrlError::Address);
        }
        Ok(Self(text.into()))
    }
}

as_text!(ApiServerUrl, ProxyUrl);

/// The address that a valid URL names without a look-up.
fn address_in(url: &str) -> Option<IpAddr> {
    let parts = Parts::of(url, &PROXY_SCHEMES).ok()?;
    Host::of(parts.host).ok()?.address()
}

/// The schemes of a proxy. That of an API server is one of them.
const PROXY_SCHEMES: [&str; 3] = ["http", "https", "socks5"];
const LONGEST: usize = 2048;

/// The parts of a URL that are checked further.
struct Parts<'t> {
    host: &'t str,
    path: &'t str,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str, schemes: &[&str]) -> Result<Self, UrlError> {
        let (found, limit) = (text.len(), LONGEST);
        if found > limit {
            return Err(UrlError::TooLong { found, limit });
        }
        // Parsers differ on backslashes, quotes and similar characters, and no URL
        // needs them.
        if let Some(at) = text.bytes().position(|byte| !is_allowed(byte)) {
            return Err(UrlError::Character { at });
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        if !schemes.contains(&scheme) {
            return Err(UrlError::Scheme);
        }
        if rest.contains('#') {
            return Err(UrlError::Fragment);
        }
        if rest.contains('?') {
            return Err(UrlError::Query);
        }
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).ok_or(UrlError::Host)?;
        if authority.contains('@') {
            return Err(UrlError::UserInformation);
        }
        let end = match authority.rfind(']') {
            Some(bracket) => bracket + 1,
            None => authority.find(':').unwrap_or(authority.len()),
        };
        let (host, port) = authority.split_at_checked(end).ok_or(UrlError::Host)?;
        match port.strip_prefix(':') {
            Some(port) if !is_port(port) => return Err(UrlError::Port),
            None if !port.is_empty() => return Err(UrlError::Host),
            _ => {}
        }
        Ok(Self { host, path })
    }
}

/// The characters of RFC 3986 except `%`, which could encode other characters.
fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte)
}

fn is_port(text: &str) -> bool {
    // `parse` would also accept a sign or a leading zero.
    text.starts_with(|digit: char| matches!(digit, '1'..='9')) && text.parse::<u16>().is_ok()
}

fn is_plain_path(path: &str) -> bool {
    path.split('/').all(|segment| {
        !matches!(segment, "." | "..")
            && segment
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte))
    })
}

#[cfg(test)]
mod tests;
