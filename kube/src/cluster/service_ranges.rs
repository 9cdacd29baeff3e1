//! The ranges of the addresses that a cluster's Services have.

use ipnet::IpNet;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
};

use crate::{Error, error::in_time};

/// The ranges in the cluster's ServiceCIDRs. None if the cluster does not serve them, or does
/// not show them to this user.
///
/// # Errors
/// [`Error::Request`] and [`Error::TimedOut`].
pub(super) async fn list(client: &Client) -> Result<Vec<IpNet>, Error> {
    let kind = ApiResource {
        group: "networking.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "networking.k8s.io/v1".to_owned(),
        kind: "ServiceCIDR".to_owned(),
        plural: "servicecidrs".to_owned(),
    };
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let request = "list ServiceCIDRs";
    match in_time(request.to_owned(), api.list(&ListParams::default())).await? {
        Ok(listed) => Ok(listed.items.iter().flat_map(ranges_of).collect()),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_forbidden() => {
            Ok(Vec::new())
        }
        Err(error) => Err(Error::request(request, error)),
    }
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
