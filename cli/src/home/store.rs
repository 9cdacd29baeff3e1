//! The objects of a home, changed as an API server changes them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use liqo_auth::{
    machine::{ApplyError, Effect, Interest, Version},
    model::{
        Kind, Metadata, Object, ObjectError, ObjectRef, Resource, Timestamp, Unreadable, manifest,
        names,
    },
    policy::Limits,
};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{content::SecretValue, index::Index};
use crate::environment::{service_account_token, uuid};

/// The objects of a home, and which of them must be written.
#[derive(Clone, Default)]
pub(crate) struct Store {
    objects: BTreeMap<ObjectRef, Stored>,
    index: Index,
    revision: u64,
    /// The changed objects, in the order of their first change. This is the order of
    /// the effects.
    changed: Vec<ObjectRef>,
    is_changed: BTreeSet<ObjectRef>,
}

#[derive(Clone)]
struct Stored {
    object: Object,
    content: Content,
}

#[derive(Clone)]
enum Content {
    /// The text on the disk.
    Text(Zeroizing<Vec<u8>>),
    /// The value to be written.
    Value(SecretValue),
}

impl Store {
    /// Loads the manifest in the place of `id`. A manifest that is not this object
    /// is kept as an unreadable object, and does not count as absent.
    pub(crate) fn load(&mut self, id: ObjectRef, text: Zeroizing<Vec<u8>>) {
        let object = read(&id, &text);
        let version = object
            .metadata()
            .map(|metadata| metadata.resource_version.parse());
        if let Some(Ok(version)) = version {
            self.revision = self.revision.max(version);
        }
        let content = Content::Text(text);
        self.insert(id, Stored { object, content });
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values().map(|stored| &stored.object)
    }

    /// The objects that the interests name, and the objects that cannot be read.
    pub(crate) fn interesting(&self, interests: &[Interest]) -> Vec<&Object> {
        let found = self.index.find(interests);
        let object = |id| Some(&self.objects.get(&id)?.object);
        found.into_iter().filter_map(object).collect()
    }

    /// The bindings of a user or group of that name.
    pub(crate) fn bindings_of(&self, principal: &str) -> impl Iterator<Item = &Object> {
        let ids = self.index.bindings_of(principal);
        ids.filter_map(|id| Some(&self.objects.get(id)?.object))
    }

    pub(crate) fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<&K> {
        let stored = self
            .objects
            .get(&ObjectRef::new(K::KIND, namespace, name))?;
        K::from_object(&stored.object)
    }

