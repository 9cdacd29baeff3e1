//! Cluster roles.

use serde::{Deserialize, Serialize};

use crate::model::{Metadata, PolicyRule, reading::absent::or_null};

/// A role in the whole cluster. One that others wrote is only looked for by
/// its labels: its aggregation rule is not read, so it must never be written
/// back. Source: Kubernetes `rbacv1.ClusterRole`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterRole {
    /// Name and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// What it allows.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PolicyRule>,
}
