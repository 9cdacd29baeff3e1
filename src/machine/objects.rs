//! An in-memory store of objects that applies effects as an API server does.

use serde_json::Value;

use super::{
    Effect, Part, Version, View, merge_patch,
    mirror::{Store, WatchSet},
};
use crate::{
    crypto::Entropy,
    model::{ClusterId, Hex, Object, ObjectRef, Resource, Timestamp},
};

/// One cluster's objects in memory: for tests, fuzzers, simulations, and tools
/// that keep their objects elsewhere between two calls.
///
/// The store gives each object a UID and a resource version. It refuses what an API
/// server refuses: a name that exists, an outdated version, a patch of the wrong
/// part. It keeps a deleted object until its finalizers are removed. The store has
/// no schema, no admission, no garbage collection and no clock.
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
    #[debug(skip)]
    seed: [u8; 32],
    revision: u64,
}

/// Why the store does not apply an effect. The store is unchanged then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// An object of that name exists.
    #[error("{0} exists already")]
    Exists(ObjectRef),
    /// No object of that name exists.
    #[error("{0} does not exist")]
    Missing(ObjectRef),
    /// The object has changed since it was seen.
    #[error("{0} has changed since it was seen")]
    Changed(ObjectRef),
    /// The patch changes a field outside the part that the effect names.
    #[error("the patch of {0} changes a field outside the named part")]
    OtherPart(ObjectRef),
    /// The patched object cannot be read as an object of its kind.
    #[error("{0} would be unreadable after the patch")]
    Unreadable(ObjectRef),
}

impl Objects {
    /// An empty store, whose UIDs follow from this entropy.
    pub fn new(entropy: &Entropy) -> Self {
        Self {
            objects: Store::default(),
            seed: entropy.derive("object UIDs", &[]),
            revision: 0,
        }
    }

    /// Carries out one effect.
    ///
    /// # Errors
    /// [`ApplyError`]; the store is unchanged then.
    pub fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
        match effect {
            Effect::Create(object) => {
                let id = object.id();
                if self.objects.get(&id).is_some() {
                    return Err(ApplyError::Exists(id));
                }
                self.insert(object.clone());
            }
            Effect::Replace { object, version } => {
                let stored = self.at(&object.id(), version)?.any_metadata();
                let (uid, deleted) = (stored.uid.clone(), stored.deletion_timestamp);
                let mut object = object.clone();
                let metadata = object.any_metadata_mut();
                metadata.uid = uid;
                metadata.deletion_timestamp = deleted;
                let id = object.id();
                self.insert(object);
                self.let_go(&id);
            }
            Effect::Patch {
                id,
                version,
                part,
                patch,
            } => {
                let stored = self.at(id, version)?;
                let is_of_part = |key: &String| (key == "status") == (*part != Part::Main);
                if !patch
                    .as_object()
                    .is_some_and(|patch| patch.keys().all(is_of_part))
                {
                    return Err(ApplyError::OtherPart(id.clone()));
                }
                let patched = patched(stored, patch);
                self.insert(patched.ok_or_else(|| ApplyError::Unreadable(id.clone()))?);
                self.let_go(id);
            }
            Effect::Delete { id, version } => {
                self.at(id, version)?;
                self.delete(id, Timestamp::EPOCH);
            }
        }
        Ok(())
    }

    /// Deletes an object, as `kubectl delete` does. An object with finalizers gets
    /// a deletion timestamp and a new resource version, and is removed with its last
    /// finalizer.
    pub fn delete(&mut self, id: &ObjectRef, now: Timestamp) {
        let Some(object) = self.objects.get(id) else {
            return;
        };
        let metadata = object.any_metadata();
        if metadata.finalizers.is_empty() {
            self.objects.remove(id);
        } else if metadata.deletion_timestamp.is_none() {
            let mut object = object.clone();
            object.any_metadata_mut().deletion_timestamp = Some(now);
            self.insert(object);
        }
    }

    /// Stores an object, in place of one of the same name. An object without a UID
    /// gets one. Each object gets a new resource version.
    pub fn insert(&mut self, mut object: Object) {
        self.revision += 1;
        let metadata = object.any_metadata_mut();
        if metadata.uid.is_empty() {
            metadata.uid = uid(&self.seed, self.revision);
        }
        metadata.resource_version = self.revision.to_string();
        self.objects.put(object, WatchSet::default());
    }

    /// Removes an object, if it exists.
    pub fn remove(&mut self, id: &ObjectRef) -> Option<Object> {
        self.objects.remove(id).map(|(object, _)| object)
    }

    /// The object of that name, if it exists.
    pub fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<&K> {
        let id = ObjectRef::new(K::KIND, namespace, name);
        self.objects.get(&id).and_then(K::from_object)
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

    fn let_go(&mut self, id: &ObjectRef) {
        let metadata = self.objects.get(id).map(Object::any_metadata);
        if metadata.is_some_and(|metadata| {
            metadata.deletion_timestamp.is_some() && metadata.finalizers.is_empty()
        }) {
            self.objects.remove(id);
        }
    }

    fn at(&self, id: &ObjectRef, seen: &Version) -> Result<&Object, ApplyError> {
        let stored = self.objects.get(id);
        let stored = stored.ok_or_else(|| ApplyError::Missing(id.clone()))?;
        let metadata = stored.any_metadata();
        let same = |seen: &str, present: &str| seen.is_empty() || seen == present;
        if same(&seen.uid, &metadata.uid)
            && same(&seen.resource_version, &metadata.resource_version)
        {
            Ok(stored)
        } else {
            Err(ApplyError::Changed(id.clone()))
        }
    }
}

/// The object after the patch, or none if it would be unreadable. A patch can change
/// only the finalizers of an object that is unreadable already.
fn patched(object: &Object, patch: &Value) -> Option<Object> {
    let Object::Unreadable(unreadable) = object else {
        let mut value = object.to_value();
        merge_patch::apply(&mut value, patch);
        let patched = Object::from_value(value);
        return patched.as_unreadable().is_none().then_some(patched);
    };
    let only = |value: &Value, field: &str| {
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        fields.get(field).cloned()
    };
    let finalizers = only(&only(patch, "metadata")?, "finalizers")?;
    let finalizers: Option<Vec<String>> = serde_json::from_value(finalizers).ok()?;
    let mut released = unreadable.clone();
    // In a merge patch, `null` removes the field.
    released.metadata.finalizers = finalizers.unwrap_or_default();
    Some(released.into())
}

/// A UUID of version 4 (RFC 9562, section 5.4).
fn uid(seed: &[u8; 32], revision: u64) -> String {
    let revision = revision.to_be_bytes();
    let mut bytes: [u8; 16] = Entropy::from_bytes(*seed).derive("object UID", &[&revision]);
    for (at, kept, set) in [(6, 0x0f, 0x40), (8, 0x3f, 0x80)] {
        if let Some(byte) = bytes.get_mut(at) {
            *byte = (*byte & kept) | set;
        }
    }
    let digits = Hex(&bytes).to_string();
    let group = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [
        group(0, 8),
        group(8, 12),
        group(12, 16),
        group(16, 20),
        group(20, 32),
    ]
    .join("-")
}

/// Stores objects that were kept elsewhere, with their UIDs.
impl Extend<Object> for Objects {
    fn extend<I: IntoIterator<Item = Object>>(&mut self, objects: I) {
        objects.into_iter().for_each(|object| self.insert(object));
    }
}
