//! Namespaces.

use serde::{Deserialize, Serialize};

use crate::model::{ClusterId, Metadata, names, reading::absent::or_null};

/// A namespace. Source: Kubernetes `corev1.Namespace`.
///
/// # Examples
/// ```
/// use liqo_auth::model::{Namespace, names};
///
/// let namespace = Namespace::for_tenant(&"cl-consumer".parse()?);
/// assert_eq!(namespace.metadata.name, "liqo-tenant-cl-consumer");
/// assert_eq!(namespace.metadata.labels[names::REMOTE_CLUSTER_ID_LABEL], "cl-consumer");
/// # Ok::<(), liqo_auth::model::NameError>(())
/// ```
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Namespace {
    /// Name and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
}

impl Namespace {
    /// The tenant namespace of a peer as Liqo makes it: its name and its
    /// labels. Source: Liqo `tenantnamespace.FormatTenantNamespace`.
    pub fn for_tenant(peer: &ClusterId) -> Self {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Self {
            metadata: Metadata {
                name: names::tenant_namespace(peer),
                labels: [
                    label(names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
                    label(names::TENANT_NAMESPACE_LABEL, names::TRUE),
                    label(
                        names::POD_SECURITY_AUDIT_LABEL,
                        names::POD_SECURITY_PRIVILEGED,
                    ),
                    label(
                        names::POD_SECURITY_ENFORCE_LABEL,
                        names::POD_SECURITY_PRIVILEGED,
                    ),
                    label(
                        names::POD_SECURITY_WARN_LABEL,
                        names::POD_SECURITY_PRIVILEGED,
                    ),
                ]
                .into(),
                ..Metadata::default()
            },
        }
    }
}
