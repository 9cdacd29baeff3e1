//! Service accounts.

use serde::{Deserialize, Serialize};

use crate::model::{LocalObjectReference, Metadata, reading::absent::or_null};

/// An identity inside a cluster, as Liqo 0.2 gave one to each home cluster.
/// Source: Kubernetes `corev1.ServiceAccount`.
///
/// # Examples
/// ```
/// use liqo_auth::model::ServiceAccount;
///
/// let account: ServiceAccount = serde_json::from_str(
///     r#"{"metadata": {"name": "remote-cl-home"}, "secrets": [{"name": "remote-cl-home-token"}]}"#,
/// )?;
/// assert_eq!(account.secrets[0].name, "remote-cl-home-token");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceAccount {
    /// Name, namespace, labels and finalizers.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// The Secrets with its tokens, where the cluster is old enough to make
    /// them by itself.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<LocalObjectReference>,
}
