//! Assigns objects to peers.
//!
//! No peer can write anything that removes an object from another peer's view:
//! - In a tenant namespace, the namespace decides. Labels are ignored there,
//!   because the peer can write them.
//! - The name of an object also decides, because some objects are looked up by name.
//!   In a tenant namespace, the names of Secrets, Tenants and Identities do not.
//! - Where no peer can write, labels decide: in other namespaces, and for objects
//!   without a namespace.

use crate::{
    machine::Concerns,
    model::{ClusterId, Kind, Object, names},
};

/// The peers that an object concerns. `owner` returns the peer that may
/// write objects of a kind in a namespace.
pub(super) fn of(object: &Object, owner: impl FnOnce(Kind, &str) -> Option<ClusterId>) -> Concerns {
    let (kind, namespace, name) = object.key();
    let metadata = object.metadata();
    let label = |key: &str| metadata.label(key);
    let owner = kind
        .is_namespaced()
        .then(|| owner(kind, namespace))
        .flatten();
    let is_elsewhere = owner.is_none();
    let mut peers: Vec<ClusterId> = owner.into_iter().collect();
    let is_replica = label(names::REPLICATED_LABEL).is_some();
    // The destination of a replica is this cluster itself.
    let by_label = LABELS
        .iter()
        .filter(|key| !is_replica || **key != names::REPLICATION_DESTINATION_LABEL)
        .filter_map(|key| label(key));
    let user = label(names::PEERING_USER_LABEL)
        .and_then(|user| user.strip_prefix(names::PEERING_USER_PREFIX));
    let named = match kind {
        // The name of a replica contains the ID of this cluster itself.
        Kind::Renew if is_replica => None,
        // A record is never in a namespace where a peer can write. A peer may write a Tenant
        // with any name in its own tenant namespace.
        Kind::Secret | Kind::Tenant | Kind::Identity if !is_elsewhere => None,
        kind => named_peer(kind, name),
    };
    let found = by_label
        .chain(user)
        .filter(|_| is_elsewhere)
        .chain(named)
        .chain(match object {
            Object::ForeignCluster(cluster) => {
                Some(cluster.spec.cluster_identity.cluster_id.as_str())
            }
            _ => None,
        });
    peers.extend(found.filter_map(|peer| peer.parse::<ClusterId>().ok()));
    match kind {
        Kind::ClusterRole | Kind::Role if peers.is_empty() => Concerns::Everybody,
        _ => Concerns::peers(peers),
    }
}

/// The peer that the object's name contains, for the kinds that are looked up by
/// name.
fn named_peer(kind: Kind, name: &str) -> Option<&str> {
    let prefixes: &[&str] = match kind {
        Kind::Tenant => return Some(name),
        Kind::Namespace => &[names::TENANT_NAMESPACE_PREFIX],
        Kind::Identity | Kind::Renew => &[names::CONTROL_PLANE_IDENTITY_PREFIX],
        Kind::Secret => &RECORD_PREFIXES,
        _ => &[],
    };
    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// The labels that name a peer.
const LABELS: [&str; 5] = [
    names::REMOTE_CLUSTER_ID_LABEL,
    names::REPLICATION_ORIGIN_LABEL,
    names::REPLICATION_DESTINATION_LABEL,
    names::RECORD_PEER_LABEL,
    names::DISCOVERY_CLUSTER_ID_LABEL,
];
/// The prefixes of the names of the records of peers.
const RECORD_PREFIXES: [&str; 2] = [names::PROVIDER_RECORD_PREFIX, names::CONSUMER_RECORD_PREFIX];
