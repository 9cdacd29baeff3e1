//! A copy of the objects that a controller watches, by peer.

mod placement;
mod recall;
mod store;
mod strays;

use core::fmt;
use std::{collections::BTreeSet, sync::Arc};

pub(super) use self::store::Store;

use self::{recall::Recall, strays::Strays};
use super::{Concerns, Effect, Version, View, Watch};
use crate::model::{ClusterId, Object, ObjectRef};

/// The objects that a controller watches, for all peers: by peer and by kind,
/// with the API server's own versions.
///
/// Each watch feeds it: [`relist`](Self::relist) with what a list found, then
/// [`observe`](Self::observe) and [`forget`](Self::forget) with what happens
/// after it. Each of them tells whom the change concerns, so that the controller
/// looks at those peers. A [`view`](Self::view) of one peer costs what the
/// peer's own objects cost; until every watch has listed once there is none,
/// since a missing binding would look like one that is to be made, and a missing
/// Tenant like an end.
///
/// # Whom an object concerns
/// In a tenant namespace, the namespace's peer, whatever the object's labels
/// say: the peer writes there. Elsewhere, the peer that a label of the object
/// names. Besides, everywhere, the peer whose name it has, for the kinds that
/// are looked for by name. When a Namespace comes, changes or goes, what lies in
/// it moves. A ClusterRole concerns everybody.
///
/// # What a controller writes itself
/// The answer to a write may be fed as well ([`written`](Self::written)), so
/// that the next look need not wait for the watch. Resource versions are opaque,
/// so none is older or newer than another one. The answer counts only as long as
/// the mirror has exactly what the write was based on: the version that it named,
/// or no object of that name, where the object was created. And an object
/// whose UID the mirror has seen go does not come back by an answer, however
/// late that is. What a watch says always counts.
///
/// # Objects that no watch covers
/// Not every object carries the labels that are watched: a peer may take them
/// off in its namespace. When a create finds its name taken, fetch that object
/// and feed it with [`fetched`](Self::fetched). It is in the view of the peer
/// whose effect met it, until it is [`gone`](Self::gone). No watch keeps it up to
/// date: fetch the [`strays`](Self::strays) of a peer before each look.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     machine::{Concerns, Mirror, Watch},
///     model::{Kind, Namespace, Object},
/// };
///
/// let watch = Watch::all(Kind::Namespace);
/// let mut mirror = Mirror::new([watch.clone()]);
/// let peer = "cl-consumer".parse()?;
/// assert_eq!(mirror.view(&peer).unwrap_err().watch, watch);
///
/// let namespace = Object::from(Namespace::for_tenant(&peer));
/// let concerns = mirror.relist(&watch, [namespace.clone()])?;
/// assert_eq!(concerns, Concerns::Peer(peer.clone()));
/// assert!(mirror.view(&peer).is_ok());
///
/// let concerns = mirror.forget(&watch, &namespace.id())?;
/// assert!(concerns.includes(&peer));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Mirror {
    store: Store,
    watches: Vec<Watched>,
    strays: Strays,
    recall: Recall,
    followers: Vec<Arc<dyn Follower>>,
}

/// What learns of every object that a [`Mirror`] sees, such as the look-up of
/// names.
pub trait Follower: Send + Sync {
    /// What it wants watched besides.
    fn watches(&self) -> Vec<Watch>;

    /// An object as it is now.
    fn observe(&self, object: &Object);

    /// An object is gone.
    fn forget(&self, object: &ObjectRef);

    /// Every watch has listed once.
    fn complete(&self);
}

/// There is no view yet: a watch has not listed its objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the watch of {watch} is not complete yet")]
pub struct NotYet {
    /// The first watch that is missing.
    pub watch: Watch,
}

/// Why the mirror does not take an object; it is unchanged then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The mirror has no such watch.
    #[error("the mirror was told of no watch of {0}")]
    UnknownWatch(Box<Watch>),
    /// The object is of another kind than the watch, or of none: the items of a
    /// typed list have none, and need the list's.
    #[error("found {found}, expected {expected}")]
    OtherKind {
        /// What was found.
        found: ObjectRef,
        /// The watch.
        expected: Box<Watch>,
    },
    /// The object has no name.
    #[error("found {0} without a name, expected one")]
    NoName(ObjectRef),
}

#[derive(Debug, Clone)]
struct Watched {
    watch: Watch,
    is_complete: bool,
}

