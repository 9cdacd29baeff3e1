//! Roles within a namespace and in the whole cluster, and their rules.

use crate::model::{Metadata, reading::absent::api_types};

api_types! {
    /// A role in a namespace. Source: Kubernetes `rbacv1.Role`.
    pub struct Role {
        /// Name, namespace and labels.
        always pub metadata: Metadata,
        /// The rules of the role.
        pub rules: Vec<PolicyRule>,
    }

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

    /// A rule of a role: verbs that are allowed on resources. Source: Kubernetes
    /// `rbacv1.PolicyRule`.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::model::PolicyRule;
    ///
    /// let rule = PolicyRule::on("", "secrets", &["get", "delete"]);
    /// assert_eq!(rule.verbs, ["get", "delete"]);
    /// ```
    pub struct PolicyRule {
        /// The API groups; an empty text is the core group.
        pub api_groups: Vec<String>,
        /// The resources, such as `secrets`.
        pub resources: Vec<String>,
        /// The names of the objects; empty for all objects.
        pub resource_names: Vec<String>,
        /// The verbs, such as `get`.
        always pub verbs: Vec<String>,
        /// The URL paths that are not resources. Only a ClusterRole has them.
        #[serde(rename = "nonResourceURLs")]
        pub non_resource_urls: Vec<String>,
    }
}

impl PolicyRule {
    /// Verbs on all objects of one resource.
    pub fn on(api_group: &str, resource: &str, verbs: &[&str]) -> Self {
        Self {
            api_groups: vec![api_group.to_owned()],
            resources: vec![resource.to_owned()],
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// The same rule, for the object of that name only.
    #[cfg(feature = "legacy")]
    #[must_use]
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.resource_names = vec![name.to_owned()];
        self
    }
}
