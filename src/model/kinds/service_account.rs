//! Service accounts.

use serde::{Deserialize, Serialize};

use crate::model::{
    LocalObjectReference, Metadata,
    reading::absent::{is_default, or_null},
};

/// A service account. Liqo 0.2 creates one for each home cluster.
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
    /// The Secrets with the account's tokens. Kubernetes creates such Secrets
    /// automatically only up to version 1.23.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub secrets: Vec<LocalObjectReference>,
}