impl Mirror {
    /// A mirror of these watches, each once: a provider's, a consumer's, or
    /// both.
    pub fn new(watches: impl IntoIterator<Item = Watch>) -> Self {
        let mut mirror = Self::default();
        for watch in watches {
            mirror.add(watch);
        }
        mirror
    }

    /// The same with a follower, whose watches come besides.
    #[must_use]
    pub fn with_follower(mut self, follower: Arc<dyn Follower>) -> Self {
        for watch in follower.watches() {
            self.add(watch);
        }
        self.followers.push(follower);
        self
    }

    /// What to watch.
    pub fn watches(&self) -> impl Iterator<Item = &Watch> {
        self.watches.iter().map(|watched| &watched.watch)
    }

    /// Takes all that a watch listed, in place of what that watch saw before. The
    /// watch is complete from now on, also while it is listed anew.
    ///
    /// # Errors
    /// [`MirrorError`] at the first object that is none of the watch's; the
    /// mirror is unchanged then.
    pub fn relist(
        &mut self,
        watch: &Watch,
        objects: impl IntoIterator<Item = Object>,
    ) -> Result<Concerns, MirrorError> {
        let at = self.find(watch)?;
        let objects: Vec<Object> = objects.into_iter().collect();
        objects.iter().try_for_each(|object| check(watch, object))?;
        let listed: BTreeSet<ObjectRef> = objects.iter().map(Object::id).collect();
        let before = self.store.of_kind(watch.kind, watch.namespace.as_deref());
        let missing: Vec<ObjectRef> = before
            .filter(|(id, _)| self.store.seen_by(id) & bit(at) != 0 && !listed.contains(id))
            .map(|(id, _)| id.clone())
            .collect();
        let mut concerns = Concerns::Nobody;
        for id in missing {
            concerns = concerns.and(self.leave(at, &id));
        }
        for object in objects {
            concerns = concerns.and(self.enter(at, object));
        }
        if let Some(watched) = self.watches.get_mut(at) {
            watched.is_complete = true;
        }
        if self.watches.iter().all(|watched| watched.is_complete) {
            for follower in &self.followers {
                follower.complete();
            }
        }
        Ok(concerns)
    }

    /// Takes an object that a watch shows: a new one, or another version.
    ///
    /// # Errors
    /// [`MirrorError`]; the mirror is unchanged then.
    pub fn observe(&mut self, watch: &Watch, object: Object) -> Result<Concerns, MirrorError> {
        let at = self.find(watch)?;
        check(watch, &object)?;
        Ok(self.enter(at, object))
    }

    /// Forgets an object that a watch no longer shows: it was deleted, or lost
    /// the watch's labels. It stays as long as another watch shows it.
    ///
    /// # Errors
    /// [`MirrorError::UnknownWatch`].
    pub fn forget(&mut self, watch: &Watch, id: &ObjectRef) -> Result<Concerns, MirrorError> {
        let at = self.find(watch)?;
        Ok(self.leave(at, id))
    }

    /// Takes an object that was fetched by its name, since an effect of this
    /// peer's met it.
    ///
    /// # Errors
    /// [`MirrorError::NoName`]; the mirror is unchanged then.
    pub fn fetched(&mut self, peer: &ClusterId, object: Object) -> Result<Concerns, MirrorError> {
        let id = object.id();
        if id.name.is_empty() {
            return Err(MirrorError::NoName(id));
        }
        self.strays.add(peer, &id);
        let seen = self.store.seen_by(&id);
        Ok(self.put(object, seen).and(Concerns::Peer(peer.clone())))
    }

    /// An object that was to be fetched is not there.
    pub fn gone(&mut self, id: &ObjectRef) -> Concerns {
        let fetched = Concerns::peers(self.strays.remove(id));
        fetched.and(self.take_out(id))
    }

    /// Takes the API server's answer to an effect: the object as it is now. A
    /// deletion has none to take: the watch tells of it. Returns whether the
    /// answer counts.
    pub fn written(&mut self, effect: &Effect, object: Object) -> bool {
        let id = effect.id();
        let is_known = self.recall.contains(uid(&object));
        let stored = self.store.get(&id).map(Object::any_metadata);
        let is_next = match (effect, stored) {
            (Effect::Create(_), None) => !is_known,
            (Effect::Replace { version, .. } | Effect::Patch { version, .. }, Some(stored)) => {
                *version == Version::of(stored) && stored.uid == object.any_metadata().uid
            }
            _ => false,
        };
        if !is_next || object.id() != id {
            return false;
        }
        let mut seen = self.store.seen_by(&id);
        if stored.is_none() {
            let covers = |watched: &Watched| watched.watch.covers(&object);
            let Some(at) = self.watches.iter().position(covers) else {
                // No watch would ever tell that it is gone.
                return false;
            };
            seen = bit(at);
        }
        self.put(object, seen);
        true
    }

