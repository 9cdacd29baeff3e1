//! Where a consumer sees the networks of a provider, by Liqo's Configuration.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use kube::api::DynamicObject;
use serde_json::Value;

use super::InBandError;

/// The address at which a consumer sees an address of its provider. Pod networks come first, as
/// with Liqo.
///
/// Liqo takes an address in none of the networks as it is. Here it is refused: the provider says
/// the address, and could name any other host.
pub(super) fn seen_at(
    configuration: &DynamicObject,
    address: Ipv4Addr,
) -> Result<Ipv4Addr, InBandError> {
    if !is_current(configuration) {
        return Err(not_remapped(configuration));
    }
    for networks in ["pod", "external"] {
        if let Some(seen) = seen_within(configuration, networks, address)? {
            return Ok(seen);
        }
    }
    Err(InBandError::OtherNetwork {
        address,
        configuration: name(configuration),
    })
}

/// Whether Liqo has remapped the networks that the Configuration has now. Before Liqo 1.2, a
/// Configuration has no conditions.
fn is_current(configuration: &DynamicObject) -> bool {
    let conditions = configuration.data.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let condition = conditions.find(|condition| condition["type"] == REMAPPED);
    condition.is_none_or(|condition| {
        let observed = condition["observedGeneration"].as_i64().unwrap_or_default();
        condition["status"] == "True"
            && observed == configuration.metadata.generation.unwrap_or_default()
    })
}

/// Where the consumer sees an address in one of these networks. None if it is in none of them.
/// The two lists have the same order.
fn seen_within(
    configuration: &DynamicObject,
    networks: &str,
    address: Ipv4Addr,
) -> Result<Option<Ipv4Addr>, InBandError> {
    let of_provider = ranges(configuration, "spec", networks)?;
    let mut of_provider = of_provider.iter();
    let Some(at) = of_provider.position(|range| range.contains(&IpAddr::V4(address))) else {
        return Ok(None);
    };
    match ranges(configuration, "status", networks)?.get(at) {
        Some(IpNet::V4(range)) => Ok(Some(moved(address, *range))),
        Some(IpNet::V6(_)) => Err(malformed(configuration, "status", networks)),
        None => Err(not_remapped(configuration)),
    }
}

/// The address with this network, and with its own host part.
fn moved(address: Ipv4Addr, range: Ipv4Net) -> Ipv4Addr {
    let host = u32::from(address) & u32::from(range.hostmask());
    Ipv4Addr::from(u32::from(range.network()) | host)
}

fn ranges(
    configuration: &DynamicObject,
    part: &str,
    networks: &str,
) -> Result<Vec<IpNet>, InBandError> {
    let listed = format!("/{part}/remote/cidr/{networks}");
    let listed = configuration.data.pointer(&listed);
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let ranges = listed.map(|range| range.as_str().and_then(|range| range.parse().ok()));
    let ranges: Option<Vec<IpNet>> = ranges.collect();
    ranges.ok_or_else(|| malformed(configuration, part, networks))
}

fn not_remapped(configuration: &DynamicObject) -> InBandError {
    InBandError::NotRemapped {
        configuration: name(configuration),
    }
}

fn malformed(configuration: &DynamicObject, part: &str, networks: &str) -> InBandError {
    InBandError::Malformed {
        object: format!("Configuration {}", name(configuration)),
        field: format!("{part}.remote.cidr.{networks}"),
        expected: "ranges of addresses such as 10.70.0.0/16",
    }
}

fn name(configuration: &DynamicObject) -> String {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let metadata = &configuration.metadata;
    format!("{}/{}", text(&metadata.namespace), text(&metadata.name))
}

/// The condition that Liqo sets when it has remapped all networks.
const REMAPPED: &str = "NetworkCIDRsConfigured";

#[cfg(test)]
mod tests;
