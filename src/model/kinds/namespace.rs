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

    /// The peer whose tenant namespace this is, by its labels; `None` for any other
    /// namespace. No peer can write a Namespace.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::model::Namespace;
    ///
    /// let peer = "cl-consumer".parse()?;
    /// let mut namespace = Namespace::for_tenant(&peer);
    /// assert_eq!(namespace.tenant(), Some(peer));
    /// namespace.metadata.labels.clear();
    /// assert_eq!(namespace.tenant(), None, "the name does not count");
    /// # Ok::<(), liqo_auth::model::NameError>(())
    /// ```
    pub fn tenant(&self) -> Option<ClusterId> {
        let label = |key: &str| self.metadata.label(key);
        let mut tenancies = TENANCY.iter();
        let found = tenancies.find(|(tenancy, _)| label(tenancy) == Some(names::TRUE));
        found.and_then(|(_, peer)| label(peer)?.parse().ok())
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

/// The pairs of labels of a tenant namespace. The first label marks the namespace,
/// and the second has the peer's cluster ID. Liqo 0.2 to 0.10 uses the second pair.
const TENANCY: [(&str, &str); 2] = [
    (
        names::TENANT_NAMESPACE_LABEL,
        names::REMOTE_CLUSTER_ID_LABEL,
    ),
    (
        names::DISCOVERY_TENANT_NAMESPACE_LABEL,
        names::DISCOVERY_CLUSTER_ID_LABEL,
    ),
];
