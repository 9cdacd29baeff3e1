//! What every Kubernetes object says about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    Resource, Timestamp,
    reading::absent::{is_zero, or_null},
};

/// The metadata of an object, as far as the exchange needs it. What is empty
/// is not written.
///
/// Source: Kubernetes `metav1.ObjectMeta`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The name, unique within a kind and namespace.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the API server puts a random suffix to, when there is no name.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// The namespace; empty for none.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// What tells this object from an earlier one of the same name.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The version that a write is checked against. Opaque.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// How many times the spec has changed; 0 for not known.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// When the API server stored the object first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Timestamp>,
    /// When somebody asked for the object's end; it stays until its
    /// finalizers are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Timestamp>,
    /// Labels, to select by.
    #[serde(
        deserialize_with = "or_null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub labels: BTreeMap<String, String>,
    /// Annotations, not to select by.
    #[serde(
        deserialize_with = "or_null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub annotations: BTreeMap<String, String>,
    /// Who still has something to do before the object may end.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// The objects that this one ends with.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

impl Metadata {
    /// No metadata at all.
    pub(crate) const EMPTY: Self = Self {
        name: String::new(),
        generate_name: String::new(),
        namespace: String::new(),
        uid: String::new(),
        resource_version: String::new(),
        generation: 0,
        creation_timestamp: None,
        deletion_timestamp: None,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        finalizers: Vec::new(),
        owner_references: Vec::new(),
    };
}

/// An object that another one ends with.
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
    /// Whether the owner is the one that manages this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner has to wait for this object's end.
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
