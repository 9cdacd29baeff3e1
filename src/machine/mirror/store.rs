//! Objects by name and by peer.

use core::ops::Bound;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    WatchSet,
    bound::{Bindings, named_by},
    by_name::{ByName, Named},
    placement,
};
use crate::{
    machine::{Concerns, View, tenancy},
    model::{ClusterId, Kind, Namespace, Object, ObjectRef, Resource},
};

/// Objects by name and by peer. The cost of one peer's view grows with that
/// peer's objects only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Store {
    objects: BTreeMap<ByName, Indexed>,
    /// The objects of each peer, sorted by kind, namespace and name.
    peers: HashMap<ClusterId, Vec<Arc<Object>>>,
    /// The objects that concern every peer.
    everybodys: BTreeSet<ByName>,
    /// The objects that concern no known peer.
    nobodys: BTreeSet<ByName>,
    /// The bindings of peers under which they are not indexed.
    bound: Bindings,
}

#[derive(Debug, Clone)]
pub(super) struct Indexed {
    /// The peers under which the object is indexed. They follow from the object and
    /// its namespace.
    concerns: Concerns,
    /// The watches that show the object.
    pub(super) seen_by: WatchSet,
}

impl Store {
    /// The object of that name.
    pub(crate) fn get(&self, id: &ObjectRef) -> Option<&Object> {
        let (object, _) = self.objects.get_key_value(named(id))?;
        Some(object.as_object())
    }

