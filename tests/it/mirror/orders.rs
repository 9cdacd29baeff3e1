//! Events in any order, and views of any objects.

use std::collections::{BTreeMap, BTreeSet};

use liqo_auth::{
    machine::{Concerns, Mirror, Objects, Watch},
    model::{Kind, Namespace, Object, ObjectRef},
};
use proptest::prelude::*;

use super::{REMOTE, complete, id, metadata, namespace, role, secret, tenant, versioned, watches};

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
                .filter(|object| mirror.concerns(object).includes(&peer))
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
        let store: Objects = objects.into_iter().collect();
        let mut all = Mirror::new(Kind::ALL.iter().map(|kind| Watch::all(*kind)));
        for kind in Kind::ALL {
            let listed = store.iter().filter(|object| object.id().kind == *kind).cloned();
            all.relist(&Watch::all(*kind), listed).unwrap();
        }
        for peer in PEERS.map(id) {
            let view = store.view(&peer);
            let shown: BTreeSet<ObjectRef> = view.objects().map(Object::id).collect();
            let wanted: BTreeSet<ObjectRef> = store
                .iter()
                .filter(|object| {
                    let concerns = all.concerns(object);
                    concerns == Concerns::Nobody || concerns.includes(&peer)
                })
                .map(Object::id)
                .collect();
            prop_assert_eq!(shown, wanted);
        }
    }
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
