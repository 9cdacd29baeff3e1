//! Renewals: the objects through which a consumer receives a new certificate.

use serde::{Deserialize, Serialize};

use crate::model::{
    AuthParams, Bytes, IdentityType, LocalObjectReference, Metadata,
    reading::absent::{is_default, or_null},
};

/// A renewal. It has the name of the Identity that it renews.
///
/// Up to Liqo 1.1, a Renew is a request of the consumer, with a CSR of its own; it
/// is deleted after the answer. From Liqo 1.2 on, a Renew exists as long as the
/// Identity, and only returns the certificate that the provider renewed by itself.
/// This type checks nothing. Source: Liqo `authv1beta1.Renew`.
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
    /// The consumer's request.
    #[serde(deserialize_with = "or_null")]
    pub spec: RenewSpec,
    /// The provider's answer.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub status: RenewStatus,
}

/// The consumer's request. Source: Liqo `authv1beta1.RenewSpec`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenewSpec {
    /// The consumer's cluster ID.
    #[serde(
        rename = "consumerClusterID",
        deserialize_with = "or_null",
        skip_serializing_if = "is_default"
    )]
    pub consumer_cluster_id: String,
    /// The consumer's public key; empty from Liqo 1.2 on.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub public_key: Bytes,
    /// The certificate signing request in PEM; empty from Liqo 1.2 on.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub csr: Bytes,
    /// The purpose of the identity.
    #[serde(deserialize_with = "or_null")]
    pub identity_type: IdentityType,
    /// The resource slice that the identity is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_slice_ref: Option<LocalObjectReference>,
}

/// The provider's answer. Source: Liqo `authv1beta1.RenewStatus`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenewStatus {
    /// The certificate and the API server's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_params: Option<AuthParams>,
}
