//! The grant to a resource slice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    model::{IngressClass, LoadBalancerClass, Quantity, StorageClass, sparse},
    provider::caps::liqos_resources,
};

sparse! {
    []
    [
        /// The resources and classes that a slice gets, as in its status.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct Grant
    ]
    /// The amount of each resource.
    pub resources: BTreeMap<String, Quantity>,
    /// The storage classes that are offered.
    pub storage_classes: Vec<StorageClass>,
    /// The ingress classes that are offered.
    pub ingress_classes: Vec<IngressClass>,
    /// The load balancer classes that are offered.
    pub load_balancer_classes: Vec<LoadBalancerClass>,
    /// The labels of the provider cluster.
    pub node_labels: BTreeMap<String, String>,
    /// The selector that offloaded pods get.
    pub node_selector: BTreeMap<String, String>,
}

impl Grant {
    /// What Liqo grants to a slice that requests nothing: 4 CPUs, 8Gi of memory, 110 pods and
    /// 20Gi of ephemeral storage. Source: `offloading.defaultNodeResources` in the values of
    /// Liqo's chart.
    pub fn of_liqo() -> Self {
        Self {
            resources: liqos_resources(),
            ..Self::default()
        }
    }

    /// The same grant, with the amounts as Kubernetes spells them.
    pub(crate) fn canonical(mut self) -> Self {
        for amount in self.resources.values_mut() {
            *amount = core::mem::take(amount).canonical();
        }
        self
    }
}
