//! Objects of kube-rs as objects of the library.

use std::io;

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
};
use liqo_auth::model::{Kind, Object, ObjectRef};
use serde_json::Value;

use crate::{
    Error,
    error::{in_time, succeeds_in_time},
};

/// A kind of the library, as kube-rs describes it.
///
/// # Examples
/// ```
/// use kube::{Api, Client, api::DynamicObject};
/// use liqo_auth::model::Kind;
///
/// let resource = liqo_auth_kube::resource(Kind::Tenant);
/// assert_eq!(resource.plural, "tenants");
///
/// fn tenants(client: Client, namespace: &str) -> Api<DynamicObject> {
///     Api::namespaced_with(client, namespace, &liqo_auth_kube::resource(Kind::Tenant))
/// }
/// ```
pub fn resource(kind: Kind) -> ApiResource {
    ApiResource {
        group: kind.group().to_owned(),
        version: kind.version().to_owned(),
        api_version: kind.api_version().to_owned(),
        kind: kind.as_str().to_owned(),
        plural: kind.plural().to_owned(),
    }
}

/// The objects of a kind: of one namespace, or of the whole cluster.
pub(crate) fn api(client: &Client, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = resource(kind);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// The object with this ID, if it exists.
///
/// # Errors
/// [`Error::Request`] or [`Error::TimedOut`].
pub async fn get(client: &Client, id: &ObjectRef) -> Result<Option<Object>, Error> {
    let namespace = Some(id.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let api = api(client, id.kind, namespace);
    let found = succeeds_in_time(format!("get {id}"), api.get_opt(&id.name)).await?;
    Ok(found.map(|object| read(id.kind, object)))
}

/// The object with this ID, if it exists, by the right to list objects of its kind: the
/// controllers have no right to get each kind.
///
/// # Errors
/// As [`get`].
pub async fn find(client: &Client, id: &ObjectRef) -> Result<Option<Object>, Error> {
    let namespace = Some(id.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let api = api(client, id.kind, namespace);
    let named = ListParams::default().fields(&format!("metadata.name={}", id.name));
    let listed = succeeds_in_time(format!("find {id}"), api.list(&named)).await?;
    let found = listed.items.into_iter().next();
    Ok(found.map(|object| read(id.kind, object)))
}

/// Whether the cluster serves other resources of the kind's group and version, but not
/// this one. Older versions of Liqo have no Renew. False if the whole group is missing:
/// Liqo may not be installed, or the API server may have just started. A cluster may have no
/// offloading at all, so the group of NamespaceMaps may be missing.
pub(crate) async fn is_left_out(client: &Client, kind: Kind) -> bool {
    let request = format!("list the resources of {}", kind.api_version());
    let served = client.list_api_group_resources(kind.api_version());
    match in_time(request, served).await {
        Ok(Ok(served)) => {
            let mut resources = served.resources.iter();
            !served.resources.is_empty() && resources.all(|resource| resource.name != kind.plural())
        }
        Ok(Err(kube::Error::Api(status))) => kind == Kind::NamespaceMap && status.is_not_found(),
        _ => false,
    }
}

/// An object of that kind. The items of a list have no kind of their own.
pub(crate) fn read(kind: Kind, object: DynamicObject) -> Object {
    let mut value = serde_json::to_value(object).unwrap_or(Value::Null);
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), kind.api_version().into());
        fields.insert("kind".to_owned(), kind.as_str().into());
    }
    Object::from_value(value)
}

/// The bytes that an object takes in memory, at least: its JSON, and what belongs to every
/// object.
pub(crate) fn bytes_of(object: &DynamicObject) -> usize {
    let mut counter = Counter(BYTES_OF_EMPTY);
    // A counter takes everything.
    let _ = serde_json::to_writer(&mut counter, object);
    counter.0
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const BYTES_OF_EMPTY: usize = 2048;
