//! An in-memory store of objects that applies effects as an API server does.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    ApplyError, Effect, Version, View,
    applying::write_own_fields,
    mirror::{Store, WatchSet},
};
use crate::{
    crypto::Entropy,
    model::{ClusterId, Metadata, Object, ObjectRef, Resource, Timestamp, wipe},
};

/// One cluster's objects in memory: for tests, fuzzers, simulations, and tools
/// that keep their objects elsewhere between two calls.
///
/// The store applies an effect as an API server does ([`Effect::apply_to`]), and gives
/// each object a UID and a resource version. It refuses what an API server refuses: a
/// name that exists, an outdated version, a patch of the wrong part. It keeps a deleted
/// object until its finalizers are removed. An object that cannot be read is listed,
/// patched in its metadata, and deleted as any other. The store has no schema, no
/// admission, no garbage collection and no clock: [`set_time`](Self::set_time) says what
/// time it is.
///
/// The UIDs follow from the store's entropy. If a program makes the store anew for each
/// call, each store needs entropy of its own: a later object must not get the UID of a
/// deleted one.
///
/// # Examples
/// ```
/// use liqo_auth::{crypto::Entropy, machine::{Effect, Objects}, model::Namespace};
///
/// let peer = "cl-consumer".parse()?;
/// let entropy = Entropy::from_bytes([7; 32]); // real bytes come from a generator
/// let mut objects = Objects::new(&entropy);
/// let create = Effect::Create(Namespace::for_tenant(&peer).into());
/// objects.apply(&create)?;
/// assert!(objects.apply(&create).is_err(), "the Namespace already exists");
/// assert_eq!(objects.iter().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, derive_more::Debug)]
pub struct Objects {
    objects: Store,
    /// The whole JSON of the objects that were given as JSON.
    #[debug(skip)]
    values: BTreeMap<ObjectRef, Arc<WipedValue>>,
    /// The beginning of each UID, which is random. A revision follows.
    #[debug(skip)]
    uid_prefix: String,
    revision: u64,
    time: Timestamp,
}

impl Objects {
    /// An empty store, whose UIDs follow from this entropy. Its time is the Unix epoch.
    pub fn new(entropy: &Entropy) -> Self {
        let random = u64::from_be_bytes(entropy.derive("object UIDs", &[]));
        let (high, middle) = (random >> 32, (random >> 16) & 0xffff);
        Self {
            objects: Store::default(),
            values: BTreeMap::new(),
            // A UUID of version 8 (RFC 9562, section 5.8).
            uid_prefix: format!("{high:08x}-{middle:04x}-8{:03x}-8000-", random & 0xfff),
            revision: 0,
            time: Timestamp::EPOCH,
        }
    }

    /// Sets the time at which the following effects are applied.
    pub fn set_time(&mut self, now: Timestamp) {
        self.time = now;
    }

    /// Carries out one effect.
    ///
    /// # Errors
    /// [`ApplyError`]; the store is unchanged then.
    pub fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
        let id = effect.id();
        let stored = self.objects.get(&id);
        match self.values.get(&id) {
            None => match effect.apply_to(stored, self.time)? {
                Some(object) if Some(&object) == stored => {}
                Some(object) => self.insert(object),
                None => drop(self.remove(&id)),
            },
            Some(value) => match effect.apply_to_value(Some(&value.0), self.time)? {
                Some(after) if after == value.0 => {}
                Some(after) => self.insert_value(after),
                None => drop(self.remove(&id)),
            },
        }
        Ok(())
    }

    /// Deletes an object, as `kubectl delete` does. An object with finalizers gets
    /// a deletion timestamp and a new resource version, and is removed with its last
    /// finalizer.
    pub fn delete(&mut self, id: &ObjectRef) {
        // The object may be missing.
        let _ = self.apply(&Effect::Delete {
            id: id.clone(),
            version: Version::default(),
        });
    }

    /// Stores an object, in place of one of the same name. An object without a UID
    /// gets one. Each object gets a new resource version.
    pub fn insert(&mut self, mut object: Object) {
        self.complete(object.metadata_mut());
        self.load(object);
    }

    /// As [`insert`](Self::insert), with the whole JSON of the object. The store keeps
    /// the fields that this library does not read.
    pub fn insert_value(&mut self, mut value: Value) {
        let mut object = Object::from_value(value.clone());
        self.complete(object.metadata_mut());
        write_own_fields(&mut value, object.metadata());
        self.load_value(object, value);
    }

    /// Takes an object as another store keeps it: with its UID and its resource version.
    pub fn load(&mut self, object: Object) {
        if !self.values.is_empty() {
            self.values.remove(&object.id());
        }
        self.take(object);
    }

    /// As [`load`](Self::load), with the whole JSON of the object.
    pub fn load_value(&mut self, object: Object, value: Value) {
        self.values.insert(object.id(), Arc::new(WipedValue(value)));
        self.take(object);
    }

    /// The whole JSON of an object. Without JSON in the store, it has what this library
    /// reads of the object.
    ///
    /// It contains the values of a Secret: wipe it after use.
    pub fn value(&self, id: &ObjectRef) -> Option<Value> {
        let known = self.values.get(id).map(|value| value.0.clone());
        known.or_else(|| self.objects.get(id).map(Object::to_value))
    }

    /// Removes an object, if it exists.
    pub fn remove(&mut self, id: &ObjectRef) -> Option<Object> {
        self.values.remove(id);
        self.objects.remove(id).map(|(object, _)| object)
    }

    /// The object of that kind and name, if it exists and can be read.
    pub fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<&K> {
        let id = ObjectRef::new(K::KIND, namespace, name);
        self.object(&id).and_then(K::from_object)
    }

    /// The object of that name, if it exists.
    pub fn object(&self, id: &ObjectRef) -> Option<&Object> {
        self.objects.get(id)
    }

    /// All objects, sorted by kind, namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    /// The view of `peer`. It includes the objects that concern no peer, but not
    /// those of other peers.
    pub fn view(&self, peer: &ClusterId) -> View<'_> {
        self.objects.view(peer, true)
    }

    /// Gives an object a new resource version, and a UID if it has none.
    fn complete(&mut self, metadata: &mut Metadata) {
        self.revision = self.revision.saturating_add(1);
        if metadata.uid.is_empty() {
            // The last field of a UUID has 48 bits.
            let last = self.revision & 0xffff_ffff_ffff;
            metadata.uid = format!("{}{last:012x}", self.uid_prefix);
        }
        metadata.resource_version = self.revision.to_string();
    }

    /// Stores an object as it is. No later object gets its resource version.
    fn take(&mut self, object: Object) {
        if let Ok(revision) = object.metadata().resource_version.parse() {
            self.revision = self.revision.max(revision);
        }
        self.objects.put(object, WatchSet::default());
    }
}

/// A value whose strings are wiped on drop, since some may be secrets.
#[derive(Clone, PartialEq)]
struct WipedValue(Value);

impl Drop for WipedValue {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Stores objects that were kept elsewhere, with their UIDs.
impl Extend<Object> for Objects {
    fn extend<I: IntoIterator<Item = Object>>(&mut self, objects: I) {
        objects.into_iter().for_each(|object| self.insert(object));
    }
}
