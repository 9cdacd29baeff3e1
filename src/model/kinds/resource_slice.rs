//! Resource slices: what a consumer asks of a provider, and what it gets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{AuthParams, Bytes, Metadata, Quantity, Timestamp, reading::absent::or_null};

/// A part of a provider's resources, and the identity to use it by.
///
/// The consumer writes the spec; on the provider lies a replica of it, whose
/// status travels back. Nothing here is checked. Source: Liqo
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
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceSlice {
    /// Name, tenant namespace and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// What the consumer asks for.
    #[serde(deserialize_with = "or_null")]
    pub spec: ResourceSliceSpec,
    /// What the provider answers.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_unanswered")]
    pub status: ResourceSliceStatus,
}

/// What a consumer asks for. Source: Liqo `authv1beta1.ResourceSliceSpec`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSliceSpec {
    /// The consumer's cluster ID.
    #[serde(rename = "consumerClusterID", skip_serializing_if = "Option::is_none")]
    pub consumer_cluster_id: Option<String>,
    /// The provider's cluster ID.
    #[serde(rename = "providerClusterID", skip_serializing_if = "Option::is_none")]
    pub provider_cluster_id: Option<String>,
    /// How much of which resource.
    #[serde(
        deserialize_with = "or_null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub resources: BTreeMap<String, Quantity>,
    /// Who decides on it: empty or `default` for Liqo itself.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// The certificate signing request in PEM.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Bytes::is_empty")]
    pub csr: Bytes,
}

/// What a provider answers. Source: Liqo `authv1beta1.ResourceSliceStatus`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSliceStatus {
    /// The decisions on the certificate and on the resources.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ResourceSliceCondition>,
    /// How much of which resource is granted.
    #[serde(
        deserialize_with = "or_null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub resources: BTreeMap<String, Quantity>,
    /// The certificate and the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_params: Option<AuthParams>,
    /// The storage classes that are offered.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub storage_classes: Vec<StorageClass>,
    /// The ingress classes that are offered.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub ingress_classes: Vec<IngressClass>,
    /// The load balancer classes that are offered.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub load_balancer_classes: Vec<LoadBalancerClass>,
    /// The labels of the provider cluster.
    #[serde(
        deserialize_with = "or_null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub node_labels: BTreeMap<String, String>,
    /// The selector that offloaded pods get.
    #[serde(
        deserialize_with = "or_null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub node_selector: BTreeMap<String, String>,
}

/// One decision of the provider. Source: Liqo
/// `authv1beta1.ResourceSliceCondition`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSliceCondition {
    /// What was decided on.
    #[serde(rename = "type")]
    pub condition_type: ResourceSliceConditionType,
    /// How.
    pub status: ResourceSliceConditionStatus,
    /// When it became so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// Why, in one word.
    #[serde(
        default,
        deserialize_with = "or_null",
        skip_serializing_if = "String::is_empty"
    )]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(
        default,
        deserialize_with = "or_null",
        skip_serializing_if = "String::is_empty"
    )]
    pub message: String,
}

/// What a provider decides on. Source: Liqo
/// `authv1beta1.ResourceSliceConditionType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResourceSliceConditionType {
    /// Whether the request is signed.
    Authentication,
    /// Whether the resources are granted.
    Resources,
}

/// How a provider decided. Source: Liqo
/// `authv1beta1.ResourceSliceConditionStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResourceSliceConditionStatus {
    /// Yes.
    Accepted,
    /// No.
    Denied,
}

/// A storage class of the provider. Source: Liqo `liqov1beta1.StorageType`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClass {
    /// Its name.
    #[serde(deserialize_with = "or_null")]
    pub storage_class_name: String,
    /// Whether it is the one to use where none is named.
    #[serde(rename = "default", skip_serializing_if = "core::ops::Not::not")]
    pub is_default: bool,
}

/// An ingress class of the provider. Source: Liqo `liqov1beta1.IngressType`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressClass {
    /// Its name.
    #[serde(deserialize_with = "or_null")]
    pub ingress_class_name: String,
    /// Whether it is the one to use where none is named.
    #[serde(rename = "default", skip_serializing_if = "core::ops::Not::not")]
    pub is_default: bool,
}

/// A load balancer class of the provider. Source: Liqo
/// `liqov1beta1.LoadBalancerType`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadBalancerClass {
    /// Its name.
    #[serde(deserialize_with = "or_null")]
    pub load_balancer_class_name: String,
    /// Whether it is the one to use where none is named.
    #[serde(rename = "default", skip_serializing_if = "core::ops::Not::not")]
    pub is_default: bool,
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

fn is_unanswered(status: &ResourceSliceStatus) -> bool {
    *status == ResourceSliceStatus::default()
}
