//! Roles within a namespace, and the rules of roles.

use serde::{Deserialize, Serialize};

use crate::model::{Metadata, reading::absent::or_null};

/// A role in a namespace. Source: Kubernetes `rbacv1.Role`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Role {
    /// Name, namespace and labels.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// What it allows.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PolicyRule>,
}

/// What a role allows: verbs on resources. Source: Kubernetes
/// `rbacv1.PolicyRule`.
///
/// # Examples
/// ```
/// use liqo_auth::model::PolicyRule;
///
/// let rule = PolicyRule::on("", "secrets", &["get", "delete"]).named("cl-home");
/// assert_eq!(rule.resource_names, ["cl-home"]);
/// ```
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// The API groups; an empty text is the core group.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// The resources, such as `secrets`.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The names of the objects; none for all.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// The verbs, such as `get`.
    #[serde(deserialize_with = "or_null")]
    pub verbs: Vec<String>,
    /// Paths outside of the resources, of a ClusterRole only.
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "or_null",
        skip_serializing_if = "Vec::is_empty"
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
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.resource_names = vec![name.to_owned()];
        self
    }
}
