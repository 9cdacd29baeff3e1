//! Events in any order, and views of any objects. Whom an object concerns is written down
//! here once more, by `docs/decisions/machine/namespace-decides-the-peer.md`.

use std::collections::{BTreeMap, BTreeSet};

use liqo_auth::{
    machine::{Mirror, peers_of},
    model::{ClusterId, Namespace, Object, ObjectRef, TextMap},
};
use proptest::prelude::*;

use super::{REMOTE, complete, id, metadata, namespace, role, secret, tenant, versioned, watches};
use crate::clusters::store;

proptest! {
    /// In whatever order the events come, the mirror shows the same as a fresh
    /// one. A view by index equals a view by filter.
    #[test]
    fn in_any_order_of_events_the_mirror_equals_a_fresh_list(steps in prop::collection::vec(step(), 0..60)) {
        let mut server: BTreeMap<ObjectRef, Object> = BTreeMap::new();
        let mut mirror = complete();
        for step in steps {
            match step {
                Step::Put(object) => {
                    let before = server.insert(object.id(), (*object).clone());
                    for watch in watches() {
                        if watch.covers(&object) {
                            mirror.observe(&watch, (*object).clone()).unwrap();
                        } else if before.as_ref().is_some_and(|before| watch.covers(before)) {
                            mirror.forget(&watch, &object.id()).unwrap();
                        }
                    }
                }
                Step::Delete(id) => {
                    if let Some(before) = server.remove(&id) {
                        for watch in watches().iter().filter(|watch| watch.covers(&before)) {
                            mirror.forget(watch, &id).unwrap();
                        }
                    }
                }
                Step::Relist(at) => {
                    let watch = &watches()[at];
                    let listed = server.values().filter(|object| watch.covers(object));
                    mirror.relist(watch, listed.cloned()).unwrap();
                }
            }
        }
        let mut fresh = Mirror::new(watches());
        for watch in watches() {
            let listed = server.values().filter(|object| watch.covers(object));
            fresh.relist(&watch, listed.cloned()).unwrap();
        }
        let watched: Vec<&Object> = server
            .values()
            .filter(|object| watches().iter().any(|watch| watch.covers(object)))
            .collect();
        prop_assert_eq!(mirror.len(), watched.len());
        for peer in PEERS.map(id) {
            let filtered: BTreeSet<ObjectRef> = watched
                .iter()
                .filter(|object| Whose::of(object, server.values()).includes(&peer))
                .map(|object| object.id())
                .collect();
            for mirror in [&mirror, &fresh] {
                let view = mirror.view(&peer).unwrap();
                let shown: BTreeSet<ObjectRef> = view.objects().map(Object::id).collect();
                prop_assert_eq!(&shown, &filtered, "{}", peer);
                prop_assert!(view.objects().all(|object| server.get(&object.id()) == Some(object)));
            }
        }
    }

    /// The store in memory hides only the objects of other peers.
    #[test]
    fn a_view_of_the_store_hides_only_objects_of_other_peers(objects in prop::collection::vec(object(), 0..20)) {
        let store = store::holding(objects);
        for peer in PEERS.map(id) {
            let view = store.view(&peer);
            let shown: BTreeSet<ObjectRef> = view.objects().map(Object::id).collect();
            let wanted: BTreeSet<ObjectRef> = store
                .iter()
                .filter(|object| {
                    let whose = Whose::of(object, store.iter());
                    whose.is_nobodys() || whose.includes(&peer)
                })
                .map(Object::id)
                .collect();
            prop_assert_eq!(shown, wanted);
        }
    }
}

proptest! {
    /// The peers of objects in any order are those that one of the objects concerns.
    #[test]
    fn the_peers_of_objects_are_those_that_one_of_them_concerns(objects in prop::collection::vec(object(), 0..20)) {
        let store = store::holding(objects);
        let concerned: BTreeSet<ClusterId> = store
            .iter()
            .filter_map(|object| Whose::of(object, store.iter()).0)
            .flatten()
            .collect();
        let mut backwards: Vec<&Object> = store.iter().collect();
        backwards.reverse();
        prop_assert_eq!(peers_of(backwards), concerned.clone());
        prop_assert_eq!(peers_of(store.iter()), concerned);
    }
}

