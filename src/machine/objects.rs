//! An in-memory store of objects that applies effects as an API server does.

use serde_json::Value;

use super::{Effect, Part, Version, View, merge_patch, mirror::Store};
use crate::model::{ClusterId, Metadata, Object, ObjectRef, Resource, Timestamp, Unreadable};

/// One cluster's objects in memory: for tests, fuzzers, simulations, and tools
/// that keep their objects elsewhere between two calls.
///
/// It gives each object a UID and a resource version, refuses what an API
/// server refuses (a name that exists, a version that has passed, a patch of
/// the wrong part), holds what is deleted for its finalizers, and nothing else:
/// no schema, no admission, no garbage collection, no clock.
///
/// # Examples
/// ```
/// use liqo_auth::{machine::{Effect, Objects}, model::Namespace};
///
/// let peer = "cl-consumer".parse()?;
/// let mut objects = Objects::new();
/// let create = Effect::Create(Namespace::for_tenant(&peer).into());
/// objects.apply(&create)?;
/// assert!(objects.apply(&create).is_err(), "it is there already");
/// assert_eq!(objects.iter().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Objects {
    objects: Store,
    revision: u64,
}

/// Why an effect does not apply; the store is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// An object of that name exists.
    #[error("{0} exists already")]
    Exists(ObjectRef),
    /// There is no object of that name.
    #[error("{0} does not exist")]
    Missing(ObjectRef),
    /// The object has changed since it was seen.
    #[error("{0} has changed since it was seen")]
    Changed(ObjectRef),
    /// The patch is for another part of the object than it says.
    #[error("the patch of {0} is not of the part that it says")]
    OtherPart(ObjectRef),
    /// The patched object would not be one of its kind.
    #[error("{0} would be unreadable after the patch")]
    Unreadable(ObjectRef),
}

impl Objects {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Carries out one effect.
    ///
    /// # Errors
    /// [`ApplyError`]; the store is then as it was.
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
                let uid = self.at(&object.id(), version)?.uid.clone();
                let mut object = object.clone();
                if let Some(metadata) = object.metadata_mut() {
                    metadata.uid = uid;
                }
                self.insert(object);
            }
            Effect::Patch {
                id,
                version,
                part,
                patch,
            } => {
                self.at(id, version)?;
                let is_of_part = |key: &String| (key == "status") == (*part != Part::Main);
                if !patch
                    .as_object()
                    .is_some_and(|patch| patch.keys().all(is_of_part))
                {
                    return Err(ApplyError::OtherPart(id.clone()));
                }
                let current = self
                    .objects
                    .get(id)
                    .ok_or_else(|| ApplyError::Missing(id.clone()))?;
                if let Object::Unreadable(unreadable) = current {
                    let mut released = unreadable.clone();
                    release(&mut released, patch)?;
                    self.insert(released.into());
                    self.let_go(id);
                    return Ok(());
                }
                let mut value = current.to_value();
                merge_patch::apply(&mut value, patch);
                match Object::from_value(value) {
                    Object::Unreadable(_) => return Err(ApplyError::Unreadable(id.clone())),
                    object => self.insert(object),
                }
                self.let_go(id);
            }
            Effect::Delete { id, version } => {
                self.at(id, version)?;
                self.delete(id, Timestamp::EPOCH);
            }
        }
        Ok(())
    }

    /// Deletes an object, as `kubectl delete` would: one with finalizers is
    /// marked with the time, and goes with the last of them.
    pub fn delete(&mut self, id: &ObjectRef, now: Timestamp) {
        if let Some(mut object) = self.objects.get(id).cloned()
            && let Some(metadata) = metadata_mut(&mut object)
        {
            metadata.deletion_timestamp.get_or_insert(now);
            self.objects.put(object, 0);
        }
        self.let_go(id);
    }

    /// Puts an object in as it is, over one of the same name. It keeps the UID
    /// that it has, or is given one; its version is new.
    pub fn insert(&mut self, mut object: Object) {
        self.revision += 1;
        if let Some(metadata) = metadata_mut(&mut object) {
            if metadata.uid.is_empty() {
                metadata.uid = format!("00000000-0000-4000-8000-{:012x}", self.revision);
            }
            metadata.resource_version = self.revision.to_string();
        }
        self.objects.put(object, 0);
    }

    /// Takes an object out, if it is there.
    pub fn remove(&mut self, id: &ObjectRef) -> Option<Object> {
        self.objects.remove(id).map(|(object, _)| object)
    }

    /// The object of that name, if it is there.
    pub fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<&K> {
        let id = ObjectRef::new(K::KIND, namespace, name);
        self.objects.get(&id).and_then(K::from_object)
    }

    /// All objects, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    /// What is seen of `peer`, with what concerns nobody: the objects of other
    /// peers are left out, and cost nothing.
    pub fn view(&self, peer: &ClusterId) -> View<'_> {
        self.objects.view(peer, true)
    }

    fn let_go(&mut self, id: &ObjectRef) {
        let metadata = self.objects.get(id).and_then(metadata);
        if metadata.is_some_and(|metadata| {
            metadata.deletion_timestamp.is_some() && metadata.finalizers.is_empty()
        }) {
            self.objects.remove(id);
        }
    }

    fn at(&self, id: &ObjectRef, seen: &Version) -> Result<&Metadata, ApplyError> {
        let metadata = self
            .objects
            .get(id)
            .and_then(metadata)
            .ok_or_else(|| ApplyError::Missing(id.clone()))?;
        let same = |seen: &str, present: &str| seen.is_empty() || seen == present;
        if same(&seen.uid, &metadata.uid)
            && same(&seen.resource_version, &metadata.resource_version)
        {
            Ok(metadata)
        } else {
            Err(ApplyError::Changed(id.clone()))
        }
    }
}

/// The metadata of an object, whether the object can be read or not.
fn metadata(object: &Object) -> Option<&Metadata> {
    match object {
        Object::Unreadable(unreadable) => Some(&unreadable.metadata),
        object => object.metadata(),
    }
}

fn metadata_mut(object: &mut Object) -> Option<&mut Metadata> {
    match object {
        Object::Unreadable(unreadable) => Some(&mut unreadable.metadata),
        object => object.metadata_mut(),
    }
}

/// Takes finalizers off an object that cannot be read: nothing else of it is
/// ever patched.
fn release(unreadable: &mut Unreadable, patch: &Value) -> Result<(), ApplyError> {
    let finalizers = patch.pointer("/metadata/finalizers");
    let finalizers = finalizers.and_then(|left| serde_json::from_value(left.clone()).ok());
    let Some(finalizers) = finalizers else {
        return Err(ApplyError::Unreadable(unreadable.id.clone()));
    };
    unreadable.metadata.finalizers = finalizers;
    Ok(())
}

impl FromIterator<Object> for Objects {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        let mut store = Self::new();
        for object in objects {
            store.insert(object);
        }
        store
    }
}
