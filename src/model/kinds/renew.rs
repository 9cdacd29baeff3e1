//! Renewals: the objects through which a consumer receives a new certificate.

use crate::model::{
    AuthParams, Bytes, IdentityType, LocalObjectReference, Metadata, reading::absent::api_types,
};

api_types! {
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
    pub struct Renew {
        /// Name, tenant namespace, labels and owner.
        always pub metadata: Metadata,
        /// The consumer's request.
        always pub spec: RenewSpec,
        /// The provider's answer.
        pub status: RenewStatus,
    }

    /// The consumer's request. Source: Liqo `authv1beta1.RenewSpec`.
    pub struct RenewSpec {
        /// The consumer's cluster ID.
        #[serde(rename = "consumerClusterID")]
        pub consumer_cluster_id: String,
        /// The consumer's public key; empty from Liqo 1.2 on.
        pub public_key: Bytes,
        /// The certificate signing request in PEM; empty from Liqo 1.2 on.
        pub csr: Bytes,
        /// The purpose of the identity.
        always pub identity_type: IdentityType,
        /// The resource slice that the identity is for.
        pub resource_slice_ref: Option<LocalObjectReference>,
    }

    /// The provider's answer. Source: Liqo `authv1beta1.RenewStatus`.
    pub struct RenewStatus {
        /// The certificate and the API server's address.
        pub auth_params: Option<AuthParams>,
    }
}
