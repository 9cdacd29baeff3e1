//! Tenants: the objects that represent consumers on a provider.

use serde::{Deserialize, Serialize};

use crate::model::{AuthParams, Bytes, Metadata, reading::absent::api_types};

api_types! {
    /// A consumer, as an object on its provider.
    ///
    /// This type checks nothing. The provider verifies the content, such as the
    /// signature and the name. Source: Liqo `authv1beta1.Tenant`.
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
    pub struct Tenant {
        /// Name (the consumer's ID), tenant namespace and labels.
        always pub metadata: Metadata,
        /// The request of the consumer or its administrator.
        always pub spec: TenantSpec,
        /// The provider's answer.
        always pub status: TenantStatus,
    }

    /// The consumer's request. Source: Liqo `authv1beta1.TenantSpec`.
    pub struct TenantSpec {
        /// The consumer's cluster ID.
        #[serde(rename = "clusterID")]
        pub cluster_id: String,
        /// Whether resource slices require the exchange of keys. The API server's
        /// default is `KeysExchange`.
        pub authz_policy: Option<AuthzPolicy>,
        /// The consumer's public key: 32 raw bytes of Ed25519, or PKIX in PEM.
        pub public_key: Bytes,
        /// The certificate signing request in PEM.
        pub csr: Bytes,
        /// The signature over the text of the provider's nonce.
        pub signature: Bytes,
        /// The URL of the proxy through which the consumer reaches the provider.
        #[serde(rename = "proxyURL")]
        pub proxy_url: Option<String>,
        /// The condition, which limits what the consumer may do. The API server's
        /// default is `Active`.
        pub tenant_condition: Option<TenantCondition>,
    }

    /// The provider's answer. Source: Liqo `authv1beta1.TenantStatus`.
    pub struct TenantStatus {
        /// The tenant namespace on the provider.
        pub tenant_namespace: String,
        /// The consumer's certificate and the API server's address.
        pub auth_params: Option<AuthParams>,
    }
}

/// Whether resource slices require an exchange of keys. Source: Liqo
/// `authv1beta1.AuthzPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AuthzPolicy {
    /// Resource slices are accepted only after the keys were exchanged.
    KeysExchange,
    /// Resource slices are accepted even without an exchange of keys.
    TolerateNoHandshake,
}

/// The condition of a tenant. A later variant is stricter. Source: Liqo
/// `authv1beta1.TenantCondition`.
#[derive(
    Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum TenantCondition {
    /// The tenant may use its resources and request more.
    #[default]
    Active,
    /// The tenant may use its resources, but may not request more.
    Cordoned,
    /// The tenant may neither use its resources nor request more.
    Drained,
}
