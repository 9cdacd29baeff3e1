//! What Liqo does with a NamespaceMap at the provider.

use liqo_auth::model::{
    Metadata, NamespaceMap, Object, RbacSubject, Resource, RoleBinding, RoleRef, names,
};

use crate::store::Store;

/// The namespace that a peer offloads.
pub const OFFLOADED: &str = "offloaded-namespace";

/// Binds the groups of the NamespaceMaps in the offloaded namespace, as Liqo's controller
/// does: not for one that is being deleted, and in the name of the origin in its label. Says
/// whether the store has changed.
pub fn bind(store: &mut Store) -> bool {
    let maps = store.objects().filter_map(NamespaceMap::from_object);
    let wanted: Vec<RoleBinding> = maps.filter_map(|map| binding(&map.metadata)).collect();
    let mut has_changed = false;
    for binding in wanted {
        if store.get(&binding.id()).is_none() {
            store.put(Object::from(binding));
            has_changed = true;
        }
    }
    has_changed
}

/// The number of bindings that give a group rights in the offloaded namespace.
pub fn bound(store: &Store, group: &str) -> usize {
    let bindings = store.objects().filter_map(RoleBinding::from_object);
    let there = bindings.filter(|binding| binding.metadata.namespace == OFFLOADED);
    let of_group = there.filter(|binding| {
        let mut subjects = binding.subjects.iter();
        subjects.any(|subject| subject.kind == "Group" && subject.name == group)
    });
    of_group.count()
}

fn binding(map: &Metadata) -> Option<RoleBinding> {
    let origin = map.labels.get(names::REPLICATION_ORIGIN_LABEL)?;
    // The API server refuses a binding of a group without a name.
    if map.deletion_timestamp.is_some() || origin.is_empty() {
        return None;
    }
    let labels = [
        (names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO),
        (names::REMOTE_CLUSTER_ID_LABEL, origin.as_str()),
    ];
    Some(RoleBinding {
        metadata: Metadata {
            name: map.namespace.clone(),
            namespace: OFFLOADED.to_owned(),
            labels: labels.into(),
            ..Metadata::default()
        },
        role_ref: RoleRef::cluster_role("liqo-virtual-kubelet-remote"),
        subjects: vec![RbacSubject {
            api_group: names::RBAC_API_GROUP.to_owned(),
            kind: "Group".to_owned(),
            name: origin.clone(),
            namespace: String::new(),
        }],
    })
}
