//! Role bindings.

use crate::model::{Metadata, names, reading::absent::api_types};

api_types! {
    /// A binding within a namespace. Source: Kubernetes `rbacv1.RoleBinding`.
    pub struct RoleBinding {
        /// Name, namespace and labels.
        always pub metadata: Metadata,
        /// The role that the binding grants.
        always pub role_ref: RoleRef,
        /// The subjects to which the binding grants the role.
        pub subjects: Vec<RbacSubject>,
    }

    /// A binding in the whole cluster. Source: Kubernetes
    /// `rbacv1.ClusterRoleBinding`.
    pub struct ClusterRoleBinding {
        /// Name and labels.
        always pub metadata: Metadata,
        /// The role that the binding grants.
        always pub role_ref: RoleRef,
        /// The subjects to which the binding grants the role.
        pub subjects: Vec<RbacSubject>,
    }

    /// The role that a binding grants. Source: Kubernetes `rbacv1.RoleRef`.
    pub struct RoleRef {
        /// `rbac.authorization.k8s.io`.
        always pub api_group: String,
        /// `ClusterRole` or `Role`.
        always pub kind: String,
        /// The name of the role.
        always pub name: String,
    }

    /// A subject to which a binding grants its role. Source: Kubernetes
    /// `rbacv1.Subject`.
    pub struct RbacSubject {
        /// `rbac.authorization.k8s.io` for users and groups.
        pub api_group: String,
        /// `User`, `Group` or `ServiceAccount`.
        always pub kind: String,
        /// The name of the user, group or service account.
        always pub name: String,
        /// The namespace of a service account; empty for users and groups.
        pub namespace: String,
    }
}

impl RoleRef {
    /// The reference to a ClusterRole.
    pub fn cluster_role(name: &str) -> Self {
        Self::of_kind("ClusterRole", name)
    }

    /// The reference to a Role of the binding's own namespace.
    pub(crate) fn role(name: &str) -> Self {
        Self::of_kind("Role", name)
    }

    fn of_kind(kind: &str, name: &str) -> Self {
        Self {
            api_group: names::RBAC_API_GROUP.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl RbacSubject {
    /// A user.
    pub(crate) fn user(name: &str) -> Self {
        Self::of_kind("User", name)
    }

    /// A group.
    pub(crate) fn group(name: &str) -> Self {
        Self::of_kind("Group", name)
    }

    /// A service account of a namespace.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            api_group: String::new(),
            namespace: namespace.to_owned(),
            ..Self::of_kind("ServiceAccount", name)
        }
    }

    /// Whether this is a user or a group.
    pub(crate) fn is_principal(&self) -> bool {
        matches!(self.kind.as_str(), "User" | "Group")
    }

    fn of_kind(kind: &str, name: &str) -> Self {
        Self {
            api_group: names::RBAC_API_GROUP.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespace: String::new(),
        }
    }
}
