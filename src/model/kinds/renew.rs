//! Renewals: the channel by which a new certificate reaches the consumer.

use serde::{Deserialize, Serialize};

use crate::model::{
    AuthParams, Bytes, IdentityType, LocalObjectReference, Metadata, reading::absent::or_null,
};

/// A renewal, named as the Identity that it renews.
///
/// Up to Liqo 1.1 it is a request of the consumer, with a CSR of its own, and
/// goes once it is answered. From 1.2 it is there as long as the Identity, and
/// only carries back what the provider renewed by itself. Nothing here is
/// checked. Source: Liqo `authv1beta1.Renew`.
///
/// # Examples
/// ```
/// use liqo_auth::model::{IdentityType, Object, Renew, Resource};
///
/// let object = Object::from_value(serde_json::json!({
///     "apiVersion": "authentication.liqo.io/v1beta1",
///     "kind": "Renew",
///     "metadata": { "name": "controlplane-cl-provider", "namespace": "liqo-tenant-cl-provider" },
///     "spec": { "consumerClusterID": "cl-consumer", "identityType": "ControlPlane" },
/// }));
/// let renew = Renew::from_object(&object).unwrap();
/// assert_eq!(renew.spec.identity_type, IdentityType::ControlPlane);
/// assert!(renew.spec.csr.is_empty());
/// ```
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Renew {
    /// Name, tenant namespace, labels and owner.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// What the consumer asks for.
    #[serde(deserialize_with = "or_null")]
    pub spec: RenewSpec,
    /// What the provider answers.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_unanswered")]
    pub status: RenewStatus,
}

/// What a consumer asks for. Source: Liqo `authv1beta1.RenewSpec`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenewSpec {
    /// The consumer's cluster ID.
    #[serde(
        rename = "consumerClusterID",
        deserialize_with = "or_null",
        skip_serializing_if = "String::is_empty"
    )]
    pub consumer_cluster_id: String,
    /// The consumer's public key; empty from Liqo 1.2.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Bytes::is_empty")]
    pub public_key: Bytes,
    /// The certificate signing request in PEM; empty from Liqo 1.2.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Bytes::is_empty")]
    pub csr: Bytes,
    /// What the identity is for.
    #[serde(deserialize_with = "or_null")]
    pub identity_type: IdentityType,
    /// The resource slice that the identity is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_slice_ref: Option<LocalObjectReference>,
}

/// What a provider answers. Source: Liqo `authv1beta1.RenewStatus`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenewStatus {
    /// The certificate and the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_params: Option<AuthParams>,
}

fn is_unanswered(status: &RenewStatus) -> bool {
    status.auth_params.is_none()
}
