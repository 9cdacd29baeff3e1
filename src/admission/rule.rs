//! The rules, with Liqo's error messages and status codes.

use core::fmt;

use crate::model::names;

/// A rule of Liqo for Tenants and resource slices.
///
/// `Display` prints Liqo's error message without its variable parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdmissionRule {
    /// A cluster ID matches Liqo's pattern for cluster IDs.
    ClusterIdForm,
    /// The cluster ID of a Tenant does not change.
    ClusterIdImmutable,
    /// The namespace of a Tenant exists.
    NamespaceMissing,
    /// The namespace of a Tenant is a tenant namespace.
    TenantNamespace,
    /// The cluster ID in a Tenant's label equals the one in its spec.
    LabelMatchesSpec,
    /// The cluster ID of a Tenant is that of its namespace.
    NamespaceOfSameCluster,
    /// A tenant namespace has one Tenant.
    TenantInNamespace,
    /// The name of a Tenant is unique in the cluster.
    TenantName,
    /// An amount of a resource has the form of a Kubernetes quantity.
    QuantityForm,
    /// Two resource slices that this cluster requests do not have the same name.
    SliceName,
    /// An identity of a control plane does not change the label with the cluster
    /// ID.
    LabelChanged,
    /// An identity of a control plane does not delete that label.
    LabelDeleted,
    /// An identity of a control plane does not add that label.
    LabelAdded,
    /// An identity of a control plane does not change the cordon annotation.
    CordonChanged,
    /// An identity of a control plane does not delete that annotation.
    CordonDeleted,
    /// An identity of a control plane does not add that annotation.
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

impl fmt::Display for AdmissionRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let annotation = |verb: &str, formatter: &mut fmt::Formatter<'_>| {
            let name = names::CORDON_ANNOTATION;
            write!(
                formatter,
                "control plane users can't {verb} the {name} annotation"
            )
        };
        let text = match self {
            Self::ClusterIdForm => "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
            Self::ClusterIdImmutable => "ClusterID is immutable",
            Self::NamespaceMissing => "failed getting the tenant namespace",
            Self::TenantNamespace => {
                "resources Tenant must be created in a tenant namespace, check the documentation for further info"
            }
            Self::LabelMatchesSpec => {
                "the \"liqo.io/remote-cluster-id\" label must match the cluster ID in the specs"
            }
            Self::NamespaceOfSameCluster => {
                "the Tenant must have the same cluster ID of its tenant namespace"
            }
            Self::TenantInNamespace => "a Tenant already exists in the tenant namespace",
            Self::TenantName => {
                "tenant should have a unique name across the cluster: a Tenant with the same name already exists in the cluster"
            }
            Self::QuantityForm => "quantities must match the form of a Kubernetes quantity",
            Self::SliceName => "a resourceslice with the same name already exists in the cluster",
            Self::LabelChanged => "can't change the remoteClusterID label",
            Self::LabelDeleted => "can't delete the remoteClusterID label",
            Self::LabelAdded => "can't add the remoteClusterID label",
            Self::CordonChanged => return annotation("change", formatter),
            Self::CordonDeleted => return annotation("delete", formatter),
            Self::CordonAdded => return annotation("add", formatter),
        };
        formatter.write_str(text)
    }
}
