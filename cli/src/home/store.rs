//! The objects of a home, changed as an API server changes them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use liqo_auth::{
    machine::{ApplyError, Effect, Interest, Objects, Version},
    model::{
        Kind, Metadata, Object, ObjectError, ObjectRef, Resource, Timestamp, Unreadable, manifest,
        names,
    },
    policy::Limits,
};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{content::SecretValue, index::Index};
use crate::{
    environment::{entropy, service_account_token},
    failure,
};

/// The objects of a home, and which of them must be written. The library's [`Objects`]
/// change them as an API server does. This store adds what else a cluster does: the
/// defaults of an API server, the tokens of service accounts, and the garbage collection.
#[derive(Clone)]
pub(crate) struct Store {
    objects: Objects,
    /// The texts on the disk of the objects that nothing has changed yet.
    texts: BTreeMap<ObjectRef, Zeroizing<Vec<u8>>>,
    index: Index,
    /// The changed objects, in the order of their first change. This is the order of
    /// the effects.
    changed: Vec<ObjectRef>,
    is_changed: BTreeSet<ObjectRef>,
}

impl Store {
    pub(crate) fn empty() -> failure::Result<Self> {
        Ok(Self {
            objects: Objects::new(&entropy()?),
            texts: BTreeMap::new(),
            index: Index::default(),
            changed: Vec::new(),
            is_changed: BTreeSet::new(),
        })
    }

    /// Loads the manifest in the place of `id`. A manifest that is not this object
    /// is kept as an unreadable object, and does not count as absent.
    pub(crate) fn load(&mut self, id: ObjectRef, text: Zeroizing<Vec<u8>>) {
        let object = read(&id, &text);
        self.index.add(&id, &object);
        self.objects.load(object);
        self.texts.insert(id, text);
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    /// The objects that the interests name, and the objects that cannot be read.
    pub(crate) fn interesting(&self, interests: &[Interest]) -> Vec<&Object> {
        let found = self.index.find(interests);
        let found = found.into_iter();
        found.filter_map(|id| self.objects.object(&id)).collect()
    }

    /// The bindings of a user or group of that name.
    pub(crate) fn bindings_of(&self, principal: &str) -> impl Iterator<Item = &Object> {
        let ids = self.index.bindings_of(principal);
        ids.filter_map(|id| self.objects.object(id))
    }

    pub(crate) fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<&K> {
        self.objects.get(namespace, name)
    }

    pub(crate) fn all<K: Resource + 'static>(&self) -> impl Iterator<Item = &K> {
        self.objects.iter().filter_map(K::from_object)
    }

    pub(crate) fn contains(&self, id: &ObjectRef) -> bool {
        self.objects.object(id).is_some()
    }

    /// The object with every field that it has. None if its file has no object.
    pub(crate) fn value(&self, id: &ObjectRef) -> Option<SecretValue> {
        match self.texts.get(id) {
            Some(text) => SecretValue::parse(text).ok(),
            None => self.objects.value(id).map(SecretValue::new),
        }
    }

    /// Carries out an effect in memory.
    pub(crate) fn apply(&mut self, effect: &Effect, now: Timestamp) -> Result<()> {
        match effect {
            Effect::Create(object) => self.create(SecretValue::new(object.to_value()), now),
            Effect::Replace { object, version } => self.change(
                &Effect::Replace {
                    object: completed(SecretValue::new(object.to_value()), object.id().kind)
                        .to_object(),
                    version: version.clone(),
                },
                now,
            ),
            Effect::Patch { id, .. } => {
                self.open(id)?;
                self.change(effect, now)
            }
            Effect::Delete { id, .. } => {
                // What no text describes can be deleted.
                let _ = self.open(id);
                self.change(effect, now)
            }
        }
    }

    /// Creates an object from a value, with the fields that an API server adds.
    pub(crate) fn create(&mut self, value: SecretValue, now: Timestamp) -> Result<()> {
        let id = value.to_object().id();
        if self.contains(&id) {
            return Err(ApplyError::Exists(id).into());
        }
        let mut value = completed(value, id.kind);
        value.remove(&["metadata", "uid"]);
        value.set(&["metadata", "creationTimestamp"], now.to_string());
        if value.get("type").and_then(Value::as_str) == Some(names::SERVICE_ACCOUNT_TOKEN) {
            value.set_default(&["data", names::TOKEN], service_account_token()?);
        }
        self.objects.insert_value(value.into_value());
        self.note(&id, None);
        Ok(())
    }

