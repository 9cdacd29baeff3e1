//! Cluster roles.

use crate::model::{Metadata, PolicyRule, reading::absent::api_types};

api_types! {
    /// A role in the whole cluster. This library only reads ClusterRoles of other
    /// writers, which it finds by their labels. It must never write such a ClusterRole
    /// back, because it does not read the aggregation rule. Source: Kubernetes
    /// `rbacv1.ClusterRole`.
    pub struct ClusterRole {
        /// Name and labels.
        always pub metadata: Metadata,
        /// The rules of the role.
        pub rules: Vec<PolicyRule>,
    }
}
