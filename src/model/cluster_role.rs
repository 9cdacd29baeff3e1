//! Cluster roles.

use serde::{Deserialize, Serialize};

use super::{Metadata, absent::or_null};

/// A role in the whole cluster. It is only looked for by its labels: its rules
/// are not read, so it must never be written back. Source: Kubernetes
/// `rbacv1.ClusterRole`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterRole {
    /// Name and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
}
