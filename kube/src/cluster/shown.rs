//! What a cluster shows to this user, of kinds that the library does not have.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
};

use crate::{Error, error::in_time};

/// All objects of a kind in no namespace. None if the cluster does not serve them, or does not
/// show them to this user.
///
/// # Errors
/// [`Error::Request`] and [`Error::TimedOut`].
pub(super) async fn list(
    client: &Client,
    group: &str,
    kind: &str,
) -> Result<Vec<DynamicObject>, Error> {
    let resource = ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{group}/v1"),
        kind: kind.to_owned(),
        plural: plural(kind),
    };
    match selected(client, &resource, None, &ListParams::default()).await {
        Err(error) if error.is_forbidden() => Ok(Vec::new()),
        listed => listed,
    }
}

/// The selected objects of a kind, of one namespace or of the whole cluster. None if the cluster
/// does not serve them.
///
/// # Errors
/// [`Error::Request`] and [`Error::TimedOut`].
pub(super) async fn selected(
    client: &Client,
    resource: &ApiResource,
    namespace: Option<&str>,
    selected: &ListParams,
) -> Result<Vec<DynamicObject>, Error> {
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
    let request = format!("list {}", resource.plural);
    match in_time(request.clone(), api.list(selected)).await? {
        Ok(listed) => Ok(listed.items),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(Error::request(request, error)),
    }
}

fn plural(kind: &str) -> String {
    let ending = if kind.ends_with('s') { "es" } else { "s" };
    format!("{}{ending}", kind.to_lowercase())
}
