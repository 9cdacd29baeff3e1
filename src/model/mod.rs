//! The objects as they travel, and the always-valid values inside them.
//!
//! The objects are lenient: their fields are what serde reads, and whether a
//! Tenant is right is decided elsewhere. An object that cannot be read is
//! [`Unreadable`] with its reason, and spoils no list.

mod kinds;
mod kubeconfig;
mod reading;
#[cfg(any(test, feature = "proptest"))]
pub mod strategy;
mod values;

pub(crate) use kinds::auth_params::SECRET_FIELDS;
pub use kinds::auth_params::{AuthParams, AwsConfig};
pub use kinds::certificate_signing_request::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
    CertificateSigningRequestStatus,
};
pub use kinds::cluster_role::ClusterRole;
pub use kinds::config_map::ConfigMap;
pub use kinds::foreign_cluster::{
    AuthStatus, ClusterIdentity, ForeignCluster, ForeignClusterSpec, ForeignClusterStatus,
    PeeringCondition,
};
pub use kinds::identity::{
    Identity, IdentitySpec, IdentityStatus, IdentityType, LocalObjectReference,
};
pub use kinds::metadata::{Metadata, OwnerReference};
pub use kinds::namespace::Namespace;
pub use kinds::object::{Kind, Object, ObjectRef, Resource};
pub use kinds::renew::{Renew, RenewSpec, RenewStatus};
pub use kinds::resource_slice::{
    IngressClass, LoadBalancerClass, ResourceSlice, ResourceSliceCondition,
    ResourceSliceConditionStatus, ResourceSliceConditionType, ResourceSliceSpec,
    ResourceSliceStatus, StorageClass,
};
pub use kinds::role::{PolicyRule, Role};
pub use kinds::role_binding::{ClusterRoleBinding, RbacSubject, RoleBinding, RoleRef};
pub use kinds::secret::Secret;
pub use kinds::service_account::ServiceAccount;
pub use kinds::tenant::{AuthzPolicy, Tenant, TenantCondition, TenantSpec, TenantStatus};
pub use kubeconfig::form::KubeconfigError;
pub use kubeconfig::service_account::ServiceAccountKubeconfig;
pub use kubeconfig::{ExecCredential, Kubeconfig, UserCredential};
pub use reading::document::{DocumentError, read_document};
pub use reading::manifest::{self, ManifestError};
pub(crate) use reading::parsed::parsed;
#[cfg(feature = "legacy")]
pub(crate) use reading::strict_json::MapOnly;
pub use reading::strict_json::StrictJsonError;
pub(crate) use reading::strict_json::read_strict_json;
pub(crate) use reading::unreadable::wipe;
pub use reading::unreadable::{ObjectError, Unreadable};
pub use values::amount::{Amount, QuantityError};
pub use values::bytes::Bytes;
pub use values::cluster_id::{ClusterId, NameError};
pub use values::names;
pub use values::namespace_name::NamespaceName;
pub use values::quantity::Quantity;
pub use values::secret_bytes::{SecretBytes, SecretText};
pub use values::timestamp::Timestamp;
pub use values::token_protocol_version::ProtocolVersion;
pub use values::url::{ApiServerUrl, ProxyUrl, UrlError};
pub use values::value_error::ValueError;
pub(crate) use values::value_error::{read_hex, write_hex};
