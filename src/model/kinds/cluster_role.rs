//! Cluster roles.

use serde::{Deserialize, Serialize};

use crate::model::{
    Metadata, PolicyRule,
    reading::absent::{is_default, or_null},
};

/// A role in the whole cluster. This library only looks up ClusterRoles of other
/// writers by their labels. It does not read the aggregation rule, so such a
/// ClusterRole must never be written back. Source: Kubernetes
/// `rbacv1.ClusterRole`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterRole {
    /// Name and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// The rules of the role.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub rules: Vec<PolicyRule>,
}
