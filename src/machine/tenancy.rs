//! The peers of tenant namespaces.

use crate::model::{ClusterId, Namespace, names};

/// The peer of a tenant namespace: by the labels of the Namespace, or else by the
/// default name.
pub(super) fn owner_of(name: &str, namespace: Option<&Namespace>) -> Option<ClusterId> {
    namespace.and_then(by_labels).or_else(|| by_name(name))
}

fn by_labels(namespace: &Namespace) -> Option<ClusterId> {
    let label = |key: &str| namespace.metadata.label(key);
    let mut tenancies = TENANCY.iter();
    let found = tenancies.find(|(tenancy, _)| label(tenancy) == Some(names::TRUE));
    found.and_then(|(_, peer)| label(peer)?.parse().ok())
}

fn by_name(name: &str) -> Option<ClusterId> {
    let peer = name.strip_prefix(names::TENANT_NAMESPACE_PREFIX)?;
    peer.parse().ok()
}

/// The pairs of labels of a tenant namespace. The first label marks the namespace,
/// and the second has the peer's cluster ID. Liqo 0.2 to 0.10 uses the second pair.
const TENANCY: [(&str, &str); 2] = [
    (
        names::TENANT_NAMESPACE_LABEL,
        names::REMOTE_CLUSTER_ID_LABEL,
    ),
    (
        names::DISCOVERY_TENANT_NAMESPACE_LABEL,
        names::DISCOVERY_CLUSTER_ID_LABEL,
    ),
];
