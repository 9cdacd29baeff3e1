//! Objects as kube-rs has them, and as the library reads them.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
};
use liqo_auth::model::{Kind, Object, ObjectRef};
use serde_json::Value;

use crate::Error;

/// The objects of a kind: of one namespace, or of the whole cluster.
pub(crate) fn api(client: &Client, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: kind.group().to_owned(),
        version: kind.version().to_owned(),
        api_version: kind.api_version().to_owned(),
        kind: kind.as_str().to_owned(),
        plural: kind.plural().to_owned(),
    };
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// The object of that name, if there is one.
pub(crate) async fn get(client: &Client, id: &ObjectRef) -> Result<Option<Object>, Error> {
    let namespace = Some(id.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let found = api(client, id.kind, namespace).get_opt(&id.name).await;
    let found = found.map_err(|error| Error::request(format!("GET {id}"), error))?;
    Ok(found.map(|object| read(id.kind, object)))
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
