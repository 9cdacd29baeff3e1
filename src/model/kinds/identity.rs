//! Identities: the objects on a consumer with a provider's answer.

use serde::{Deserialize, Serialize};

use crate::model::{AuthParams, Metadata, reading::absent::api_types};

api_types! {
    /// The identity that a provider gave to a consumer, as the consumer stores it.
    ///
    /// This type checks nothing. The consumer verifies the content, for example that
    /// the certificate contains the consumer's key. Source: Liqo
    /// `authv1beta1.Identity`.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::model::{Identity, IdentityType, Object, Resource};
    ///
    /// let object = Object::from_value(serde_json::json!({
    ///     "apiVersion": "authentication.liqo.io/v1alpha1",
    ///     "kind": "Identity",
    ///     "metadata": { "name": "controlplane-cl-provider" },
    ///     "spec": { "clusterID": "cl-provider", "type": "ControlPlane" },
    /// }));
    /// let identity = Identity::from_object(&object).unwrap();
    /// assert_eq!(identity.spec.identity_type, IdentityType::ControlPlane);
    /// ```
    pub struct Identity {
        /// Name, tenant namespace and labels.
        always pub metadata: Metadata,
        /// The content from the provider.
        always pub spec: IdentitySpec,
        /// The consumer's result.
        always pub status: IdentityStatus,
    }

    /// The content from the provider. Source: Liqo `authv1beta1.IdentitySpec`.
    pub struct IdentitySpec {
        /// The provider's cluster ID.
        #[serde(rename = "clusterID")]
        pub cluster_id: String,
        /// The purpose of the identity.
        #[serde(rename = "type")]
        always pub identity_type: IdentityType,
        /// The certificate and the API server's address.
        always pub auth_params: AuthParams,
        /// The namespace on the provider in which the identity is used.
        pub namespace: Option<String>,
    }

    /// The consumer's result of an Identity. Source: Liqo
    /// `authv1beta1.IdentityStatus`.
    pub struct IdentityStatus {
        /// The Secret with the kubeconfig.
        pub kubeconfig_secret_ref: Option<LocalObjectReference>,
    }

    /// The name of an object in the same namespace. Source: Kubernetes
    /// `corev1.LocalObjectReference`.
    pub struct LocalObjectReference {
        /// The name.
        pub name: String,
    }
}

/// The purpose of an identity. Source: Liqo `authv1beta1.IdentityType`.
#[derive(
    Default, Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, derive_more::Display,
)]
pub enum IdentityType {
    /// To replicate Liqo's own resources to the provider.
    #[default]
    ControlPlane,
    /// To run a virtual node on the resources of a resource slice.
    ResourceSlice,
}
