//! Service accounts.

use crate::model::{LocalObjectReference, Metadata, reading::absent::api_types};

api_types! {
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
    pub struct ServiceAccount {
        /// Name, namespace, labels and finalizers.
        always pub metadata: Metadata,
        /// The Secrets with the account's tokens. Kubernetes creates such Secrets
        /// automatically only up to version 1.23.
        pub secrets: Vec<LocalObjectReference>,
    }
}
