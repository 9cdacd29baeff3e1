//! The bindings by the users and groups that they name.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::by_name::ByName;
use crate::{
    machine::Concerns,
    model::{ClusterId, Object, RbacSubject},
};

/// The bindings that name a user or group with a cluster's ID. Their labels and names may
/// name no peer, and they give it rights nevertheless.
///
/// Anybody's group may have such a name, so a binding does not make a peer.
#[derive(Debug, Clone, Default)]
pub(super) struct Bindings(HashMap<ClusterId, BTreeSet<ByName>>);

impl Bindings {
    /// Adds a binding, for those that it names besides the peers that it concerns.
    pub(super) fn add(&mut self, binding: &Arc<Object>, concerns: &Concerns) {
        for named in named_by(binding).filter(|named| !concerns.includes(named)) {
            let bindings = self.0.entry(named).or_default();
            bindings.insert(ByName(Arc::clone(binding)));
        }
    }

    pub(super) fn remove(&mut self, binding: &Arc<Object>) {
        for named in named_by(binding) {
            if let Some(bindings) = self.0.get_mut(&named) {
                bindings.remove(&ByName(Arc::clone(binding)));
                if bindings.is_empty() {
                    self.0.remove(&named);
                }
            }
        }
    }

    /// The bindings that name this cluster.
    pub(super) fn of(&self, peer: &ClusterId) -> impl Iterator<Item = &Object> {
        let bindings = self.0.get(peer).into_iter().flatten();
        bindings.map(ByName::as_object)
    }
}

/// The clusters whose user or group a binding names.
pub(super) fn named_by(object: &Object) -> impl Iterator<Item = ClusterId> {
    let subjects: &[RbacSubject] = match object {
        Object::RoleBinding(binding) => &binding.subjects,
        Object::ClusterRoleBinding(binding) => &binding.subjects,
        _ => &[],
    };
    let principals = subjects.iter().filter(|subject| subject.is_principal());
    principals.filter_map(|subject| subject.name.parse().ok())
}