    /// All objects, sorted by kind, namespace and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.keys().map(ByName::as_object)
    }

    /// The objects of a kind in one namespace, or in all namespaces.
    pub(super) fn of_kind<'s>(
        &'s self,
        kind: Kind,
        namespace: Option<&'s str>,
    ) -> impl Iterator<Item = (&'s Object, &'s Indexed)> {
        let first = ObjectRef::new(kind, namespace.unwrap_or_default(), "");
        self.objects
            .range::<dyn Named, _>((Bound::Included(named(&first)), Bound::Unbounded))
            .map(|(object, indexed)| (object.as_object(), indexed))
            .take_while(move |(object, _)| {
                let (found, place, _) = object.key();
                found == kind && namespace.is_none_or(|namespace| place == namespace)
            })
    }

    /// Stores an object, in place of one of the same name. Returns the peers that
    /// the object concerned before or concerns now. If the object is a Namespace,
    /// the result includes the peers of the objects in it whose assignment changes.
    pub(crate) fn put(&mut self, object: Object, seen_by: WatchSet) -> Concerns {
        let id = object.id();
        let before = self.take_out(&id);
        let before = before.map_or(Concerns::Nobody, |(object, indexed)| {
            indexed.concerns.and(self.named_by(&object))
        });
        let named = self.named_by(&object);
        let now = self.place(Arc::new(object), seen_by);
        before.and(now).and(named).and(self.change_owner(&id))
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: &ObjectRef) -> Option<(Object, Concerns)> {
        let (object, indexed) = self.take_out(id)?;
        let concerns = indexed.concerns.and(self.named_by(&object));
        let object = Arc::try_unwrap(object).unwrap_or_else(|shared| shared.as_ref().clone());
        Some((object, concerns.and(self.change_owner(id))))
    }

    /// The watches that show an object; none if the object does not exist.
    pub(crate) fn seen_by(&self, id: &ObjectRef) -> WatchSet {
        let indexed = self.objects.get(named(id));
        indexed
            .map(|indexed| indexed.seen_by.clone())
            .unwrap_or_default()
    }

    /// Sets the watches that show an object. Returns the peers that the
    /// object concerns.
    pub(crate) fn set_seen_by(&mut self, id: &ObjectRef, seen_by: WatchSet) -> Concerns {
        let Some(indexed) = self.objects.get_mut(named(id)) else {
            return Concerns::Nobody;
        };
        indexed.seen_by = seen_by;
        indexed.concerns.clone()
    }

    /// The peers that an object concerns, given the known Namespaces and the known peers.
    pub(crate) fn concerns(&self, object: &Object) -> Concerns {
        self.assigned(object).and(self.named_by(object))
    }

    /// Whether the view of the peer has the object.
    pub(crate) fn shows(&self, object: &Object, peer: &ClusterId) -> bool {
        self.assigned(object).includes(peer) || named_by(object).any(|named| named == *peer)
    }

    /// The peers under which an object is indexed.
    fn assigned(&self, object: &Object) -> Concerns {
        placement::of(object, |kind, namespace| self.owner_of(kind, namespace))
    }

    /// The known peers whose user or group a binding names.
    fn named_by(&self, object: &Object) -> Concerns {
        let known = named_by(object).filter(|peer| self.peers.contains_key(peer));
        Concerns::peers(known.collect())
    }

    /// The view of one peer. `with_nobodys` adds the objects that concern no peer.
    pub(crate) fn view(&self, peer: &ClusterId, with_nobodys: bool) -> View<'_> {
        let own = self.peers.get(peer).into_iter().flatten().map(Arc::as_ref);
        let nobodys = self.nobodys.iter().filter(|_| with_nobodys);
        let shared = self.everybodys.iter().chain(nobodys);
        let shared = shared.map(ByName::as_object);
        View::of(peer, own.chain(shared).chain(self.bound.of(peer)))
    }

    /// The peers that have objects.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &ClusterId> {
        self.peers.keys()
    }

    /// The peer that may write objects of a kind in a namespace.
    pub(super) fn owner_of(&self, kind: Kind, namespace: &str) -> Option<ClusterId> {
        let id = ObjectRef::new(Kind::Namespace, "", namespace);
        let found = self.get(&id).and_then(Namespace::from_object);
        tenancy::owner_of(kind, namespace, found)
    }

    /// Assigns the objects in a namespace again, after the Namespace was created,
    /// changed or deleted. Does nothing for an object of another kind.
    fn change_owner(&mut self, namespace: &ObjectRef) -> Concerns {
        if namespace.kind != Kind::Namespace {
            return Concerns::Nobody;
        }
        let kinds = Kind::ALL.iter().filter(|kind| kind.is_namespaced());
        let inside: Vec<ObjectRef> = kinds
            .flat_map(|kind| self.of_kind(*kind, Some(&namespace.name)))
            .filter(|(object, indexed)| indexed.concerns != self.assigned(object))
            .map(|(object, _)| object.id())
            .collect();
        inside.iter().fold(Concerns::Nobody, |changed, id| {
            let Some((object, Indexed { concerns, seen_by })) = self.take_out(id) else {
                return changed;
            };
            changed.and(concerns).and(self.place(object, seen_by))
        })
    }

    fn take_out(&mut self, id: &ObjectRef) -> Option<(Arc<Object>, Indexed)> {
        let (ByName(object), indexed) = self.objects.remove_entry(named(id))?;
        self.bound.remove(&object);
        match &indexed.concerns {
            Concerns::Nobody => drop(self.nobodys.remove(named(id))),
            Concerns::Everybody => drop(self.everybodys.remove(named(id))),
            concerns => {
                for peer in concerns.named_peers() {
                    self.take_from(peer, &object);
                }
            }
        }
        Some((object, indexed))
    }

    fn take_from(&mut self, peer: &ClusterId, object: &Arc<Object>) {
        if let Some(objects) = self.peers.get_mut(peer) {
            if let Ok(at) = place_among(objects, object) {
                objects.remove(at);
            }
            if objects.is_empty() {
                self.peers.remove(peer);
            }
        }
    }

    fn place(&mut self, object: Arc<Object>, seen_by: WatchSet) -> Concerns {
        let concerns = self.assigned(&object);
        self.bound.add(&object, &concerns);
        let name = || ByName(Arc::clone(&object));
        match &concerns {
            Concerns::Nobody => drop(self.nobodys.insert(name())),
            Concerns::Everybody => drop(self.everybodys.insert(name())),
            concerns => {
                for peer in concerns.named_peers() {
                    self.give_to(peer, &object);
                }
            }
        }
        let indexed = Indexed {
            concerns: self.shared(&concerns),
            seen_by,
        };
        self.objects.insert(ByName(object), indexed);
        concerns
    }

    /// The same value. Its cluster ID shares the text that the index already holds.
    fn shared(&self, concerns: &Concerns) -> Concerns {
        if let Concerns::Peer(peer) = concerns
            && let Some((known, _)) = self.peers.get_key_value(peer)
        {
            return Concerns::Peer(known.clone());
        }
        concerns.clone()
    }

    fn give_to(&mut self, peer: &ClusterId, object: &Arc<Object>) {
        let objects = match self.peers.get_mut(peer) {
            Some(objects) => objects,
            None => self.peers.entry(peer.clone()).or_default(),
        };
        // Most peers have about ten objects. A short vector grows by one, so that
        // it has no spare capacity.
        if objects.len() < FEW {
            objects.reserve_exact(1);
        }
        let (Ok(at) | Err(at)) = place_among(objects, object);
        objects.insert(at, Arc::clone(object));
    }
}

/// The index of an object among the objects of a peer, or the index at which it
/// belongs. The search is binary, because a peer may have thousands of objects.
fn place_among(objects: &[Arc<Object>], object: &Object) -> Result<usize, usize> {
    objects.binary_search_by(|other| other.key().cmp(&object.key()))
}

fn named(id: &ObjectRef) -> &dyn Named {
    id
}

const FEW: usize = 64;

/// Only the objects are compared, because the indexes follow from them.
impl PartialEq for Store {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
