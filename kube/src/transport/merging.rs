//! Merging a message into an object of the peer: the fields that the message replaces,
//! and the fields that stay.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use liqo_auth::assurance::{
    commitment::COMMITMENT_ANNOTATION, succession::KEY_SUCCESSION_ANNOTATION,
};
use serde_json::{Map, Value};

/// How a message is merged into an existing object. The spec is replaced. Labels and
/// annotations that the message does not set stay.
pub(super) struct Merging {
    /// The annotation that only the sender writes. It is removed if the message does not
    /// contain it.
    proof: &'static str,
    /// The fields of the spec that stay unless the message sets them: the peer's
    /// administrator owns them.
    administered: &'static [&'static str],
}

impl Merging {
    pub(super) const TENANT: Self = Self {
        proof: KEY_SUCCESSION_ANNOTATION,
        administered: &["authzPolicy", "tenantCondition"],
    };
    pub(super) const IDENTITY: Self = Self {
        proof: COMMITMENT_ANNOTATION,
        administered: &[],
    };

    /// The object with the content of the message.
    pub(super) fn merge(&self, found: &DynamicObject, message: &DynamicObject) -> DynamicObject {
        let mut merged = found.clone();
        let annotations = &mut merged.metadata.annotations;
        if let Some(annotations) = annotations {
            annotations.remove(self.proof);
        }
        extend(annotations, message.metadata.annotations.as_ref());
        extend(
            &mut merged.metadata.labels,
            message.metadata.labels.as_ref(),
        );
        let mut spec = spec_of(message);
        for (key, value) in spec_of(found) {
            if self.administered.contains(&key.as_str()) {
                spec.entry(key).or_insert(value);
            }
        }
        if let Value::Object(fields) = &mut merged.data {
            fields.insert("spec".to_owned(), Value::Object(spec));
        }
        merged
    }
}

fn extend(texts: &mut Option<BTreeMap<String, String>>, others: Option<&BTreeMap<String, String>>) {
    if let Some(others) = others {
        let others = others
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()));
        texts.get_or_insert_default().extend(others);
    }
}

fn spec_of(object: &DynamicObject) -> Map<String, Value> {
    let fields = object.data.get("spec").and_then(Value::as_object);
    fields.cloned().unwrap_or_default()
}
