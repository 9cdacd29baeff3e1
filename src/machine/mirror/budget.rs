//! How much of what a peer may write is kept.
//!
//! A peer may write any number of objects in its tenant namespace. Each of them has at most the
//! size of [`Limits::object`](crate::policy::Limits::object), and an API server stores as many
//! as it is sent. So each kind has a budget in each tenant namespace.
//!
//! The objects have an order, and those that come first keep their content. The content counts
//! whether it is kept or not, so that the order alone decides, and not which object was seen
//! first. Older objects come first: nobody can make an object that is older than one that this
//! side has already granted something. The objects of the handshake with a fixed name come
//! before all others.

use std::collections::{BTreeMap, BTreeSet};

use super::{Mirror, Watched, store::Store};
use crate::{
    machine::{Concerns, Version},
    model::{BUDGET, Kind, Object, ObjectRef, Timestamp, Unreadable, names},
};

/// The kinds in a namespace of which there is more than a few objects.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(BTreeMap<(Kind, Box<str>), Crowd>);

/// What exceeds the budget of a kind in a namespace.
#[derive(Debug, Default)]
pub(super) struct Excess {
    /// The names of the objects that lose their content.
    pub(super) reduced: Vec<Box<str>>,
    /// The names of the objects that are not kept at all.
    pub(super) left_out: Vec<Box<str>>,
}

/// The objects of one kind in one namespace.
#[derive(Debug, Clone, Default)]
struct Crowd {
    /// Those that are kept, in their order.
    places: BTreeMap<Place, Share>,
    /// The names of those that are not kept.
    left_out: BTreeSet<Box<str>>,
}

/// The place of an object in the order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    has_no_fixed_name: bool,
    /// An object without a time of its creation comes after those that have one.
    has_no_age: bool,
    created: Option<Timestamp>,
    name: Box<str>,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    bytes: usize,
    is_reduced: bool,
}

impl Mirror {
    /// Takes the content of an object that a watch shows, and that had lost it. `None` if it is
    /// no such object.
    pub(super) fn give_back(&mut self, object: &Object) -> Option<Concerns> {
        let id = object.id();
        let mut seen = self.store.seen_by(&id);
        match self.store.get(&id).filter(|_| !seen.is_empty()) {
            Some(stored) => {
                reduced_size(stored)?;
                // The watch may have shown a later version meanwhile.
                if Version::of(stored.metadata()) != Version::of(object.metadata()) {
                    return Some(Concerns::Nobody);
                }
            }
            None => {
                let covers = |watched: &Watched| watched.watch.covers(object);
                let at = self.watches.iter().position(covers);
                seen.insert(at.filter(|_| self.budget.leaves_out(&id))?);
            }
        }
        Some(self.put(object.clone(), seen))
    }

    /// Takes away what exceeds the budget after an object has come.
    pub(super) fn keep_within_budget(&mut self, id: &ObjectRef, before: Option<&Place>) {
        let excess = self.budget.take(&self.store, id, before);
        let named = |name: &str| ObjectRef::new(id.kind, &id.namespace, name);
        for name in excess.left_out {
            let id = named(&name);
            for follower in &self.followers {
                follower.forget(&id);
            }
            self.store.remove(&id);
        }
        for name in excess.reduced {
            let id = named(&name);
            let seen = self.store.seen_by(&id);
            if let Some(object) = self.store.get(&id).map(reduced) {
                self.store.put(object, seen);
            }
        }
    }

    /// The owner of a namespace may have changed.
    pub(super) fn keep_namespace_within_budget(&mut self, namespace: &str) {
        self.budget.forget_namespace(namespace);
        for kind in KINDS {
            let mut inside = self.store.of_kind(kind, Some(namespace));
            if let Some(id) = inside.next().map(|(object, _)| object.id()) {
                drop(inside);
                self.keep_within_budget(&id, None);
            }
        }
    }
}

impl Budget {
    /// Takes an object that the store has now, in the place of one that was `before`.
    pub(super) fn take(&mut self, store: &Store, id: &ObjectRef, before: Option<&Place>) -> Excess {
        if !KINDS.contains(&id.kind) || store.owner_of(id.kind, &id.namespace).is_none() {
            return Excess::default();
        }
        let key = (id.kind, id.namespace.as_str().into());
        if let Some(crowd) = self.0.get_mut(&key) {
            if let Some(before) = before {
                crowd.places.remove(before);
            }
            crowd.left_out.remove(&*id.name);
            if let Some(object) = store.get(id) {
                crowd.places.insert(Place::of(object), Share::of(object));
            }
            return crowd.exceeding();
        }
        let inside = || store.of_kind(id.kind, Some(&id.namespace));
        let is_reduced = |object: &Object| reduced_size(object).is_some();
        if inside().nth(FEW).is_none() && !store.get(id).is_some_and(is_reduced) {
            return Excess::default();
        }
        let shares = inside().map(|(object, _)| (Place::of(object), Share::of(object)));
        let crowd = self.0.entry(key).or_default();
        crowd.places = shares.collect();
        crowd.exceeding()
    }

    /// Forgets an object, which had this place if it was kept.
    pub(super) fn forget(&mut self, id: &ObjectRef, place: Option<&Place>) {
        let key = (id.kind, id.namespace.as_str().into());
        let Some(crowd) = self.0.get_mut(&key) else {
            return;
        };
        crowd.left_out.remove(&*id.name);
        if let Some(place) = place {
            crowd.places.remove(place);
        }
        if crowd.is_within() {
            self.0.remove(&key);
        }
    }

