//! The objects as they travel, and the always-valid values inside them.
//!
//! The objects are lenient: their fields are what serde reads, and whether a
//! Tenant is right is decided elsewhere. An object that cannot be read is
//! [`Unreadable`] with its reason, and spoils no list.

mod absent;
mod auth_params;
mod bytes;
mod certificate_signing_request;
mod cluster_id;
mod cluster_role;
mod config_map;
mod excerpt;
mod foreign_cluster;
mod identity;
mod kubeconfig;
mod kubeconfig_form;
pub mod manifest;
mod metadata;
pub mod names;
mod namespace;
mod namespace_name;
mod object;
mod quantity;
mod renew;
mod resource_slice;
mod role;
mod role_binding;
mod scalar;
mod secret;
mod secret_bytes;
mod service_account;
mod service_account_kubeconfig;
#[cfg(any(test, feature = "proptest"))]
pub mod strategy;
mod strict_json;
mod strict_value;
mod tenant;
mod timestamp;
mod unreadable;
mod url;
#[cfg(feature = "yaml")]
mod yaml;

pub use auth_params::{AuthParams, AwsConfig};
pub use bytes::Bytes;
pub use certificate_signing_request::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
    CertificateSigningRequestStatus,
};
pub use cluster_id::{ClusterId, ClusterIdError};
pub use cluster_role::ClusterRole;
pub use config_map::ConfigMap;
pub use foreign_cluster::{
    AuthStatus, ClusterIdentity, ForeignCluster, ForeignClusterSpec, ForeignClusterStatus,
    PeeringCondition,
};
pub use identity::{Identity, IdentitySpec, IdentityStatus, IdentityType, LocalObjectReference};
pub use kubeconfig::{ExecCredential, Kubeconfig, UserCredential};
pub use kubeconfig_form::KubeconfigError;
pub use manifest::ManifestError;
pub use metadata::{Metadata, OwnerReference};
pub use namespace::Namespace;
pub use namespace_name::{NamespaceName, NamespaceNameError};
pub use object::{Kind, Object, ObjectRef, Resource};
pub use quantity::Quantity;
pub use renew::{Renew, RenewSpec, RenewStatus};
pub use resource_slice::{
    IngressClass, LoadBalancerClass, ResourceSlice, ResourceSliceCondition,
    ResourceSliceConditionStatus, ResourceSliceConditionType, ResourceSliceSpec,
    ResourceSliceStatus, StorageClass,
};
pub use role::{PolicyRule, Role};
pub use role_binding::{ClusterRoleBinding, RbacSubject, RoleBinding, RoleRef};
pub use secret::Secret;
pub use secret_bytes::{SecretBytes, SecretText};
pub use service_account::ServiceAccount;
pub use service_account_kubeconfig::ServiceAccountKubeconfig;
pub use strict_json::StrictJsonError;
pub(crate) use strict_json::{MapOnly, read_strict_json};
pub use tenant::{AuthzPolicy, Tenant, TenantCondition, TenantSpec, TenantStatus};
pub use timestamp::{Timestamp, TimestampError};
pub use unreadable::{ObjectError, Unreadable};
pub use url::{ApiServerUrl, ProxyUrl, UrlError};
