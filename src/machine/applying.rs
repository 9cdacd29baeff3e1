//! What an effect makes of one object, as an API server carries it out.

use serde_json::Value;

use super::{Effect, Part, Version, merge_patch};
use crate::model::{Kind, Metadata, Object, ObjectRef, Timestamp, Unreadable, names, wipe};

/// Why a store does not apply an effect. The store is unchanged then.
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

impl Effect {
    /// The object after this effect, as an API server carries it out; `None` if it is gone
    /// then. This function changes nothing. `stored` is the object of the effect's name.
    ///
    /// | effect | result |
    /// |---|---|
    /// | `Create` | the object without a UID; in Liqo's kinds, of generation 1 |
    /// | `Replace` | the object with the UID and the times of the stored one |
    /// | `Patch` | the stored object with the patch; of an object that cannot be read, the patch changes the metadata only |
    /// | `Delete` | gone; while it has finalizers, marked with `now` |
    ///
    /// An object that is being deleted is gone when its last finalizer is. The generation
    /// rises with a change of the spec.
    ///
    /// The store then does the rest: it gives a new object its UID, and it gives the result a
    /// new resource version, unless the result equals `stored`.
    ///
    /// # Errors
    /// [`ApplyError`]: the name is taken or free, the version is not the one that was seen, or
    /// the patch does not fit.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::{machine::{ApplyError, Effect}, model::{Namespace, Timestamp}};
    ///
    /// let create = Effect::Create(Namespace::for_tenant(&"cl-consumer".parse()?).into());
    /// let now = Timestamp::from_unix(1_795_179_600)?;
    /// let stored = create.apply_to(None, now)?.expect("the Namespace exists now");
    /// assert_eq!(stored.metadata().creation_timestamp, Some(now));
    /// assert_eq!(create.apply_to(Some(&stored), now), Err(ApplyError::Exists(stored.id())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply_to(
        &self,
        stored: Option<&Object>,
        now: Timestamp,
    ) -> Result<Option<Object>, ApplyError> {
        let object = match self {
            Self::Create(object) => created(object, stored, now)?,
            Self::Replace { object, version } => replaced(object, at(&self.id(), version, stored)?),
            Self::Patch { id, version, .. } => match at(id, version, stored)? {
                Object::Unreadable(unreadable) => self.patched_metadata(unreadable)?.into(),
                stored => {
                    let patch = self.patch_of_its_part()?;
                    let value = patched(stored, stored.to_value(), patch);
                    self.read_after(stored, value)?
                }
            },
            Self::Delete { id, version } => {
                return Ok(deleted(at(id, version, stored)?, now));
            }
        };
        Ok(Some(object).filter(|object| !is_gone(object.metadata())))
    }

    /// As [`apply_to`](Self::apply_to), on the whole JSON of the stored object. A patch
    /// keeps the fields that this library does not read, and a deletion that waits for
    /// finalizers keeps all fields.
    ///
    /// The result contains the values of a Secret: wipe it after use.
    ///
    /// # Errors
    /// As [`apply_to`](Self::apply_to).
    pub fn apply_to_value(
        &self,
        stored: Option<&Value>,
        now: Timestamp,
    ) -> Result<Option<Value>, ApplyError> {
        let object = stored.cloned().map(Object::from_value);
        let (Some(object), Some(value)) = (&object, stored) else {
            return Ok(self.apply_to(None, now)?.map(|object| object.to_value()));
        };
        match self {
            Self::Patch { id, version, .. } => {
                let stored = at(id, version, Some(object))?;
                if let Object::Unreadable(unreadable) = stored {
                    self.patched_metadata(unreadable)?;
                }
                let patch = self.patch_of_its_part()?;
                let mut patched = patched(stored, value.clone(), patch);
                match self.read_after(stored, patched.clone()) {
                    Ok(object) => Ok(Some(patched).filter(|_| !is_gone(object.metadata()))),
                    Err(error) => {
                        wipe(&mut patched);
                        Err(error)
                    }
                }
            }
            Self::Delete { id, version } => {
                let marked = deleted(at(id, version, Some(object))?, now);
                Ok(marked.map(|marked| {
                    let mut value = value.clone();
                    write_own_fields(&mut value, marked.metadata());
                    value
                }))
            }
            Self::Create(_) | Self::Replace { .. } => {
                let after = self.apply_to(Some(object), now)?;
                Ok(after.map(|object| object.to_value()))
            }
        }
    }

    /// The object after a patch. One that could be read before has to be readable then.
    fn read_after(&self, stored: &Object, value: Value) -> Result<Object, ApplyError> {
        let object = Object::from_value(value);
        match stored.as_unreadable().is_none() && object.as_unreadable().is_some() {
            true => Err(ApplyError::Unreadable(self.id())),
            false => Ok(object),
        }
    }

    /// The unreadable object with the patch, which changes its metadata only.
    fn patched_metadata(&self, unreadable: &Unreadable) -> Result<Unreadable, ApplyError> {
        let patch = self.patch_of_its_part()?;
        let refused = || ApplyError::Unreadable(unreadable.id.clone());
        let fields = patch.as_object().ok_or_else(refused)?;
        if fields.keys().any(|field| field != "metadata") {
            return Err(refused());
        }
        let mut patched = unreadable.clone();
        if let Some(change) = fields.get("metadata") {
            // The serialization of metadata cannot fail.
            let mut metadata = serde_json::to_value(&*unreadable.metadata).unwrap_or_default();
            merge_patch::apply(&mut metadata, change);
            let metadata: Metadata = serde_json::from_value(metadata).map_err(|_| refused())?;
            let stored = &unreadable.metadata;
            patched.metadata = Box::new(Metadata {
                uid: stored.uid.clone(),
                resource_version: stored.resource_version.clone(),
                generation: stored.generation,
                creation_timestamp: stored.creation_timestamp,
                deletion_timestamp: stored.deletion_timestamp,
                ..metadata
            });
        }
        Ok(patched)
    }

    /// The patch, if it does not change a field outside of the part that the effect names.
    fn patch_of_its_part(&self) -> Result<&Value, ApplyError> {
        let Self::Patch {
            id, part, patch, ..
        } = self
        else {
            return Ok(&Value::Null);
        };
        let is_of_part = |key: &String| (key == "status") == (*part != Part::Main);
        match patch.as_object() {
            Some(fields) if fields.keys().all(is_of_part) => Ok(patch),
            _ => Err(ApplyError::OtherPart(id.clone())),
        }
    }
}