/// The peers that an object concerns: `None` for all of them.
struct Whose(Option<BTreeSet<ClusterId>>);

impl Whose {
    fn of<'a>(object: &Object, among: impl Iterator<Item = &'a Object>) -> Self {
        let metadata = object.metadata();
        let by_label = metadata.labels.get("liqo.io/remote-cluster-id");
        let by_label = by_label.map(|peer| id(peer));
        let peers = match object {
            // Who may write in a tenant namespace is its peer. Elsewhere, labels decide, and
            // the name of a Tenant.
            Object::Secret(_) => match labels_of(&metadata.namespace, among) {
                Some(labels) => by_labels(labels),
                None => by_name(&metadata.namespace),
            }
            .or(by_label),
            // A Tenant is looked up by its name, except where another peer may write.
            Object::Tenant(_) => labels_of(&metadata.namespace, among)
                .and_then(by_labels)
                .or_else(|| by_name(&metadata.namespace))
                .or_else(|| Some(id(&metadata.name))),
            Object::Namespace(_) => {
                let by_name = by_name(&metadata.name);
                return Self(Some(by_label.into_iter().chain(by_name).collect()));
            }
            // The roles that are bound to each peer have no peer.
            Object::ClusterRole(_) if by_label.is_none() => return Self(None),
            Object::ClusterRole(_) => by_label,
            other => panic!("{}", other.id()),
        };
        Self(Some(peers.into_iter().collect()))
    }

    fn includes(&self, peer: &ClusterId) -> bool {
        self.0.as_ref().is_none_or(|peers| peers.contains(peer))
    }

    fn is_nobodys(&self) -> bool {
        self.0.as_ref().is_some_and(BTreeSet::is_empty)
    }
}

/// The labels of a Namespace, if it is known.
fn labels_of<'a>(
    namespace: &str,
    mut among: impl Iterator<Item = &'a Object>,
) -> Option<&'a TextMap> {
    among.find_map(|object| match object {
        Object::Namespace(found) if found.metadata.name == namespace => {
            Some(&found.metadata.labels)
        }
        _ => None,
    })
}

/// The peer of a tenant namespace.
fn by_labels(labels: &TextMap) -> Option<ClusterId> {
    let is_tenants = labels.get("liqo.io/tenant-namespace")? == "true";
    let peer = labels.get("liqo.io/remote-cluster-id");
    peer.filter(|_| is_tenants).map(|peer| id(peer))
}

fn by_name(namespace: &str) -> Option<ClusterId> {
    namespace.strip_prefix("liqo-tenant-").map(id)
}

#[derive(Debug, Clone)]
enum Step {
    Put(Box<Object>),
    Delete(ObjectRef),
    Relist(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => object().prop_map(|object| Step::Put(Box::new(object))),
        2 => object().prop_map(|object| Step::Delete(object.id())),
        1 => (0..watches().len()).prop_map(Step::Relist),
    ]
}

fn object() -> impl Strategy<Value = Object> {
    let peer = || prop::sample::select(&PEERS[..]);
    let space = prop::sample::select(&["liqo-tenant-one", "liqo-tenant-two", "a", "b", "liqo"][..]);
    (0..4_u8, space, peer(), peer(), any::<bool>(), 0..3_u8).prop_map(
        |(kind, space, peer, other, labelled, version)| {
            let labels = if labelled {
                vec![(REMOTE, peer)]
            } else {
                Vec::new()
            };
            let object = match kind {
                0 => secret(space, other, &labels),
                1 if labelled => namespace(space, peer),
                1 => Namespace {
                    metadata: metadata("", space, &[(REMOTE, peer)]),
                }
                .into(),
                2 => tenant(space, other),
                _ => role(other, &labels),
            };
            versioned(object, "uid", &version.to_string())
        },
    )
}

const PEERS: [&str; 3] = ["one", "two", "three"];