    /// Forgets the objects that are not kept: a list that shows all of them comes.
    pub(super) fn forget_left_out(&mut self, kind: Kind, namespace: Option<&str>) {
        for ((found, place), crowd) in &mut self.0 {
            if *found == kind && namespace.is_none_or(|namespace| **place == *namespace) {
                crowd.left_out.clear();
            }
        }
    }

    /// Whether the object is one that is not kept.
    pub(super) fn leaves_out(&self, id: &ObjectRef) -> bool {
        let key = (id.kind, id.namespace.as_str().into());
        let crowd = self.0.get(&key);
        crowd.is_some_and(|crowd| crowd.left_out.contains(&*id.name))
    }

    /// Forgets what is known of a namespace, whose owner may have changed.
    pub(super) fn forget_namespace(&mut self, namespace: &str) {
        self.0.retain(|(_, name), _| **name != *namespace);
    }

    /// The objects that have lost their content, and for which there is room now, of the kinds
    /// and namespaces that `concerns` names.
    pub(super) fn returning(
        &self,
        concerns: impl Fn(Kind, &str) -> bool,
    ) -> impl Iterator<Item = ObjectRef> {
        let crowds = self
            .0
            .iter()
            .filter(move |((kind, namespace), _)| concerns(*kind, namespace));
        crowds.flat_map(|((kind, namespace), crowd)| {
            let reduced = crowd.within().filter(|(_, share)| share.is_reduced);
            let reduced = reduced.map(|(place, _)| &place.name);
            let room = OBJECTS.saturating_sub(crowd.places.len()).min(AT_ONCE);
            let names = reduced.chain(crowd.left_out.iter().take(room));
            names.map(|name| ObjectRef::new(*kind, &**namespace, &**name))
        })
    }
}

impl Place {
    pub(super) fn of(object: &Object) -> Self {
        let (kind, namespace, name) = object.key();
        let created = object.metadata().creation_timestamp;
        Self {
            has_no_fixed_name: !has_fixed_name(kind, namespace, name),
            has_no_age: created.is_none(),
            created,
            name: name.into(),
        }
    }
}

impl Share {
    fn of(object: &Object) -> Self {
        match reduced_size(object) {
            Some(bytes) => Self {
                bytes,
                is_reduced: true,
            },
            None => Self {
                bytes: object.bytes().saturating_add(REDUCED),
                is_reduced: false,
            },
        }
    }
}

/// The object without its content.
pub(super) fn reduced(object: &Object) -> Object {
    let share = Share::of(object);
    Object::Unreadable(Unreadable::over_budget(object, share.bytes, BUDGET))
}

/// The bytes of the content that an object has lost; `None` if it has its content.
pub(super) fn reduced_size(object: &Object) -> Option<usize> {
    object.as_unreadable().and_then(Unreadable::lost_bytes)
}

impl Crowd {
    /// What exceeds the budget. It is noted as reduced or left out.
    fn exceeding(&mut self) -> Excess {
        let mut excess = Excess::default();
        while self.places.len() > OBJECTS
            && let Some((place, _)) = self.places.pop_last()
        {
            if self.left_out.len() < NAMES {
                self.left_out.insert(place.name.clone());
            }
            excess.left_out.push(place.name);
        }
        let kept = self.within().count();
        for (place, share) in self.places.iter_mut().skip(kept) {
            if !share.is_reduced {
                share.is_reduced = true;
                excess.reduced.push(place.name.clone());
            }
        }
        excess
    }

    /// The objects that may have their content.
    fn within(&self) -> impl Iterator<Item = (&Place, &Share)> {
        let mut bytes = 0_usize;
        self.places.iter().take_while(move |(_, share)| {
            bytes = bytes.saturating_add(share.bytes);
            bytes <= BUDGET
        })
    }

    /// Whether the objects are few, and have their content.
    fn is_within(&self) -> bool {
        self.places.len() <= FEW
            && self.left_out.is_empty()
            && !self.places.values().any(|share| share.is_reduced)
    }
}

/// Whether the handshake looks an object up by this name. Its sides would stop without it.
fn has_fixed_name(kind: Kind, namespace: &str, name: &str) -> bool {
    match kind {
        Kind::Secret => [names::NONCE_SECRET, names::SIGNED_NONCE_SECRET].contains(&name),
        Kind::Tenant => namespace.strip_prefix(names::TENANT_NAMESPACE_PREFIX) == Some(name),
        _ => false,
    }
}

/// The kinds that a peer may write.
const KINDS: [Kind; 6] = [
    Kind::Tenant,
    Kind::Identity,
    Kind::NamespaceMap,
    Kind::ResourceSlice,
    Kind::Renew,
    Kind::Secret,
];
/// The most objects of which anything is kept. A peer has at most 64 slices, and as many of the
/// objects that belong to slices.
const OBJECTS: usize = 4096;
/// The most names of objects that are not kept. A list that comes later shows further ones.
const NAMES: usize = 16 * 1024;
/// How many of them are asked for before one look.
const AT_ONCE: usize = 64;
/// So few objects are within the budget, however large each of them is.
const FEW: usize = 8;
/// What every object takes, also without its content.
const REDUCED: usize = 1024;

#[cfg(test)]
mod tests;
