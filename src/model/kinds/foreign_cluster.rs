//! Foreign clusters: the objects of Liqo 0.2 to 0.10 that represent other clusters.

use serde::{Deserialize, Serialize};

use crate::model::{Metadata, Timestamp, names::AUTHENTICATION_STATUS, reading::absent::api_types};

api_types! {
    /// Another cluster, as an object of Liqo 0.2 to 0.10, with the fields that
    /// authentication needs. Source: Liqo `discoveryv1alpha1.ForeignCluster`.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::model::{AuthStatus, ForeignCluster};
    ///
    /// let foreign: ForeignCluster = serde_json::from_value(serde_json::json!({
    ///     "metadata": { "name": "my-cluster" },
    ///     "spec": { "foreignAuthUrl": "https://foreign.example:443" },
    ///     "status": { "authStatus": "EmptyRefused" },
    /// }))?;
    /// assert_eq!(foreign.spec.auth_url(), "https://foreign.example:443");
    /// assert_eq!(foreign.status.auth_status(), AuthStatus::EmptyRefused);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct ForeignCluster {
        /// Name and labels. The object has no namespace.
        always pub metadata: Metadata,
        /// The foreign cluster's ID and its URLs.
        always pub spec: ForeignClusterSpec,
        /// The result of the request for an identity.
        always pub status: ForeignClusterStatus,
    }

    /// A foreign cluster's ID and its URLs. Source: Liqo
    /// `discoveryv1alpha1.ForeignClusterSpec`.
    pub struct ForeignClusterSpec {
        /// The foreign cluster's ID and name; empty until the foreign cluster has
        /// answered the request for them.
        always pub cluster_identity: ClusterIdentity,
        /// The URL of the foreign cluster's authentication service, from Liqo 0.3 on.
        pub foreign_auth_url: String,
        /// The URL of the foreign cluster's authentication service in Liqo 0.2.
        pub auth_url: String,
        /// The URL of the proxy to the foreign cluster's API server.
        pub foreign_proxy_url: String,
        /// Whether the TLS certificate of the authentication service is accepted
        /// without verification. In Liqo, an absent value means `true`.
        #[serde(rename = "insecureSkipTLSVerify")]
        pub insecure_skip_tls_verify: Option<bool>,
    }

    /// The ID and the name of a cluster. Source: Liqo
    /// `discoveryv1alpha1.ClusterIdentity`.
    pub struct ClusterIdentity {
        /// The cluster ID.
        #[serde(rename = "clusterID")]
        pub cluster_id: String,
        /// A name for people.
        pub cluster_name: String,
    }

    /// The result of the request for an identity. Source: Liqo
    /// `discoveryv1alpha1.ForeignClusterStatus`.
    pub struct ForeignClusterStatus {
        /// The result in Liqo 0.2. Other versions drop the field.
        pub auth_status: Option<AuthStatus>,
        /// The conditions. In Liqo 0.3 and later, one of them is the result.
        pub peering_conditions: Vec<PeeringCondition>,
    }

    /// A condition of a peering. Source: Liqo
    /// `discoveryv1alpha1.PeeringCondition`.
    pub struct PeeringCondition {
        /// The type of the condition, such as `AuthenticationStatus`.
        #[serde(rename = "type")]
        always pub condition_type: String,
        /// The status, such as `Established`, `Denied` or `EmptyDenied`.
        always pub status: String,
        /// When the status last changed.
        pub last_transition_time: Option<Timestamp>,
        /// The reason, in one word.
        pub reason: String,
        /// The reason, in a sentence.
        pub message: String,
    }
}

/// The result of the request for an identity. Source: Liqo 0.2
/// `discovery.AuthStatus`.
#[derive(
    Default, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, derive_more::Display,
)]
pub enum AuthStatus {
    /// No request was sent, or no answer has arrived yet.
    #[default]
    Pending,
    /// The identity has arrived.
    Accepted,
    /// The foreign cluster refused the token. This cluster does not send another request
    /// until an administrator sets `Pending`.
    Refused,
    /// The foreign cluster refused the empty token. This cluster waits for a token.
    EmptyRefused,
}

impl ForeignClusterSpec {
    /// The URL of the authentication service, from either field.
    pub fn auth_url(&self) -> &str {
        if self.foreign_auth_url.is_empty() {
            &self.auth_url
        } else {
            &self.foreign_auth_url
        }
    }
}

impl ForeignClusterStatus {
    /// The result: the field `authStatus`, or the condition `AuthenticationStatus`
    /// if the field is absent.
    pub fn auth_status(&self) -> AuthStatus {
        if let Some(status) = self.auth_status {
            return status;
        }
        let condition = self
            .peering_conditions
            .iter()
            .find(|condition| condition.condition_type == AUTHENTICATION_STATUS);
        match condition.map(|condition| condition.status.as_str()) {
            Some("Established") => AuthStatus::Accepted,
            Some("Denied") => AuthStatus::Refused,
            Some("EmptyDenied") => AuthStatus::EmptyRefused,
            _ => AuthStatus::Pending,
        }
    }
}
