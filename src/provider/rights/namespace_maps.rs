//! The NamespaceMaps of a peer whose rights are withdrawn.
//!
//! For each namespace that a NamespaceMap names, Liqo binds the group in the label
//! `liqo.io/originID`. If somebody deletes this binding, Liqo makes it again. So the
//! NamespaceMaps come before the bindings. Liqo does not make a binding for a NamespaceMap that
//! is being deleted, so nobody has to wait for its finalizers. With an empty label, the API
//! server refuses the binding, since no group has an empty name. The label stays, since
//! Liqo's controller follows only the NamespaceMaps that have it: it still deletes the
//! namespaces of one that is deleted later.
//!
//! Source: Liqo `NamespaceMapReconciler`.

use crate::{
    machine::replication,
    model::{Kind, Metadata, Object, names},
    provider::{look::Look, observed::Observed, records::Plan},
};

/// Takes the NamespaceMaps what they give: as in Liqo, those of a drained peer are deleted,
/// and Liqo then deletes the namespaces. After an end, the namespaces stay.
pub(super) fn withdraw_namespace_maps(look: &Look<'_>, plan: &mut Plan<'_>) {
    if look.observed.is_drained() {
        return delete_namespace_maps(look, plan);
    }
    let maps = look.observed.namespace_maps.iter();
    for map in maps.filter(|map| grants(map, look.observed)) {
        match map.as_unreadable() {
            // Its label may be beyond what can be read.
            Some(_) => plan.withdraw_present(map),
            None => plan.withdraw_label(map, names::REPLICATION_ORIGIN_LABEL),
        }
    }
}

/// Deletes all NamespaceMaps in the tenant namespace, whatever their labels and finalizers
/// say, except this cluster's own.
pub(in crate::provider) fn delete_namespace_maps(look: &Look<'_>, plan: &mut Plan<'_>) {
    for map in &look.observed.namespace_maps {
        if !is_own(map, look) {
            plan.withdraw_present(map);
        }
    }
}

/// Whether Liqo may bind a group by this NamespaceMap.
pub(super) fn grants(map: &Object, observed: &Observed<'_>) -> bool {
    let metadata = map.metadata();
    let may_be_labelled = map.as_unreadable().is_some()
        && observed.was_let_in()
        && !replication::is_requested_from(metadata, &observed.peer);
    metadata.deletion_timestamp.is_none() && (names_origin(metadata) || may_be_labelled)
}

/// Whether this is the NamespaceMap by which this cluster offloads to the peer. It has the
/// peer's name, and exists beside a slice that this cluster requests from the peer. It gives
/// the peer nothing, since it does not name an origin.
fn is_own(map: &Object, look: &Look<'_>) -> bool {
    let (observed, peer) = (look.observed, look.peer());
    let is_requested = |object: &Object| replication::is_requested_from(object.metadata(), peer);
    let is_here = |object: &Object| object.key().1 == observed.namespace_name();
    let mut slices = look.view.present(Kind::ResourceSlice);
    map.key().2 == peer.as_str()
        && is_requested(map)
        && !names_origin(map.metadata())
        && slices.any(|slice| is_here(slice) && is_requested(slice))
}

/// Whether a label names the cluster whose group Liqo binds.
fn names_origin(metadata: &Metadata) -> bool {
    let origin = metadata.label(names::REPLICATION_ORIGIN_LABEL);
    origin.is_some_and(|origin| !origin.is_empty())
}
