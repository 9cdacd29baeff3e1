//! The peers of tenant namespaces.

use crate::model::{ClusterId, Kind, Namespace, names};

/// The peer that may write objects of this kind in a namespace: by the labels of the
/// Namespace. The default name of a tenant namespace counts while the Namespace is not
/// known. For Tenants and Identities, which are looked up by name in all namespaces, it
/// always counts.
pub(super) fn owner_of(kind: Kind, name: &str, namespace: Option<&Namespace>) -> Option<ClusterId> {
    let by_name = || {
        name.strip_prefix(names::TENANT_NAMESPACE_PREFIX)?
            .parse()
            .ok()
    };
    match (namespace, kind) {
        (None, _) => by_name(),
        (Some(namespace), Kind::Tenant | Kind::Identity) => namespace.tenant().or_else(by_name),
        (Some(namespace), _) => namespace.tenant(),
    }
}
