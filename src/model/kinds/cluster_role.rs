//! Cluster roles.

use serde::{Deserialize, Serialize};

use crate::model::{
    Metadata, PolicyRule,
    reading::absent::{is_default, or_null},
};

/// A role in the whole cluster. This library only reads ClusterRoles of other
/// writers, which it finds by their labels. It must never write such a ClusterRole
/// back, because it does not read the aggregation rule. Source: Kubernetes
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
