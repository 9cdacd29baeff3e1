//! A manifest as text, and as a JSON value with all its fields.

use std::ops::Deref;

use liqo_auth::model::Object;
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

/// A JSON value that may hold secrets: its strings are wiped when dropped.
#[derive(Clone, PartialEq)]
pub(crate) struct SecretValue(Value);

impl SecretValue {
    pub(crate) fn new(value: Value) -> Self {
        Self(value)
    }

    /// Parses a manifest in YAML or JSON.
    pub(crate) fn parse(text: &[u8]) -> anyhow::Result<Self> {
        let text = std::str::from_utf8(text)?;
        // The parser's messages may contain the text, which may be secret.
        let value = serde_saphyr::from_str(text)
            .map_err(|_| anyhow::anyhow!("it is not one object in YAML"))?;
        Ok(Self(value))
    }

    /// As `kubectl get -o yaml` prints it.
    pub(crate) fn to_yaml(&self) -> anyhow::Result<Zeroizing<String>> {
        let options = serde_saphyr::ser_options! {
            prefer_block_scalars: false,
            compact_list_indent: true,
        };
        let text = serde_saphyr::to_string_with_options(&self.0, options)?;
        Ok(Zeroizing::new(text))
    }

    /// As `kubectl get -o json` prints it, except for the width of the indent.
    pub(crate) fn to_json(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{:#}\n", self.0))
    }

    /// The value, which the caller wipes.
    pub(crate) fn into_value(mut self) -> Value {
        std::mem::take(&mut self.0)
    }

    /// The object in it.
    pub(crate) fn to_object(&self) -> Object {
        Object::from_value(self.0.clone())
    }

    /// The same object without what only this cluster knows of it, so that `kubectl apply`
    /// takes it and the cluster keeps it. An owner with the UID of another cluster would
    /// have the object deleted, and nobody there releases the finalizers of this one.
    pub(crate) fn portable(mut self) -> Self {
        if let Some(Value::Object(metadata)) = self.0.get_mut("metadata") {
            metadata.retain(|field, _| PORTABLE_METADATA.contains(&field.as_str()));
        }
        self
    }

    /// The same object without its status, which `kubectl apply` does not write.
    pub(crate) fn without_status(mut self) -> Self {
        if let Value::Object(fields) = &mut self.0
            && let Some(mut status) = fields.remove("status")
        {
            wipe(&mut status);
        }
        self
    }

    /// Sets a field in nested maps. Missing maps are created.
    pub(crate) fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        if let Some(place) = self.place(path) {
            *place = value.into();
        }
    }

    /// Like [`set`](Self::set), unless the field has a value already.
    pub(crate) fn set_default(&mut self, path: &[&str], value: impl Into<Value>) {
        if let Some(place) = self.place(path).filter(|place| place.is_null()) {
            *place = value.into();
        }
    }

    /// Removes a field in nested maps, if it is there.
    pub(crate) fn remove(&mut self, path: &[&str]) {
        let Some((last, above)) = path.split_last() else {
            return;
        };
        let parent = above
            .iter()
            .try_fold(&mut self.0, |value, key| value.get_mut(*key));
        if let Some(Value::Object(fields)) = parent {
            fields.remove(*last);
        }
    }

    fn place(&mut self, path: &[&str]) -> Option<&mut Value> {
        path.iter().try_fold(&mut self.0, |value, key| {
            if value.is_null() {
                *value = Value::Object(serde_json::Map::new());
            }
            match value {
                Value::Object(fields) => Some(fields.entry(*key).or_insert(Value::Null)),
                _ => None,
            }
        })
    }
}

impl Deref for SecretValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Drop for SecretValue {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// The metadata that an object takes to another cluster.
const PORTABLE_METADATA: [&str; 4] = ["annotations", "labels", "name", "namespace"];

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_portable_object_has_nothing_of_its_cluster() {
        let value = SecretValue::new(json!({
            "kind": "Tenant",
            "metadata": {
                "name": "x", "namespace": "n", "labels": {"l": "1"}, "annotations": {"a": "1"},
                "uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "t",
                "deletionTimestamp": "t", "ownerReferences": [], "finalizers": ["f"],
                "managedFields": [], "selfLink": "s",
            },
            "spec": {}, "status": {"a": "b"},
        }));
        let metadata =
            json!({"name": "x", "namespace": "n", "labels": {"l": "1"}, "annotations": {"a": "1"}});
        assert_eq!(
            *value.portable().without_status(),
            json!({"kind": "Tenant", "metadata": metadata, "spec": {}})
        );
    }

    #[test]
    fn yaml_comes_back_as_it_went() {
        let value = SecretValue::new(
            json!({"data": {"on": "yes", "n": "1"}, "rules": [{"verbs": ["get"]}]}),
        );
        let text = value.to_yaml().unwrap();
        assert!(
            SecretValue::parse(text.as_bytes()).unwrap() == value,
            "{}",
            *text
        );
    }
}
