//! The rules, with Liqo's error messages and status codes.

use crate::model::names::CORDON_ANNOTATION;

/// A rule of Liqo for Tenants and resource slices.
///
/// `Display` prints Liqo's error message without its variable parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, derive_more::Display)]
#[non_exhaustive]
pub enum AdmissionRule {
    /// A cluster ID matches Liqo's pattern for cluster IDs.
    #[display("should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'")]
    ClusterIdForm,
    /// The cluster ID of a Tenant does not change.
    #[display("ClusterID is immutable")]
    ClusterIdImmutable,
    /// The namespace of a Tenant exists.
    #[display("failed getting the tenant namespace")]
    NamespaceMissing,
    /// The namespace of a Tenant is a tenant namespace.
    #[display(
        "resources Tenant must be created in a tenant namespace, check the documentation for further info"
    )]
    TenantNamespace,
    /// The cluster ID in a Tenant's label equals the one in its spec.
    #[display("the \"liqo.io/remote-cluster-id\" label must match the cluster ID in the specs")]
    LabelMatchesSpec,
    /// The cluster ID of a Tenant is that of its namespace.
    #[display("the Tenant must have the same cluster ID of its tenant namespace")]
    NamespaceOfSameCluster,
    /// A tenant namespace has at most one Tenant.
    #[display("a Tenant already exists in the tenant namespace")]
    TenantInNamespace,
    /// The name of a Tenant is unique in the cluster.
    #[display(
        "tenant should have a unique name across the cluster: a Tenant with the same name already exists in the cluster"
    )]
    TenantName,
    /// An amount of a resource has the form of a Kubernetes quantity.
    #[display("quantities must match the form of a Kubernetes quantity")]
    QuantityForm,
    /// Two resource slices that this cluster requests do not have the same name.
    #[display("a resourceslice with the same name already exists in the cluster")]
    SliceName,
    /// An identity of a control plane does not change the label with the cluster
    /// ID.
    #[display("can't change the remoteClusterID label")]
    LabelChanged,
    /// An identity of a control plane does not delete that label.
    #[display("can't delete the remoteClusterID label")]
    LabelDeleted,
    /// An identity of a control plane does not add that label.
    #[display("can't add the remoteClusterID label")]
    LabelAdded,
    /// An identity of a control plane does not change the cordon annotation.
    #[display("control plane users can't change the {CORDON_ANNOTATION} annotation")]
    CordonChanged,
    /// An identity of a control plane does not delete that annotation.
    #[display("control plane users can't delete the {CORDON_ANNOTATION} annotation")]
    CordonDeleted,
    /// An identity of a control plane does not add that annotation.
    #[display("control plane users can't add the {CORDON_ANNOTATION} annotation")]
    CordonAdded,
}

impl AdmissionRule {
    /// The HTTP status code of the refusal: 400, 403 or 500 by Liqo's webhooks, 422
    /// by the API server for a rule of the CRD.
    pub const fn status_code(self) -> u16 {
        match self {
            Self::ClusterIdForm | Self::ClusterIdImmutable | Self::QuantityForm => 422,
            Self::NamespaceMissing => 500,
            Self::TenantNamespace | Self::LabelMatchesSpec => 400,
            _ => 403,
        }
    }
}
