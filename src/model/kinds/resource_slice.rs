//! Resource slices: the resources that a consumer requests from a provider.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    AuthParams, Bytes, Metadata, Quantity, Timestamp,
    reading::absent::{api_types, is_default, or_null},
};

api_types! {
    /// A part of a provider's resources, and the identity to use it.
    ///
    /// The consumer writes the spec. The provider has a replica of the slice, whose
    /// status is replicated back. This type checks nothing. Source: Liqo
    /// `authv1beta1.ResourceSlice`.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::model::{Object, Resource, ResourceSlice};
    ///
    /// let object = Object::from_value(serde_json::json!({
    ///     "apiVersion": "authentication.liqo.io/v1beta1",
    ///     "kind": "ResourceSlice",
    ///     "metadata": { "name": "mypool", "namespace": "liqo-tenant-cl-provider" },
    ///     "spec": { "class": "default", "resources": { "cpu": 2, "memory": "4Gi" } },
    /// }));
    /// let slice = ResourceSlice::from_object(&object).unwrap();
    /// assert_eq!(slice.spec.resources["cpu"].as_str(), "2");
    /// ```
    pub struct ResourceSlice {
        /// Name, tenant namespace and labels.
        always pub metadata: Metadata,
        /// The consumer's request.
        always pub spec: ResourceSliceSpec,
        /// The provider's answer.
        pub status: ResourceSliceStatus,
    }

    /// The consumer's request. Source: Liqo `authv1beta1.ResourceSliceSpec`.
    pub struct ResourceSliceSpec {
        /// The consumer's cluster ID.
        #[serde(rename = "consumerClusterID")]
        pub consumer_cluster_id: Option<String>,
        /// The provider's cluster ID.
        #[serde(rename = "providerClusterID")]
        pub provider_cluster_id: Option<String>,
        /// The requested amount of each resource.
        pub resources: BTreeMap<String, Quantity>,
        /// The class of the controller that decides on the slice: empty or `default`
        /// for Liqo itself.
        pub class: String,
        /// The certificate signing request in PEM.
        pub csr: Bytes,
    }

    /// The provider's answer. Source: Liqo `authv1beta1.ResourceSliceStatus`.
    pub struct ResourceSliceStatus {
        /// The decisions on the certificate and on the resources.
        pub conditions: Vec<ResourceSliceCondition>,
        /// The granted amount of each resource.
        pub resources: BTreeMap<String, Quantity>,
        /// The certificate and the API server's address.
        pub auth_params: Option<AuthParams>,
        /// The storage classes that are offered.
        pub storage_classes: Vec<StorageClass>,
        /// The ingress classes that are offered.
        pub ingress_classes: Vec<IngressClass>,
        /// The load balancer classes that are offered.
        pub load_balancer_classes: Vec<LoadBalancerClass>,
        /// The labels of the provider cluster.
        pub node_labels: BTreeMap<String, String>,
        /// The node selector that the provider adds to offloaded pods.
        pub node_selector: BTreeMap<String, String>,
    }
}

/// One decision of the provider. Source: Liqo
/// `authv1beta1.ResourceSliceCondition`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSliceCondition {
    /// The subject of the decision.
    #[serde(rename = "type")]
    pub condition_type: ResourceSliceConditionType,
    /// The decision.
    pub status: ResourceSliceConditionStatus,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// The reason, in one word.
    #[serde(
        default,
        deserialize_with = "or_null",
        skip_serializing_if = "is_default"
    )]
    pub reason: String,
    /// The reason, in a sentence.
    #[serde(
        default,
        deserialize_with = "or_null",
        skip_serializing_if = "is_default"
    )]
    pub message: String,
}

/// The subject of a provider's decision. Source: Liqo
/// `authv1beta1.ResourceSliceConditionType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResourceSliceConditionType {
    /// Whether the request is signed.
    Authentication,
    /// Whether the resources are granted.
    Resources,
}

/// A provider's decision. Source: Liqo
/// `authv1beta1.ResourceSliceConditionStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResourceSliceConditionStatus {
    /// The provider accepts the request.
    Accepted,
    /// The provider denies the request.
    Denied,
}

api_types! {
    /// A storage class of the provider. Source: Liqo `liqov1beta1.StorageType`.
    pub struct StorageClass {
        /// The name of the class.
        always pub storage_class_name: String,
        /// Whether this is the default class.
        #[serde(rename = "default")]
        pub is_default: bool,
    }

    /// An ingress class of the provider. Source: Liqo `liqov1beta1.IngressType`.
    pub struct IngressClass {
        /// The name of the class.
        always pub ingress_class_name: String,
        /// Whether this is the default class.
        #[serde(rename = "default")]
        pub is_default: bool,
    }

    /// A load balancer class of the provider. Source: Liqo
    /// `liqov1beta1.LoadBalancerType`.
    pub struct LoadBalancerClass {
        /// The name of the class.
        always pub load_balancer_class_name: String,
        /// Whether this is the default class.
        #[serde(rename = "default")]
        pub is_default: bool,
    }
}

impl ResourceSliceStatus {
    /// The decision of that type, if there is one.
    pub fn condition(
        &self,
        condition_type: ResourceSliceConditionType,
    ) -> Option<&ResourceSliceCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.condition_type == condition_type)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_counts_as_absent() {
        let status: ResourceSliceStatus = serde_json::from_value(json!({
            "conditions": null, "resources": null, "authParams": null,
            "storageClasses": [{ "storageClassName": "a", "default": null }],
            "ingressClasses": [{ "ingressClassName": null, "default": null }],
            "loadBalancerClasses": [{ "loadBalancerClassName": "a", "default": null }],
            "nodeLabels": null, "nodeSelector": null,
        }))
        .unwrap();
        assert!(!status.storage_classes[0].is_default);
        assert!(!status.ingress_classes[0].is_default);
        assert!(!status.load_balancer_classes[0].is_default);
    }
}