    /// Takes an object as the API server has it. None if it has none.
    pub(crate) fn replace(&mut self, id: &ObjectRef, object: Option<Object>) {
        if let Some(before) = self.objects.remove(id) {
            self.index.remove(id, &before);
        }
        self.texts.remove(id);
        if let Some(object) = object {
            self.index.add(&object.id(), &object);
            self.objects.load(object);
        }
    }

    /// The version of an object, as an effect on it names it. Empty if it is unknown.
    pub(crate) fn version(&self, id: &ObjectRef) -> Version {
        let metadata = self.objects.object(id).map(Object::metadata);
        let metadata = metadata.cloned().unwrap_or_default();
        Version {
            uid: metadata.uid,
            resource_version: metadata.resource_version,
        }
    }

    /// The changes to be written, in order: each changed object with its manifest,
    /// or with none if it was deleted.
    pub(crate) fn changes(&self) -> Result<Vec<(ObjectRef, Option<Zeroizing<String>>)>> {
        let text = |id: &ObjectRef| self.value(id).map(|value| value.to_yaml()).transpose();
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

    /// Gives the library's store every field of an object that is on the disk, so that a
    /// change keeps them.
    fn open(&mut self, id: &ObjectRef) -> Result<(), ApplyError> {
        let (Some(text), Some(object)) = (self.texts.get(id), self.objects.object(id)) else {
            return Ok(());
        };
        let value = SecretValue::parse(text).ok();
        let value = value.filter(|value| value.to_object().id() == *id);
        let value = value.ok_or_else(|| ApplyError::Unreadable(id.clone()))?;
        self.objects.load_value(object.clone(), value.into_value());
        self.texts.remove(id);
        Ok(())
    }

    fn change(&mut self, effect: &Effect, now: Timestamp) -> Result<()> {
        let id = effect.id();
        let before = self.objects.object(&id).cloned();
        self.objects.set_time(now);
        self.objects.apply(effect)?;
        if self.objects.object(&id) == before.as_ref() {
            return Ok(());
        }
        self.texts.remove(&id);
        self.note(&id, before.as_ref());
        if let Some(gone) = before.filter(|_| !self.contains(&id)) {
            for id in self.orphans_of(&gone) {
                let version = Version::default();
                self.apply(&Effect::Delete { id, version }, now)?;
            }
        }
        Ok(())
    }

    /// Notes that an object is not as it was before.
    fn note(&mut self, id: &ObjectRef, before: Option<&Object>) {
        if let Some(before) = before {
            self.index.remove(id, before);
        }
        if let Some(object) = self.objects.object(id) {
            self.index.add(id, object);
        }
        if self.is_changed.insert(id.clone()) {
            self.changed.push(id.clone());
        }
    }

    /// The objects that have lost their last owner: they name the removed object as
    /// an owner, but no other existing object.
    fn orphans_of(&self, gone: &Object) -> Vec<ObjectRef> {
        let uid = &gone.metadata().uid;
        if uid.is_empty() {
            return Vec::new();
        }
        let is_there = |uid: &str| {
            let mut present = self.objects().map(Object::metadata);
            present.any(|metadata| metadata.uid == uid)
        };
        let ends = |object: &&Object| {
            let owners = &object.metadata().owner_references;
            owners.iter().any(|owner| owner.uid == *uid)
                && !owners.iter().any(|owner| is_there(&owner.uid))
        };
        self.objects().filter(ends).map(Object::id).collect()
    }
}

fn read(id: &ObjectRef, text: &[u8]) -> Object {
    let reason = match manifest::read(text, &Limits::default()) {
        Err(error) => error.to_string(),
        Ok(objects) => match <[Object; 1]>::try_from(objects) {
            Ok([object]) if object.id() == *id => return object,
            Ok([object]) if object.id().name.is_empty() => {
                "the file does not contain an object of Kubernetes".to_owned()
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

/// The object with the fields to which an API server gives a default value.
fn completed(mut value: SecretValue, kind: Kind) -> SecretValue {
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
    value
}

#[cfg(test)]
mod tests;
