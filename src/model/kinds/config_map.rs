//! Config maps.

use std::collections::BTreeMap;

use crate::model::{Metadata, names, reading::absent::api_types};

api_types! {
    /// A config map. Liqo keeps a cluster's own ID in one. Source: Kubernetes
    /// `corev1.ConfigMap`.
    pub struct ConfigMap {
        /// Name, namespace and labels.
        always pub metadata: Metadata,
        /// The values by their keys.
        pub data: BTreeMap<String, String>,
    }
}

impl ConfigMap {
    /// The cluster ID that Liqo keeps under [`names::CLUSTER_ID_KEY`].
    pub fn cluster_id(&self) -> Option<&str> {
        self.data.get(names::CLUSTER_ID_KEY).map(String::as_str)
    }
}
