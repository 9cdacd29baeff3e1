//! The metadata of Kubernetes objects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    Resource, Timestamp,
    reading::absent::{is_default, or_null},
};

/// The metadata of an object, as far as the exchange needs it. Empty fields are
/// not written.
///
/// Source: Kubernetes `metav1.ObjectMeta`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The name, unique within a kind and namespace.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub name: String,
    /// The prefix to which the API server adds a random suffix, if `name` is empty.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub generate_name: String,
    /// The namespace; empty for an object without one.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub namespace: String,
    /// The UID, which differs from that of an earlier object of the same name.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub uid: String,
    /// The version that the API server compares on a write. Opaque.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub resource_version: String,
    /// The generation of the spec; 0 if unknown.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub generation: i64,
    /// When the API server created the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Timestamp>,
    /// When the deletion was requested. The object stays until its finalizers are
    /// removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Timestamp>,
    /// Labels, which selectors use.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations, which selectors do not use.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub annotations: BTreeMap<String, String>,
    /// The finalizers. A deleted object exists until the last finalizer is removed.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub finalizers: Vec<String>,
    /// The owners. The garbage collector deletes the object when no owner exists
    /// any more.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub owner_references: Vec<OwnerReference>,
}

impl Metadata {
    /// The metadata of a new object with these labels.
    pub(crate) fn labelled<const N: usize>(
        name: impl Into<String>,
        namespace: impl Into<String>,
        labels: [(&str, &str); N],
    ) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            labels: labels
                .map(|(label, value)| (label.to_owned(), value.to_owned()))
                .into(),
            ..Self::default()
        }
    }

    /// The value of a label.
    pub(crate) fn label(&self, label: &str) -> Option<&str> {
        self.labels.get(label).map(String::as_str)
    }
}

/// A reference to the owner of an object.
///
/// Source: Kubernetes `metav1.OwnerReference`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The owner's API version, such as `authentication.liqo.io/v1beta1`.
    #[serde(deserialize_with = "or_null")]
    pub api_version: String,
    /// The owner's kind.
    #[serde(deserialize_with = "or_null")]
    pub kind: String,
    /// The owner's name.
    #[serde(deserialize_with = "or_null")]
    pub name: String,
    /// The owner's UID.
    #[serde(deserialize_with = "or_null")]
    pub uid: String,
    /// Whether the owner is the controller of this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner's foreground deletion waits for this object's deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// The reference to the object that controls another one, as
    /// controller-runtime's `SetControllerReference` makes it.
    pub fn controller<K: Resource>(owner: &K) -> Self {
        let metadata = owner.metadata();
        Self {
            api_version: K::KIND.api_version().to_owned(),
            kind: K::KIND.to_string(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}
