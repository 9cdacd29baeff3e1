//! The ranges of the addresses that a cluster's Services have.

use ipnet::IpNet;
use kube::{Client, api::DynamicObject};

use super::shown;
use crate::Error;

/// The ranges in the cluster's ServiceCIDRs.
pub(super) async fn list(client: &Client) -> Result<Vec<IpNet>, Error> {
    let found = shown::list(client, "networking.k8s.io", "ServiceCIDR").await?;
    Ok(found.iter().flat_map(ranges_of).collect())
}

fn ranges_of(found: &DynamicObject) -> Vec<IpNet> {
    let ranges = found.data.pointer("/spec/cidrs");
    let ranges = ranges.and_then(serde_json::Value::as_array);
    let texts = ranges
        .into_iter()
        .flatten()
        .filter_map(|range| range.as_str());
    texts.filter_map(|range| range.parse().ok()).collect()
}