fn created(object: &Object, stored: Option<&Object>, now: Timestamp) -> Result<Object, ApplyError> {
    if let Some(stored) = stored {
        return Err(ApplyError::Exists(stored.id()));
    }
    let mut object = object.clone();
    let generation = i64::from(has_generation(object.id().kind));
    let metadata = object.metadata_mut();
    metadata.uid.clear();
    metadata.resource_version.clear();
    metadata.generation = generation;
    metadata.creation_timestamp = Some(now);
    metadata.deletion_timestamp = None;
    Ok(object)
}

/// The JSON of a stored object with the patch. The fields that only an API server writes stay as
/// they are.
fn patched(stored: &Object, mut value: Value, patch: &Value) -> Value {
    let metadata = stored.metadata();
    let is_counted = metadata.generation > 0 && patch.get("spec").is_some();
    let before = is_counted.then(|| value.get("spec").cloned());
    merge_patch::apply(&mut value, patch);
    if patch.get("metadata").is_some() {
        write_own_fields(&mut value, metadata);
    }
    if before.is_some_and(|before| before.as_ref() != value.get("spec"))
        && let Some(generation) = value.pointer_mut("/metadata/generation")
    {
        *generation = metadata.generation.saturating_add(1).into();
    }
    value
}

fn replaced(object: &Object, stored: &Object) -> Object {
    let mut object = object.clone();
    let is_of_generation = has_generation(object.id().kind)
        && object.to_value().get("spec") != stored.to_value().get("spec");
    let (metadata, before) = (object.metadata_mut(), stored.metadata());
    metadata.uid.clone_from(&before.uid);
    metadata
        .resource_version
        .clone_from(&before.resource_version);
    metadata.generation = before
        .generation
        .saturating_add(i64::from(is_of_generation));
    metadata.creation_timestamp = before.creation_timestamp;
    metadata.deletion_timestamp = before.deletion_timestamp;
    object
}

fn deleted(stored: &Object, now: Timestamp) -> Option<Object> {
    let metadata = stored.metadata();
    if metadata.finalizers.is_empty() {
        return None;
    }
    let mut marked = stored.clone();
    marked.metadata_mut().deletion_timestamp = metadata.deletion_timestamp.or(Some(now));
    Some(marked)
}

/// The stored object, if it exists and has the version that was seen.
fn at<'o>(
    id: &ObjectRef,
    seen: &Version,
    stored: Option<&'o Object>,
) -> Result<&'o Object, ApplyError> {
    let stored = stored.ok_or_else(|| ApplyError::Missing(id.clone()))?;
    let metadata = stored.metadata();
    let same = |seen: &str, present: &str| seen.is_empty() || seen == present;
    match same(&seen.uid, &metadata.uid) && same(&seen.resource_version, &metadata.resource_version)
    {
        true => Ok(stored),
        false => Err(ApplyError::Changed(id.clone())),
    }
}

fn is_gone(metadata: &Metadata) -> bool {
    metadata.deletion_timestamp.is_some() && metadata.finalizers.is_empty()
}

/// Whether an API server counts the changes of the spec of this kind.
fn has_generation(kind: Kind) -> bool {
    kind.api_version() == names::API_VERSION
}

/// Writes the metadata that an API server alone writes into the JSON of an object.
pub(super) fn write_own_fields(value: &mut Value, metadata: &Metadata) {
    let Some(Value::Object(fields)) = value.get_mut("metadata") else {
        return;
    };
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string().into());
    let text = |text: &String| (!text.is_empty()).then(|| text.as_str().into());
    let generation = (metadata.generation > 0).then(|| metadata.generation.into());
    for (field, written) in [
        ("uid", text(&metadata.uid)),
        ("resourceVersion", text(&metadata.resource_version)),
        ("generation", generation),
        ("creationTimestamp", time(metadata.creation_timestamp)),
        ("deletionTimestamp", time(metadata.deletion_timestamp)),
    ] {
        match written {
            Some(written) => fields.insert(field.to_owned(), written),
            None => fields.remove(field),
        };
    }
}
