//! Namespaces.

use crate::model::{ClusterId, Metadata, names, reading::absent::api_types};

api_types! {
    /// A namespace. Source: Kubernetes `corev1.Namespace`.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::model::{Namespace, names};
    ///
    /// let namespace = Namespace::for_tenant(&"cl-consumer".parse()?);
    /// assert_eq!(namespace.metadata.name, "liqo-tenant-cl-consumer");
    /// assert_eq!(namespace.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL).unwrap(), "cl-consumer");
    /// # Ok::<(), liqo_auth::model::NameError>(())
    /// ```
    pub struct Namespace {
        /// Name and labels.
        always pub metadata: Metadata,
    }
}

impl Namespace {
    /// The tenant namespace of a peer, with the name and the labels that Liqo
    /// gives it. Source: Liqo `tenantnamespace.FormatTenantNamespace`.
    pub fn for_tenant(peer: &ClusterId) -> Self {
        let privileged = names::POD_SECURITY_PRIVILEGED;
        let labels = [
            (names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
            (names::TENANT_NAMESPACE_LABEL, names::TRUE),
            (names::POD_SECURITY_AUDIT_LABEL, privileged),
            (names::POD_SECURITY_ENFORCE_LABEL, privileged),
            (names::POD_SECURITY_WARN_LABEL, privileged),
        ];
        Self {
            metadata: Metadata::labelled(names::tenant_namespace(peer), "", labels),
        }
    }

    /// The name of a peer's tenant namespace; the default name if it does not exist
    /// yet.
    pub(crate) fn name_for(present: Option<&Self>, peer: &ClusterId) -> String {
        match present {
            Some(namespace) => namespace.metadata.name.clone(),
            None => names::tenant_namespace(peer),
        }
    }
}
