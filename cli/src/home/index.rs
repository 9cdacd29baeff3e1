//! Finds the objects of a home by their names and labels.

use std::collections::{BTreeMap, BTreeSet};

use liqo_auth::{
    machine::Interest,
    model::{Kind, Object, ObjectRef},
};

/// Finds objects without a search through all of them: a server has thousands.
#[derive(Clone, Default)]
pub(crate) struct Index {
    by_name: BTreeMap<(Kind, String), BTreeSet<ObjectRef>>,
    by_label: BTreeMap<(Kind, String, String), BTreeSet<ObjectRef>>,
    /// The bindings by the users and groups that they bind.
    by_principal: BTreeMap<String, BTreeSet<ObjectRef>>,
    /// The objects that cannot be read. Each of them may concern any peer.
    unreadable: BTreeSet<ObjectRef>,
}

impl Index {
    /// Adds an object under its name and labels.
    pub(crate) fn add(&mut self, id: &ObjectRef, object: &Object) {
        let named = self.by_name.entry((id.kind, id.name.clone())).or_default();
        named.insert(id.clone());
        if object.as_unreadable().is_some() {
            self.unreadable.insert(id.clone());
        }
        for (label, value) in &object.metadata().labels {
            let key = (id.kind, label.clone(), value.clone());
            self.by_label.entry(key).or_default().insert(id.clone());
        }
        for principal in principals(object) {
            let bindings = self.by_principal.entry(principal.clone()).or_default();
            bindings.insert(id.clone());
        }
    }

    /// Removes an object. `object` must have the same content as in
    /// [`add`](Self::add).
    pub(crate) fn remove(&mut self, id: &ObjectRef, object: &Object) {
        take(&mut self.by_name, &(id.kind, id.name.clone()), id);
        self.unreadable.remove(id);
        for (label, value) in &object.metadata().labels {
            let key = (id.kind, label.clone(), value.clone());
            take(&mut self.by_label, &key, id);
        }
        for principal in principals(object) {
            take(&mut self.by_principal, principal, id);
        }
    }

    /// The bindings of a user or group of that name.
    pub(crate) fn bindings_of(&self, principal: &str) -> impl Iterator<Item = &ObjectRef> {
        self.by_principal.get(principal).into_iter().flatten()
    }

    /// The objects that the interests name, and the objects that cannot be read.
    /// Some of the named objects may not exist.
    pub(crate) fn find(&self, interests: &[Interest]) -> BTreeSet<ObjectRef> {
        let mut found = self.unreadable.clone();
        for interest in interests {
            let more = match interest {
                Interest::Object(id) => {
                    found.insert(id.clone());
                    None
                }
                Interest::Named { kind, name } => self.by_name.get(&(*kind, name.clone())),
                Interest::Labelled { kind, label, value } => {
                    let key = (*kind, (*label).to_owned(), value.clone());
                    self.by_label.get(&key)
                }
                Interest::InNamespace { kind, namespace } => {
                    let ids = self.by_name.values().flatten();
                    let is_inside =
                        |id: &ObjectRef| namespace.is_empty() || id.namespace == *namespace;
                    let inside = ids.filter(|id| id.kind == *kind && is_inside(id));
                    found.extend(inside.cloned());
                    None
                }
                // For an unknown kind of interest, return all objects.
                _ => {
                    found.extend(self.by_name.values().flatten().cloned());
                    None
                }
            };
            found.extend(more.into_iter().flatten().cloned());
        }
        found
    }
}

/// The users and groups that an object binds to a role.
fn principals(object: &Object) -> impl Iterator<Item = &String> {
    let subjects = match object {
        Object::RoleBinding(binding) => binding.subjects.as_slice(),
        Object::ClusterRoleBinding(binding) => binding.subjects.as_slice(),
        _ => &[],
    };
    subjects
        .iter()
        .filter(|subject| subject.kind != "ServiceAccount")
        .map(|subject| &subject.name)
}

fn take<K: Ord>(map: &mut BTreeMap<K, BTreeSet<ObjectRef>>, key: &K, id: &ObjectRef) {
    if let Some(ids) = map.get_mut(key) {
        ids.remove(id);
        if ids.is_empty() {
            map.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use liqo_auth::model::Namespace;

    use super::*;

    #[test]
    fn what_was_noted_is_found_until_it_is_forgotten() {
        let object = Object::from(Namespace::for_tenant(&"cl-b".parse().unwrap()));
        let id = object.id();
        let mut index = Index::default();
        index.add(&id, &object);
        let labelled = Interest::Labelled {
            kind: Kind::Namespace,
            label: "liqo.io/remote-cluster-id",
            value: "cl-b".to_owned(),
        };
        let named = Interest::Named {
            kind: Kind::Namespace,
            name: "liqo-tenant-cl-b".to_owned(),
        };
        let all = Interest::InNamespace {
            kind: Kind::Namespace,
            namespace: String::new(),
        };
        for interest in [labelled, named, all] {
            let found = index.find(std::slice::from_ref(&interest));
            assert!(found.contains(&id), "{interest:?}");
            index.remove(&id, &object);
            assert!(index.find(std::slice::from_ref(&interest)).is_empty());
            index.add(&id, &object);
        }
    }

    #[test]
    fn what_cannot_be_read_may_concern_everybody() {
        let broken = Object::from_value(serde_json::json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "namespace": "liqo", "name": "x" }, "data": 5,
        }));
        let mut index = Index::default();
        index.add(&broken.id(), &broken);
        assert_eq!(index.find(&[]), BTreeSet::from([broken.id()]));
    }
}
