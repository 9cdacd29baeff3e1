//! Objects that were fetched by name, with the peers for which they were fetched.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ClusterId, ObjectRef};

/// The fetched objects, by peer and by object.
#[derive(Debug, Clone, Default)]
pub(super) struct FetchedObjects {
    by_peer: BTreeMap<ClusterId, BTreeSet<ObjectRef>>,
    by_object: BTreeMap<ObjectRef, BTreeSet<ClusterId>>,
}

impl FetchedObjects {
    pub(super) fn add(&mut self, peer: &ClusterId, id: &ObjectRef) {
        let objects = self.by_peer.entry(peer.clone()).or_default();
        objects.insert(id.clone());
        let peers = self.by_object.entry(id.clone()).or_default();
        peers.insert(peer.clone());
    }

    /// Removes an object, and returns the peers for which it was fetched.
    pub(super) fn remove(&mut self, id: &ObjectRef) -> Vec<ClusterId> {
        let peers = self.by_object.remove(id).unwrap_or_default();
        for peer in &peers {
            if let Some(objects) = self.by_peer.get_mut(peer) {
                objects.remove(id);
                if objects.is_empty() {
                    self.by_peer.remove(peer);
                }
            }
        }
        peers.into_iter().collect()
    }

    pub(super) fn of(&self, peer: &ClusterId) -> impl Iterator<Item = &ObjectRef> {
        self.by_peer.get(peer).into_iter().flatten()
    }

    pub(super) fn contains(&self, id: &ObjectRef) -> bool {
        self.by_object.contains_key(id)
    }
}
