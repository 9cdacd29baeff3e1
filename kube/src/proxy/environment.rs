//! The proxy that the environment names, by the rules of `kubectl`. Source: Go
//! `golang.org/x/net/http/httpproxy`.

use std::net::IpAddr;

use http::Uri;
use ipnet::IpNet;

/// The proxy for a URL, and the variable that names it. `variable` returns the value of a
/// variable that is set and not empty.
pub(super) fn proxy_for(
    url: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let names = match url.scheme_str() {
        Some("http") => ["HTTP_PROXY", "http_proxy"],
        _ => ["HTTPS_PROXY", "https_proxy"],
    };
    let found = |name: &'static str| Some((name, variable(name)?));
    let (name, proxy) = names.into_iter().find_map(found)?;
    let exceptions = ["NO_PROXY", "no_proxy"].into_iter().find_map(&variable);
    let target = Target::of(url)?;
    if target.is_loopback() || target.is_among(&exceptions.unwrap_or_default()) {
        return None;
    }
    let has_scheme = proxy.contains("://");
    let proxy = if has_scheme {
        proxy
    } else {
        format!("http://{proxy}")
    };
    Some((name, proxy))
}

/// The host and the port of a URL.
struct Target {
    host: String,
    /// The host, if it is an address.
    address: Option<IpAddr>,
    port: u16,
}

impl Target {
    fn of(url: &Uri) -> Option<Self> {
        let host = without_brackets(url.host()?).to_lowercase();
        let usual_port = match url.scheme_str() {
            Some("http") => 80,
            _ => 443,
        };
        Some(Self {
            address: host.parse().ok(),
            host,
            port: url.port_u16().unwrap_or(usual_port),
        })
    }

    fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.address.is_some_and(|address| address.is_loopback())
    }

    fn is_among(&self, exceptions: &str) -> bool {
        let exceptions = exceptions.to_lowercase();
        let mut entries = exceptions.split(',').map(str::trim);
        entries.any(|entry| !entry.is_empty() && self.matches(entry))
    }

    /// Whether an entry of `NO_PROXY` names this target. `example.com` names its subdomains
    /// as well, and `.example.com` names nothing else.
    fn matches(&self, entry: &str) -> bool {
        if entry == "*" {
            return true;
        }
        if let Ok(range) = entry.parse::<IpNet>() {
            return self.address.is_some_and(|address| range.contains(&address));
        }
        let (host, port) = host_and_port(entry);
        if port.is_some_and(|port| port != self.port) {
            return false;
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.address == Some(address);
        }
        let host = host.strip_prefix('*').unwrap_or(host);
        let is_below = |domain: &str| {
            let rest = self.host.strip_suffix(domain);
            rest.is_some_and(|rest| rest.ends_with('.'))
        };
        match host.strip_prefix('.') {
            Some(domain) => is_below(domain),
            None => self.host == host || is_below(host),
        }
    }
}

fn host_and_port(entry: &str) -> (&str, Option<u16>) {
    let (host, port) = match entry.rsplit_once(':') {
        // An IPv6 address without brackets has no port.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    };
    (without_brackets(host), port)
}

fn without_brackets(host: &str) -> &str {
    let inner = host.strip_prefix('[');
    inner
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(host)
}
