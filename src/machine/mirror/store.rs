//! Objects by name and by peer.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::placement;
use crate::{
    machine::{Concerns, View},
    model::{ClusterId, Kind, Namespace, Object, ObjectRef, Resource},
};

/// Objects by name and by peer. The cost of one peer's view grows with that
/// peer's objects only.
#[derive(Debug, Clone, Default)]
pub(in crate::machine) struct Store {
    objects: BTreeMap<ObjectRef, Stored>,
    /// The objects of each peer, sorted by kind, namespace and name.
    peers: HashMap<ClusterId, Vec<Arc<Object>>>,
    /// The objects that concern every peer.
    everybodys: BTreeMap<ObjectRef, Arc<Object>>,
    /// The objects that concern no known peer.
    nobodys: BTreeMap<ObjectRef, Arc<Object>>,
}

#[derive(Debug, Clone)]
struct Stored {
    object: Arc<Object>,
    /// The peers under which the object is indexed. They follow from the object and
    /// its namespace.
    concerns: Concerns,
    /// The bits of the watches that show the object.
    seen_by: u64,
}

impl Store {
    /// The object of that name.
    pub(in crate::machine) fn get(&self, id: &ObjectRef) -> Option<&Object> {
        self.objects.get(id).map(|stored| stored.object.as_ref())
    }

    /// All objects, sorted by kind, namespace and name.
    pub(in crate::machine) fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.values().map(|stored| stored.object.as_ref())
    }

    /// The objects of a kind in one namespace, or in all namespaces.
    pub(in crate::machine) fn of_kind<'s>(
        &'s self,
        kind: Kind,
        namespace: Option<&'s str>,
    ) -> impl Iterator<Item = (&'s ObjectRef, &'s Object)> {
        let first = ObjectRef::new(kind, namespace.unwrap_or_default(), "");
        self.objects
            .range(first..)
            .take_while(move |(id, _)| {
                id.kind == kind && namespace.is_none_or(|namespace| id.namespace == namespace)
            })
            .map(|(id, stored)| (id, stored.object.as_ref()))
    }

    /// Stores an object, in place of one of the same name. Returns the peers that
    /// the object concerned before or concerns now. If the object is a Namespace,
    /// the result includes the peers of the objects in it whose assignment changes.
    pub(in crate::machine) fn put(&mut self, object: Object, seen_by: u64) -> Concerns {
        let id = object.id();
        let before = self.take_out(&id).map(|stored| stored.concerns);
        let now = self.place(Arc::new(object), seen_by);
        before
            .unwrap_or(Concerns::Nobody)
            .and(now)
            .and(self.change_owner(&id))
    }

    /// Removes an object.
    pub(in crate::machine) fn remove(&mut self, id: &ObjectRef) -> Option<(Object, Concerns)> {
        let Stored {
            object, concerns, ..
        } = self.take_out(id)?;
        let object = Arc::try_unwrap(object).unwrap_or_else(|shared| shared.as_ref().clone());
        Some((object, concerns.and(self.change_owner(id))))
    }

    /// The bits of the watches that show an object; 0 if the object does not exist.
    pub(in crate::machine) fn seen_by(&self, id: &ObjectRef) -> u64 {
        self.objects.get(id).map_or(0, |stored| stored.seen_by)
    }

    /// Sets the bits of the watches that show an object. Returns the peers that the
    /// object concerns.
    pub(in crate::machine) fn set_seen_by(&mut self, id: &ObjectRef, seen_by: u64) -> Concerns {
        let Some(stored) = self.objects.get_mut(id) else {
            return Concerns::Nobody;
        };
        stored.seen_by = seen_by;
        stored.concerns.clone()
    }

    /// The peers that an object concerns, given the known Namespaces.
    pub(in crate::machine) fn concerns(&self, object: &Object) -> Concerns {
        placement::of(object, |namespace| self.owner_of(namespace))
    }

    /// The view of one peer. `with_nobodys` adds the objects that concern no peer.
    pub(in crate::machine) fn view(&self, peer: &ClusterId, with_nobodys: bool) -> View<'_> {
        let own = self.peers.get(peer).into_iter().flatten();
        let nobodys = self.nobodys.values().filter(|_| with_nobodys);
        let all = own.chain(self.everybodys.values()).chain(nobodys);
        View::of(peer, all.map(Arc::as_ref))
    }

    /// The peers that have objects.
    pub(in crate::machine) fn peers(&self) -> impl Iterator<Item = &ClusterId> {
        self.peers.keys()
    }

    fn owner_of(&self, namespace: &str) -> Option<ClusterId> {
        let id = ObjectRef::new(Kind::Namespace, "", namespace);
        let found = self.get(&id).and_then(Namespace::from_object);
        found
            .and_then(placement::owner_of)
            .or_else(|| placement::default_owner(namespace))
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
            .filter(|(id, object)| {
                let stored = self.objects.get(id).map(|stored| &stored.concerns);
                stored != Some(&self.concerns(object))
            })
            .map(|(id, _)| id.clone())
            .collect();
        inside.iter().fold(Concerns::Nobody, |changed, id| {
            let Some(Stored {
                object,
                concerns,
                seen_by,
            }) = self.take_out(id)
            else {
                return changed;
            };
            changed.and(concerns).and(self.place(object, seen_by))
        })
    }

    fn take_out(&mut self, id: &ObjectRef) -> Option<Stored> {
        let stored = self.objects.remove(id)?;
        match &stored.concerns {
            Concerns::Nobody => drop(self.nobodys.remove(id)),
            Concerns::Everybody => drop(self.everybodys.remove(id)),
            Concerns::Peer(peer) => self.take_from(peer, &stored.object),
            Concerns::Peers(peers) => {
                for peer in peers {
                    self.take_from(peer, &stored.object);
                }
            }
        }
        Some(stored)
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

    fn place(&mut self, object: Arc<Object>, seen_by: u64) -> Concerns {
        let (id, concerns) = (object.id(), self.concerns(&object));
        match &concerns {
            Concerns::Nobody => drop(self.nobodys.insert(id.clone(), Arc::clone(&object))),
            Concerns::Everybody => drop(self.everybodys.insert(id.clone(), Arc::clone(&object))),
            Concerns::Peer(peer) => self.give_to(peer, &object),
            Concerns::Peers(peers) => {
                for peer in peers {
                    self.give_to(peer, &object);
                }
            }
        }
        let stored = Stored {
            object,
            concerns: concerns.clone(),
            seen_by,
        };
        self.objects.insert(id, stored);
        concerns
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

const FEW: usize = 64;

/// Only the objects are compared, because the indexes follow from them.
impl PartialEq for Store {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