    /// The objects that one peer's effects met and that no watch shows.
    pub fn strays(&self, peer: &ClusterId) -> impl Iterator<Item = &ObjectRef> {
        let fetched = self.strays.of(peer);
        fetched.filter(|id| self.store.seen_by(id) == 0)
    }

    /// What is seen of one peer.
    ///
    /// # Errors
    /// [`NotYet`] until every watch has listed once.
    pub fn view(&self, peer: &ClusterId) -> Result<View<'_>, NotYet> {
        if let Some(missing) = self.watches.iter().find(|watched| !watched.is_complete) {
            let watch = missing.watch.clone();
            return Err(NotYet { watch });
        }
        Ok(self.store.view(peer, false).and(self.met(peer)))
    }

    /// Whom an object concerns, by what is known of its namespace.
    pub fn concerns(&self, object: &Object) -> Concerns {
        self.store.concerns(object)
    }

    /// Every peer of which there is an object.
    pub fn peers(&self) -> impl Iterator<Item = &ClusterId> {
        self.store.peers()
    }

    /// The object of that name, if it is there.
    pub fn get(&self, id: &ObjectRef) -> Option<&Object> {
        self.store.get(id)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.store.iter().count()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.store.iter().next().is_none()
    }

    /// What was fetched for a peer, and would not be in its view otherwise.
    fn met(&self, peer: &ClusterId) -> impl Iterator<Item = &Object> {
        let fetched = self.strays.of(peer);
        fetched
            .filter_map(|id| self.store.get(id))
            .filter(|object| !self.store.concerns(object).includes(peer))
    }

    fn add(&mut self, watch: Watch) {
        if !self.watches.iter().any(|known| known.watch == watch) {
            self.watches.push(Watched {
                watch,
                is_complete: false,
            });
        }
    }

    fn enter(&mut self, at: usize, object: Object) -> Concerns {
        let id = object.id();
        let stored = self.store.get(&id).map(uid);
        if let Some(stored) = stored.filter(|stored| *stored != uid(&object)) {
            self.recall.note(stored);
        }
        let seen = self.store.seen_by(&id) | bit(at);
        self.put(object, seen)
    }

    fn leave(&mut self, at: usize, id: &ObjectRef) -> Concerns {
        let seen = self.store.seen_by(id) & !bit(at);
        if seen == 0 && !self.strays.contains(id) {
            return self.take_out(id);
        }
        if let Some(object) = self.store.get(id).filter(|_| seen == 0) {
            self.recall.note(uid(object));
        }
        self.store.set_seen_by(id, seen)
    }

    fn put(&mut self, object: Object, seen: u64) -> Concerns {
        for follower in &self.followers {
            follower.observe(&object);
        }
        self.store.put(object, seen)
    }

    fn take_out(&mut self, id: &ObjectRef) -> Concerns {
        for follower in &self.followers {
            follower.forget(id);
        }
        let Some((object, concerns)) = self.store.remove(id) else {
            return Concerns::Nobody;
        };
        self.recall.note(uid(&object));
        concerns
    }

    fn find(&self, watch: &Watch) -> Result<usize, MirrorError> {
        let found = self.watches.iter().position(|known| known.watch == *watch);
        found.ok_or_else(|| MirrorError::UnknownWatch(Box::new(watch.clone())))
    }
}

impl fmt::Debug for Mirror {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Mirror")
            .field("watches", &self.watches)
            .field("objects", &self.len())
            .finish_non_exhaustive()
    }
}

/// That the object is one which the watch may show.
fn check(watch: &Watch, object: &Object) -> Result<(), MirrorError> {
    let (kind, namespace, name) = object.key();
    let elsewhere = watch
        .namespace
        .as_deref()
        .is_some_and(|own| own != namespace);
    if kind != watch.kind || elsewhere {
        return Err(MirrorError::OtherKind {
            found: object.id(),
            expected: Box::new(watch.clone()),
        });
    }
    if name.is_empty() {
        return Err(MirrorError::NoName(object.id()));
    }
    Ok(())
}

fn uid(object: &Object) -> &str {
    &object.any_metadata().uid
}

/// The mark of the watch in that place. No machine has as many as 64: a watch
/// behind these shares the last one's.
fn bit(at: usize) -> u64 {
    1_u64 << at.min(63)
}
