//! The origin that the NamespaceMaps of a peer with rights name.

use super::withdrawal::is_ending;
use crate::{
    model::{NamespaceMap, names},
    provider::{look::Look, records::Plan},
};

/// Has the NamespaceMaps of a peer that has its rights name this peer as their origin. The
/// peer could name another one, which would have rights after its own drain. An earlier end
/// has emptied the label, and Liqo's replicator does not write it again.
pub(in crate::provider) fn correct_origins(look: &Look<'_>, plan: &mut Plan<'_>) {
    let (observed, peer) = (look.observed, look.peer());
    if !observed.has_rights() || observed.is_drained() || is_ending(observed) {
        return;
    }
    let namespace = observed.namespace_name();
    let label = names::REPLICATION_ORIGIN_LABEL;
    let wrong = look.view.readable::<NamespaceMap>().filter(|map| {
        let metadata = &map.metadata;
        let origin = metadata.label(label);
        metadata.namespace == namespace
            && metadata.deletion_timestamp.is_none()
            && origin.is_some_and(|origin| origin != peer.as_str())
    });
    for map in wrong {
        plan.edit(map, |map| {
            let labels = &mut map.metadata.labels;
            labels.insert(label.to_owned(), peer.to_string());
        });
    }
}
