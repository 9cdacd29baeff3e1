//! Config maps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    Metadata, names,
    reading::absent::{is_default, or_null},
};

/// A config map. Liqo keeps a cluster's own ID in one. Source: Kubernetes
/// `corev1.ConfigMap`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigMap {
    /// Name, namespace and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// The values by their keys.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub data: BTreeMap<String, String>,
}

impl ConfigMap {
    /// The cluster ID that Liqo keeps under [`names::CLUSTER_ID_KEY`].
    pub fn cluster_id(&self) -> Option<&str> {
        self.data.get(names::CLUSTER_ID_KEY).map(String::as_str)
    }
}
