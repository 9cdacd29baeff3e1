//! A cache of the objects that a controller watches, by peer.

mod bound;
mod budget;
mod by_name;
mod deleted_uids;
mod fetched_objects;
mod peers;
mod placement;
mod store;
mod watch_set;

use std::{collections::BTreeSet, sync::Arc};

pub use self::peers::peers_of;
pub(super) use self::{store::Store, watch_set::WatchSet};

use self::{
    budget::{Budget, Place},
    deleted_uids::DeletedUids,
    fetched_objects::FetchedObjects,
};
use super::{Concerns, Effect, Version, View, Watch};
use crate::model::{ClusterId, Kind, Object, ObjectRef};

/// A cache of the objects that a controller watches, for all peers: by peer and by
/// kind, with the versions of the API server.
///
/// Each watch feeds the mirror: [`relist`](Self::relist) takes the result of a
/// list, and [`observe`](Self::observe) and [`forget`](Self::forget) take the
/// later events. These calls return the peers that the change concerns, so that
/// the controller reconciles those peers. The cost of a [`view`](Self::view) grows
/// with the objects of its own peer only. No view exists until every watch has
/// listed once. With an incomplete list, the controller would create an existing
/// binding again, or would end a peering because its Tenant seems to be missing.
///
/// # Which peers an object concerns
/// - In a tenant namespace: the namespace's peer. The labels of the object are
///   ignored there, because the peer can write them.
/// - In another namespace, or in no namespace: the peers that labels of the object
///   name.
/// - In any namespace, for the kinds that are looked up by name: also the peer that
///   the object's name contains.
/// - A ForeignCluster: also the peer that its spec names.
/// - A RoleBinding or a ClusterRoleBinding: also the known peers whose user or group it
///   names. It does not make a peer known, since other users and groups have such names, too.
/// - A ClusterRole or a Role to which none of these rules assigns a peer concerns
///   every peer.
///
/// When a Namespace is created, changed or deleted, the objects in the namespace
/// are assigned again.
///
/// # The controller's own writes
/// The mirror may also take the API server's answer to a write
/// ([`written`](Self::written)), so that the next call does not have to wait for
/// the watch. Resource versions are opaque, so their order is unknown. The mirror
/// takes an answer only if it still has the state on which the write was based: the
/// version that the write named, or no object of that name for a create. A late
/// answer never restores a deleted object, because the mirror remembers the UIDs of
/// recently deleted objects. The mirror always takes the events of a watch.
///
/// # Objects that no watch covers
/// Not every object has the watched labels: a peer may remove them in its
/// namespace. If a create fails because the name exists, fetch that object and pass
/// it to [`fetched`](Self::fetched). The object is then in the view of the peer
/// whose effect failed, until [`gone`](Self::gone) removes it. No watch updates the
/// object. Therefore, fetch the [`unwatched`](Self::unwatched) objects of a peer
/// before each call for that peer.
///
/// # What a peer may write costs a bounded amount of memory
/// Each kind that a peer may write has a budget in each tenant namespace: 4 MiB of JSON, and
/// 4096 objects. The oldest objects come first. Beyond the bytes, an object is kept as
/// [`Object::Unreadable`], with the metadata that suffices to delete it. Beyond the number,
/// it is not kept. [`unwatched`](Self::unwatched) names the objects for whose content there
/// is room again.
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
#[derive(Clone, Default, derive_more::Debug)]
#[debug("Mirror {{ watches: {watches:?}, objects: {}, .. }}", self.len())]
pub struct Mirror {
    store: Store,
    watches: Vec<Watched>,
    fetched: FetchedObjects,
    deleted: DeletedUids,
    budget: Budget,
    followers: Vec<Arc<dyn Follower>>,
}

/// A listener for every object that a [`Mirror`] takes, such as the look-up of
/// names.
pub trait Follower: Send + Sync {
    /// The additional watches that the follower needs.
    fn watches(&self) -> Vec<Watch>;

    /// Takes the present state of an object.
    fn observe(&self, object: &Object);

    /// Takes the removal of an object.
    fn forget(&self, object: &ObjectRef);

    /// Called after each list, as soon as every watch has listed at least once.
    fn complete(&self);
}

/// The error of a view that does not exist yet, because a watch has not listed its
/// objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the watch of {watch} is not complete yet")]
pub struct NotYet {
    /// The first watch that has not listed yet.
    pub watch: Watch,
}

