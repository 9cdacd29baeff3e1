//! The peers of a set of objects.

use std::collections::{BTreeMap, BTreeSet};

use super::placement;
use crate::{
    machine::tenancy,
    model::{ClusterId, Namespace, Object, Resource},
};

/// The peers that a set of objects concerns: those at which a program without a [`Mirror`]
/// has to look at its start, for example if it keeps the objects in a database.
///
/// Give all objects, in any order: a Namespace decides whose the objects in it are, by the
/// rules of the [`Mirror`]. This cluster itself may be among the results, and is not its own
/// peer. A ClusterRole that concerns every peer names none.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     machine::peers_of,
///     model::{ClusterId, Namespace, Object, Tenant},
/// };
///
/// let rome: ClusterId = "rome".parse()?;
/// let mut tenant = Tenant::default();
/// tenant.metadata.name = "rome".to_owned();
/// tenant.metadata.namespace = "liqo-tenant-rome".to_owned();
/// let stored: [Object; 2] = [tenant.into(), Namespace::for_tenant(&rome).into()];
/// assert!(peers_of(&stored).into_iter().eq([rome]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Mirror`]: super::Mirror
pub fn peers_of<'a>(objects: impl IntoIterator<Item = &'a Object>) -> BTreeSet<ClusterId> {
    let objects: Vec<&Object> = objects.into_iter().collect();
    let namespaces: BTreeMap<&str, &Namespace> = objects
        .iter()
        .copied()
        .filter_map(Namespace::from_object)
        .map(|namespace| (namespace.metadata.name.as_str(), namespace))
        .collect();
    let mut peers = BTreeSet::new();
    for object in objects {
        let concerned = placement::of(object, |kind, namespace| {
            tenancy::owner_of(kind, namespace, namespaces.get(namespace).copied())
        });
        peers.extend(concerned.named_peers().iter().cloned());
    }
    peers
}
