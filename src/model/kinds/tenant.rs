//! Tenants: a consumer, on its provider.

use serde::{Deserialize, Serialize};

use crate::model::{AuthParams, Bytes, Metadata, reading::absent::or_null};

/// A consumer, as its provider knows it.
///
/// Nothing here is checked: whether the signature holds, or the name fits, is
/// decided when the exchange is taken up. Source: Liqo `authv1beta1.Tenant`.
///
/// # Examples
/// ```
/// use liqo_auth::model::{Object, Resource, Tenant};
///
/// let object = Object::from_value(serde_json::json!({
///     "apiVersion": "authentication.liqo.io/v1beta1",
///     "kind": "Tenant",
///     "metadata": { "name": "cl-consumer" },
///     "spec": { "clusterID": "cl-consumer", "signature": "c2lnbg==" },
/// }));
/// let tenant = Tenant::from_object(&object).unwrap();
/// assert_eq!(tenant.spec.cluster_id, "cl-consumer");
/// assert_eq!(tenant.spec.signature.as_slice(), b"sign");
/// ```
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tenant {
    /// Name (the consumer's ID), tenant namespace and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// What the consumer, or its administrator, asks for.
    #[serde(deserialize_with = "or_null")]
    pub spec: TenantSpec,
    /// What the provider answers.
    #[serde(deserialize_with = "or_null")]
    pub status: TenantStatus,
}

/// What a consumer asks for. Source: Liqo `authv1beta1.TenantSpec`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TenantSpec {
    /// The consumer's cluster ID.
    #[serde(
        rename = "clusterID",
        deserialize_with = "or_null",
        skip_serializing_if = "String::is_empty"
    )]
    pub cluster_id: String,
    /// Whether resource slices need this handshake; an API server puts
    /// `KeysExchange` where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authz_policy: Option<AuthzPolicy>,
    /// The consumer's public key: 32 raw bytes of Ed25519, or PKIX in PEM.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Bytes::is_empty")]
    pub public_key: Bytes,
    /// The certificate signing request in PEM.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Bytes::is_empty")]
    pub csr: Bytes,
    /// The signature over the text of the provider's nonce.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Bytes::is_empty")]
    pub signature: Bytes,
    /// The URL of the proxy by which the consumer reaches the provider.
    #[serde(rename = "proxyURL", skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// What the consumer may do; an API server puts `Active` where there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_condition: Option<TenantCondition>,
}

/// What a provider answers. Source: Liqo `authv1beta1.TenantStatus`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TenantStatus {
    /// The tenant namespace on the provider.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub tenant_namespace: String,
    /// The certificate and the address for the consumer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_params: Option<AuthParams>,
}

/// Whether resource slices need a handshake. Source: Liqo
/// `authv1beta1.AuthzPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AuthzPolicy {
    /// Only after the keys were exchanged.
    KeysExchange,
    /// Even if they never were.
    TolerateNoHandshake,
}

/// What a tenant may do, from the mildest to the strictest. Source: Liqo
/// `authv1beta1.TenantCondition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TenantCondition {
    /// Use what it has and ask for more.
    Active,
    /// Use what it has only.
    Cordoned,
    /// Neither.
    Drained,
}