    pub(crate) fn all<K: Resource + 'static>(&self) -> impl Iterator<Item = &K> {
        let first = ObjectRef::new(K::KIND, "", "");
        self.objects
            .range(first..)
            .take_while(|(id, _)| id.kind == K::KIND)
            .filter_map(|(_, stored)| K::from_object(&stored.object))
    }

    pub(crate) fn contains(&self, id: &ObjectRef) -> bool {
        self.objects.contains_key(id)
    }

    /// The object with every field that it has.
    pub(crate) fn value(&self, id: &ObjectRef) -> Option<SecretValue> {
        self.objects.get(id)?.value()
    }

    /// Carries out an effect in memory.
    pub(crate) fn apply(&mut self, effect: &Effect, now: Timestamp) -> Result<()> {
        match effect {
            Effect::Create(object) => self.create(SecretValue::new(object.to_value()), now),
            Effect::Replace { object, version } => {
                let id = object.id();
                let stored = self.at(&id, version)?;
                let metadata = stored.object.metadata().cloned().unwrap_or_default();
                let mut value = SecretValue::new(object.to_value());
                value.set(&["metadata", "uid"], metadata.uid);
                if let Some(created) = metadata.creation_timestamp {
                    value.set(&["metadata", "creationTimestamp"], created.to_string());
                }
                if let Some(deleted) = metadata.deletion_timestamp {
                    value.set(&["metadata", "deletionTimestamp"], deleted.to_string());
                }
                complete(&mut value, id.kind);
                self.put_or_remove(id, value, now);
                Ok(())
            }
            Effect::Patch {
                id, version, patch, ..
            } => {
                let stored = self.at(id, version)?;
                let mut value = stored
                    .value()
                    .ok_or_else(|| ApplyError::Unreadable(id.clone()))?;
                let spec = value.get("spec").cloned();
                value.merge(patch);
                if value.get("spec") != spec.as_ref()
                    && let Some(generation) = value
                        .pointer("/metadata/generation")
                        .and_then(Value::as_i64)
                {
                    value.set(&["metadata", "generation"], generation.saturating_add(1));
                }
                if value.to_object().as_unreadable().is_some() {
                    return Err(ApplyError::Unreadable(id.clone()).into());
                }
                self.put_or_remove(id.clone(), value, now);
                Ok(())
            }
            Effect::Delete { id, version } => {
                self.at(id, version)?;
                self.delete(id, now);
                Ok(())
            }
        }
    }

    /// Creates an object from a value, with the fields that an API server adds.
    pub(crate) fn create(&mut self, mut value: SecretValue, now: Timestamp) -> Result<()> {
        let id = value.to_object().id();
        if self.contains(&id) {
            return Err(ApplyError::Exists(id).into());
        }
        value.set(&["metadata", "uid"], uuid()?);
        value.set(&["metadata", "creationTimestamp"], now.to_string());
        complete(&mut value, id.kind);
        if value.get("type").and_then(Value::as_str) == Some(names::SERVICE_ACCOUNT_TOKEN) {
            value.set_default(&["data", names::TOKEN], service_account_token()?);
        }
        self.put(id, value);
        Ok(())
    }

    /// Takes an object as the API server has it. None if it has none.
    pub(crate) fn replace(&mut self, id: &ObjectRef, object: Option<Object>) {
        match object {
            Some(object) => {
                let content = Content::Value(SecretValue::new(object.to_value()));
                self.insert(object.id(), Stored { object, content });
            }
            None => {
                if let Some(gone) = self.objects.remove(id) {
                    self.index.remove(id, &gone.object);
                }
            }
        }
    }

    /// The version of an object, as an effect on it names it. Empty if it is unknown.
    pub(crate) fn version(&self, id: &ObjectRef) -> Version {
        let metadata = self.objects.get(id).map(|stored| stored.object.metadata());
        let metadata = metadata.flatten().cloned().unwrap_or_default();
        Version {
            uid: metadata.uid,
            resource_version: metadata.resource_version,
        }
    }

    /// The changes to be written, in order: each changed object with its manifest,
    /// or with none if it was deleted.
    pub(crate) fn changes(&self) -> Result<Vec<(ObjectRef, Option<Zeroizing<String>>)>> {
        let text = |id: &ObjectRef| match self.objects.get(id) {
            None => Ok(None),
            Some(stored) => stored.value().map(|value| value.to_yaml()).transpose(),
        };
        self.changed
            .iter()
            .map(|id| Ok((id.clone(), text(id)?)))
            .collect()
    }

    /// The changed objects, in the order of their first change.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &ObjectRef> {
        self.changed.iter()
    }

    /// Notes that all changes are on the disk.
    pub(crate) fn settle(&mut self) {
        self.changed.clear();
        self.is_changed.clear();
    }

    /// Whether all changes to the objects that the interests name are on the disk.
    pub(crate) fn is_settled_for(&self, interests: &[Interest]) -> bool {
        let ids = self.index.find(interests);
        ids.is_disjoint(&self.is_changed)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.changed.is_empty()
    }

    /// Deletes an object as `kubectl delete` would.
    fn delete(&mut self, id: &ObjectRef, now: Timestamp) {
        let value = self.objects.get(id).and_then(Stored::value);
        // The owner of a finalizer must finish its work first.
        match value.filter(|value| has_finalizers(value)) {
            Some(mut value) => {
                value.set_default(&["metadata", "deletionTimestamp"], now.to_string());
                self.put(id.clone(), value);
            }
            None => self.remove(id, now),
        }
    }

    /// Removes an object, and deletes the objects that it alone owns.
    fn remove(&mut self, id: &ObjectRef, now: Timestamp) {
        let Some(stored) = self.objects.remove(id) else {
            return;
        };
        self.index.remove(id, &stored.object);
        self.mark(id.clone());
        for owned in self.orphans_of(&stored.object) {
            self.delete(&owned, now);
        }
    }

    /// The objects that have lost their last owner: they name the removed object as
    /// an owner, and no other existing object.
    fn orphans_of(&self, gone: &Object) -> Vec<ObjectRef> {
        let uid = gone.metadata().map(|metadata| metadata.uid.as_str());
        let Some(uid) = uid.filter(|uid| !uid.is_empty()) else {
            return Vec::new();
        };
        let is_there = |uid: &str| {
            let mut present = self.objects().filter_map(Object::metadata);
            present.any(|metadata| metadata.uid == uid)
        };
        let ends = |object: &&Object| {
            let owners = object.metadata().map(|metadata| &metadata.owner_references);
            owners.is_some_and(|owners| {
                owners.iter().any(|owner| owner.uid == uid)
                    && !owners.iter().any(|owner| is_there(&owner.uid))
            })
        };
        self.objects().filter(ends).map(Object::id).collect()
    }

    /// Stores an object. Removes it if it is being deleted and has no finalizer left.
    fn put_or_remove(&mut self, id: ObjectRef, value: SecretValue, now: Timestamp) {
        if is_ended(&value) {
            self.remove(&id, now);
        } else {
            self.put(id, value);
        }
    }

    fn put(&mut self, id: ObjectRef, mut value: SecretValue) {
        self.revision = self.revision.saturating_add(1);
        value.set(&["metadata", "resourceVersion"], self.revision.to_string());
        let stored = Stored {
            object: value.to_object(),
            content: Content::Value(value),
        };
        self.insert(id.clone(), stored);
        self.mark(id);
    }

    fn insert(&mut self, id: ObjectRef, stored: Stored) {
        if let Some(before) = self.objects.get(&id) {
            self.index.remove(&id, &before.object);
        }
        self.index.add(&id, &stored.object);
        self.objects.insert(id, stored);
    }

    fn mark(&mut self, id: ObjectRef) {
        if self.is_changed.insert(id.clone()) {
            self.changed.push(id);
        }
    }

    fn at(&self, id: &ObjectRef, seen: &Version) -> Result<&Stored, ApplyError> {
        let stored = self
            .objects
            .get(id)
            .ok_or_else(|| ApplyError::Missing(id.clone()))?;
        let metadata = stored
            .object
            .metadata()
            .ok_or_else(|| ApplyError::Unreadable(id.clone()))?;
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

impl Stored {
    fn value(&self) -> Option<SecretValue> {
        match &self.content {
            Content::Text(text) => SecretValue::parse(text).ok(),
            Content::Value(value) => Some(value.clone()),
        }
    }
}

fn read(id: &ObjectRef, text: &[u8]) -> Object {
    let reason = match manifest::read(text, &Limits::default()) {
        Err(error) => error.to_string(),
        Ok(objects) => match <[Object; 1]>::try_from(objects) {
            Ok([object]) if object.id() == *id => return object,
            Ok([object]) if object.id().name.is_empty() => {
                "the file holds no object of Kubernetes".to_owned()
            }
            Ok([object]) => format!("the file holds {}", object.id()),
            Err(objects) => format!("the file holds {} objects, expected one", objects.len()),
        },
    };
    Object::Unreadable(Unreadable {
        id: id.clone(),
        api_version: id.kind.api_version().to_owned(),
        kind: id.kind.to_string(),
        metadata: Box::new(Metadata {
            name: id.name.clone(),
            namespace: id.namespace.clone(),
            ..Metadata::default()
        }),
        reason: ObjectError::Field {
            path: "manifest".to_owned(),
            reason,
        },
    })
}

fn has_finalizers(value: &Value) -> bool {
    let finalizers = value.pointer("/metadata/finalizers");
    let finalizers = finalizers.and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

/// Whether an object is deleted and has no finalizers.
fn is_ended(value: &Value) -> bool {
    value.pointer("/metadata/deletionTimestamp").is_some() && !has_finalizers(value)
}

/// Sets the fields to which an API server gives a default value.
fn complete(value: &mut SecretValue, kind: Kind) {
    match kind {
        Kind::Namespace => {
            let name = value.pointer("/metadata/name").cloned().unwrap_or_default();
            value.set(&["metadata", "labels", "kubernetes.io/metadata.name"], name);
            value.set_default(&["spec", "finalizers"], vec!["kubernetes"]);
            value.set_default(&["status", "phase"], "Active");
        }
        Kind::Secret => value.set_default(&["type"], names::OPAQUE),
        Kind::Tenant => {
            value.set_default(&["metadata", "generation"], 1);
            value.set_default(&["spec", "authzPolicy"], "KeysExchange");
            value.set_default(&["spec", "tenantCondition"], "Active");
        }
        Kind::Identity | Kind::ResourceSlice | Kind::Renew => {
            value.set_default(&["metadata", "generation"], 1);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
