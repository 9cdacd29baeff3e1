//! The Kubernetes objects of the exchange, and the always-valid values in them.
//!
//! The objects are lenient: a field holds whatever serde can read, and other
//! modules verify the content. An object that cannot be read becomes [`Unreadable`]
//! with the reason. Such an object in a list does not affect the other objects.

mod kinds;
mod kubeconfig;
mod reading;
#[cfg(any(test, feature = "proptest"))]
pub(crate) mod strategy;
mod values;

pub(crate) use kinds::auth_params::SECRET_FIELDS;
pub use kinds::auth_params::{AuthParams, AwsConfig};
pub use kinds::certificate_signing_request::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
    CertificateSigningRequestStatus,
};
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
pub use kinds::namespace_map::NamespaceMap;
pub use kinds::object::{Kind, Object, ObjectRef, Resource};
pub(crate) use kinds::object::{ObjectForm, TypedForm};
pub use kinds::renew::{Renew, RenewSpec, RenewStatus};
pub use kinds::resource_slice::{
    IngressClass, LoadBalancerClass, ResourceSlice, ResourceSliceCondition,
    ResourceSliceConditionStatus, ResourceSliceConditionType, ResourceSliceSpec,
    ResourceSliceStatus, StorageClass,
};
pub use kinds::role::{ClusterRole, PolicyRule, Role};
pub use kinds::role_binding::{ClusterRoleBinding, RbacSubject, RoleBinding, RoleRef};
pub use kinds::secret::Secret;
pub use kinds::service_account::ServiceAccount;
pub use kinds::tenant::{AuthzPolicy, Tenant, TenantCondition, TenantSpec, TenantStatus};
pub use kubeconfig::form::KubeconfigError;
pub use kubeconfig::{ExecCredential, Kubeconfig, UserCredential};
use reading::absent::or_null;
pub(crate) use reading::absent::{is_default, sparse};
pub(crate) use reading::bounded::BUDGET;
pub use reading::bounded::BoundedReader;
#[cfg(feature = "legacy")]
pub(crate) use reading::document::MapOnly;
pub(crate) use reading::document::read_json;
pub use reading::document::{DocumentError, read_document};
pub use reading::manifest::{self, ManifestError};
pub(crate) use reading::parsed::{as_text, parsed};
pub(crate) use reading::unreadable::wipe;
pub use reading::unreadable::{ObjectError, Unreadable};
pub use values::bytes::Bytes;
pub use values::cluster_id::{ClusterId, NameError};
pub(crate) use values::dns_name::is_dns_subdomain;
pub(crate) use values::hex::{Hex, read_hex};
pub(crate) use values::named::named;
pub use values::names;
pub use values::namespace_name::NamespaceName;
pub(crate) use values::quantity::Amounts;
pub use values::quantity::Quantity;
pub use values::secret_bytes::{SecretBytes, SecretText};
pub use values::text_map::TextMap;
pub use values::timestamp::Timestamp;
pub use values::token_protocol_version::ProtocolVersion;
pub use values::url::{ApiServerUrl, ProxyUrl, UrlError};
pub use values::value_error::ValueError;
pub(crate) use values::wiped::Wiped;
