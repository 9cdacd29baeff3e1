//! Roles within a namespace, and the rules of roles.

use serde::{Deserialize, Serialize};

use crate::model::{
    Metadata,
    reading::absent::{is_default, or_null},
};

/// A role in a namespace. Source: Kubernetes `rbacv1.Role`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Role {
    /// Name, namespace and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// The rules of the role.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
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
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// The API groups; an empty text is the core group.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub api_groups: Vec<String>,
    /// The resources, such as `secrets`.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub resources: Vec<String>,
    /// The names of the objects; empty for all objects.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub resource_names: Vec<String>,
    /// The verbs, such as `get`.
    #[serde(deserialize_with = "or_null")]
    pub verbs: Vec<String>,
    /// The URL paths that are not resources. Only a ClusterRole has them.
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "or_null",
        skip_serializing_if = "is_default"
    )]
    pub non_resource_urls: Vec<String>,
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