/// Why the mirror does not take an object. The mirror is unchanged then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The mirror has no such watch.
    #[error("the mirror has no watch of {0}")]
    UnknownWatch(Box<Watch>),
    /// The object is not of the watch's kind or namespace. An API server leaves out
    /// the kind of the items of a typed list, such as a `SecretList`. Set the kind
    /// of such an item first.
    #[error("found {found}, expected {expected}")]
    OtherKind {
        /// The object found.
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
    /// A mirror of these watches, without duplicates: those of a provider, of a
    /// consumer, or of both.
    pub fn new(watches: impl IntoIterator<Item = Watch>) -> Self {
        let mut mirror = Self::default();
        for watch in watches {
            mirror.add(watch);
        }
        mirror
    }

    /// The same mirror with a follower and the follower's watches.
    #[must_use]
    pub fn with_follower(mut self, follower: Arc<dyn Follower>) -> Self {
        for watch in follower.watches() {
            self.add(watch);
        }
        self.followers.push(follower);
        self
    }

    /// The watches that feed this mirror.
    pub fn watches(&self) -> impl Iterator<Item = &Watch> {
        self.watches.iter().map(|watched| &watched.watch)
    }

    /// Takes the result of a watch's list. The result replaces everything that the
    /// watch showed before. From now on, the watch counts as complete, even while
    /// it lists again.
    ///
    /// A watch of all namespaces also takes lists of one namespace: give the same watch
    /// [in that namespace](Watch::in_namespace). Such a result replaces what the watch showed
    /// in this namespace, and does not make the watch complete. So a controller that may read
    /// only certain namespaces can feed one watch by several.
    ///
    /// # Errors
    /// [`MirrorError`] at the first object that does not belong to the watch. The
    /// mirror is unchanged then.
    pub fn relist(
        &mut self,
        watch: &Watch,
        objects: impl IntoIterator<Item = Object>,
    ) -> Result<Concerns, MirrorError> {
        let at = self.find_with_place(watch)?;
        let concerns = self.replace(at, watch, objects)?;
        if let Some(watched) = self.watches.get_mut(at) {
            watched.is_complete |= watched.watch == *watch;
        }
        if self.watches.iter().all(|watched| watched.is_complete) {
            for follower in &self.followers {
                follower.complete();
            }
        }
        Ok(concerns)
    }

    /// Takes an object from a watch event: a new object, or a new version.
    ///
    /// # Errors
    /// [`MirrorError`]; the mirror is unchanged then.
    pub fn observe(&mut self, watch: &Watch, object: Object) -> Result<Concerns, MirrorError> {
        let at = self.find(watch)?;
        check(watch, &object)?;
        Ok(self.enter(at, object))
    }

    /// Forgets an object that a watch no longer shows: the object was deleted, or
    /// lost the watch's labels. The object stays while another watch shows it.
    ///
    /// # Errors
    /// [`MirrorError::UnknownWatch`].
    pub fn forget(&mut self, watch: &Watch, id: &ObjectRef) -> Result<Concerns, MirrorError> {
        let at = self.find(watch)?;
        Ok(self.leave(at, id))
    }

    /// Takes an object that the caller fetched by name, because an effect for this
    /// peer failed: the name was already taken.
    ///
    /// # Errors
    /// [`MirrorError::NoName`]; the mirror is unchanged then.
    pub fn fetched(&mut self, peer: &ClusterId, object: Object) -> Result<Concerns, MirrorError> {
        let id = object.id();
        if id.name.is_empty() {
            return Err(MirrorError::NoName(id));
        }
        let seen = self.store.seen_by(&id);
        if let Some(concerns) = self.give_back(&object) {
            return Ok(concerns);
        }
        self.fetched.add(peer, &id);
        Ok(self.put(object, seen).and(Concerns::Peer(peer.clone())))
    }

    /// Removes a fetched object that no longer exists.
    pub fn gone(&mut self, id: &ObjectRef) -> Concerns {
        let fetched = Concerns::peers(self.fetched.remove(id));
        fetched.and(self.take_out(id))
    }

    /// Takes the object from the API server's answer to an effect. The answer to a
    /// deletion is ignored: the watch reports the deletion. Returns whether the
    /// mirror took the answer.
    pub fn written(&mut self, effect: &Effect, object: Object) -> bool {
        let id = effect.id();
        let is_deleted = self.deleted.contains(uid(&object));
        let stored = self.store.get(&id).map(Object::metadata);
        let is_next = match (effect, stored) {
            (Effect::Create(_), None) => !is_deleted,
            (Effect::Replace { version, .. } | Effect::Patch { version, .. }, Some(stored)) => {
                *version == Version::of(stored) && stored.uid == object.metadata().uid
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
                // No watch would ever report the deletion of the object.
                return false;
            };
            seen.insert(at);
        }
        self.put(object, seen);
        true
    }

    /// The objects that were [`fetched`](Self::fetched) for one peer and that no
    /// watch shows, and the objects of the peer that have lost their content and for which
    /// there is room again.
    pub fn unwatched(&self, peer: &ClusterId) -> impl Iterator<Item = ObjectRef> {
        let fetched = self.fetched.of(peer);
        let unseen = fetched.filter(|id| self.store.seen_by(id).is_empty());
        let is_own =
            |kind, namespace: &str| self.store.owner_of(kind, namespace).as_ref() == Some(peer);
        unseen.cloned().chain(self.budget.returning(is_own))
    }

    /// The view of one peer.
    ///
    /// # Errors
    /// [`NotYet`] until every watch has listed once.
    pub fn view(&self, peer: &ClusterId) -> Result<View<'_>, NotYet> {
        if let Some(missing) = self.watches.iter().find(|watched| !watched.is_complete) {
            let watch = missing.watch.clone();
            return Err(NotYet { watch });
        }
        Ok(self.store.view(peer, false).and(self.fetched_only(peer)))
    }

    /// The peers that an object concerns, given the known Namespaces.
    pub fn concerns(&self, object: &Object) -> Concerns {
        self.store.concerns(object)
    }

    /// Every peer that has an object.
    pub fn peers(&self) -> impl Iterator<Item = &ClusterId> {
        self.store.peers()
    }

    /// The object of that name, if the mirror has it.
    pub fn get(&self, id: &ObjectRef) -> Option<&Object> {
        self.store.get(id)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.store.iter().count()
    }

    /// Whether the mirror has no object.
    pub fn is_empty(&self) -> bool {
        self.store.iter().next().is_none()
    }

    /// The objects that were fetched for a peer and do not concern it otherwise.
    fn fetched_only(&self, peer: &ClusterId) -> impl Iterator<Item = &Object> {
        let fetched = self.fetched.of(peer);
        fetched
            .filter_map(|id| self.store.get(id))
            .filter(|object| !self.store.shows(object, peer))
    }

    fn add(&mut self, watch: Watch) {
        if !self.watches.iter().any(|known| known.watch == watch) {
            self.watches.push(Watched {
                watch,
                is_complete: false,
            });
        }
    }

    /// Replaces what the watch at this index showed in the place of `listed`.
    fn replace(
        &mut self,
        at: usize,
        listed: &Watch,
        objects: impl IntoIterator<Item = Object>,
    ) -> Result<Concerns, MirrorError> {
        let objects: Vec<Object> = objects.into_iter().collect();
        objects
            .iter()
            .try_for_each(|object| check(listed, object))?;
        self.budget
            .forget_left_out(listed.kind, listed.namespace.as_deref());
        let present: BTreeSet<ObjectRef> = objects.iter().map(Object::id).collect();
        let before = self.store.of_kind(listed.kind, listed.namespace.as_deref());
        let missing: Vec<ObjectRef> = before
            .filter(|(_, indexed)| indexed.seen_by.contains(at))
            .map(|(object, _)| object.id())
            .filter(|id| !present.contains(id))
            .collect();
        let mut concerns = Concerns::Nobody;
        for id in missing {
            concerns = concerns.and(self.leave(at, &id));
        }
        for object in objects {
            concerns = concerns.and(self.enter(at, object));
        }
        Ok(concerns)
    }

    fn enter(&mut self, at: usize, object: Object) -> Concerns {
        let id = object.id();
        let stored = self.store.get(&id).map(uid);
        if let Some(stored) = stored.filter(|stored| *stored != uid(&object)) {
            self.deleted.note(stored);
        }
        let mut seen = self.store.seen_by(&id);
        seen.insert(at);
        self.put(object, seen)
    }

    fn leave(&mut self, at: usize, id: &ObjectRef) -> Concerns {
        let mut seen = self.store.seen_by(id);
        seen.remove(at);
        if seen.is_empty() && !self.fetched.contains(id) {
            return self.take_out(id);
        }
        if let Some(object) = self.store.get(id).filter(|_| seen.is_empty()) {
            self.deleted.note(uid(object));
        }
        self.store.set_seen_by(id, seen)
    }

    fn put(&mut self, object: Object, seen: WatchSet) -> Concerns {
        for follower in &self.followers {
            follower.observe(&object);
        }
        let id = object.id();
        let before = self.store.get(&id).map(Place::of);
        let concerns = self.store.put(object, seen);
        self.keep_within_budget(&id, before.as_ref());
        if id.kind == Kind::Namespace {
            self.keep_namespace_within_budget(&id.name);
        }
        concerns
    }

    fn take_out(&mut self, id: &ObjectRef) -> Concerns {
        for follower in &self.followers {
            follower.forget(id);
        }
        let Some((object, concerns)) = self.store.remove(id) else {
            self.budget.forget(id, None);
            return Concerns::Nobody;
        };
        self.budget.forget(id, Some(&Place::of(&object)));
        self.deleted.note(uid(&object));
        concerns
    }

    /// The watch, or the same watch of all namespaces.
    fn find_with_place(&self, watch: &Watch) -> Result<usize, MirrorError> {
        let everywhere = Watch {
            namespace: None,
            ..watch.clone()
        };
        self.find(watch).or_else(|_| self.find(&everywhere))
    }

    fn find(&self, watch: &Watch) -> Result<usize, MirrorError> {
        let found = self.watches.iter().position(|known| known.watch == *watch);
        found.ok_or_else(|| MirrorError::UnknownWatch(Box::new(watch.clone())))
    }
}

/// Checks that the object has the watch's kind and namespace, and a name.
fn check(watch: &Watch, object: &Object) -> Result<(), MirrorError> {
    if !watch.has_place_of(object) {
        return Err(MirrorError::OtherKind {
            found: object.id(),
            expected: Box::new(watch.clone()),
        });
    }
    let (_, _, name) = object.key();
    if name.is_empty() {
        return Err(MirrorError::NoName(object.id()));
    }
    Ok(())
}

fn uid(object: &Object) -> &str {
    &object.metadata().uid
}
