//! A provider's configuration as data.

use core::time::Duration;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{Endpoint, ProviderBuilder};
use crate::{
    crypto::{CaBundle, RecordKey},
    model::{ApiServerUrl, ClusterId, NamespaceName},
    policy::Policy,
};

/// The configuration of a provider, as data.
/// [`read_document`](crate::model::read_document) reads it and refuses unknown
/// fields.
///
/// | field | value | if left out |
/// |---|---|---|
/// | `clusterID` | the name of this cluster | an error |
/// | `apiServer` | the URL by which peers reach this cluster's API server | an error |
/// | `apiServerCA` | the CA certificates of the API server, in PEM | its certificate is publicly trusted |
/// | `recordKey` | the name by which the embedder finds the record key | none |
/// | `key` | the name by which the embedder finds this cluster's key | none |
/// | `kubernetesSigner` | whether Kubernetes' own signer signs the certificates | `false` |
/// | `requireApproval` | whether each request waits for an administrator | `false` |
/// | `nonceLifetimeSeconds` | the lifetime of a nonce | a day |
/// | `certificateLifetimeSeconds` | the lifetime that a certificate request asks for | 365 days |
/// | `namespace` | the namespace of the records | `liqo` |
/// | `policy` | a [`Policy`], as in [`ConsumerConfig`](crate::consumer::ConsumerConfig) | strict |
/// | `peers` | a map from the name of a consumer to its [`ConsumerSettings`] | none |
///
/// [`ConsumerSettings`] have `policy` and `tolerateNoHandshake`.
///
/// # Examples
/// ```
/// use liqo_auth::{Machine, crypto::RecordKey, model::read_document, provider::ProviderConfig};
///
/// let config: ProviderConfig = read_document(br#"{
///     "clusterID": "cl-provider",
///     "apiServer": "https://172.19.0.3:6443",
///     "recordKey": "liqo/record-key",
///     "requireApproval": true,
///     "peers": { "cl-consumer": { "policy": { "forms": "compatible" } } }
/// }"#)?;
/// assert_eq!(config.record_key.as_deref(), Some("liqo/record-key"));
/// let provider = config.builder(RecordKey::new([1; 32])?).build();
/// assert_eq!(provider.cluster_id().as_str(), "cl-provider");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ProviderConfig {
    /// The name of this cluster.
    #[serde(rename = "clusterID")]
    pub cluster_id: ClusterId,
    /// The URL by which peers reach this cluster's API server.
    pub api_server: ApiServerUrl,
    /// The CA certificates by which peers verify the API server; `None` if its
    /// certificate is publicly trusted.
    #[serde(default, rename = "apiServerCA", deserialize_with = "ca_bundle")]
    pub api_server_ca: Option<CaBundle>,
    /// The name by which the embedder finds the record key. The key itself is
    /// never a part of the configuration.
    #[serde(default)]
    pub record_key: Option<String>,
    /// The name by which the embedder finds this cluster's key, for
    /// [`ProviderBuilder::key`].
    #[serde(default)]
    pub key: Option<String>,
    /// Whether Kubernetes' own signer (`kubernetes.io/kube-apiserver-client`) signs.
    /// In three steps, the provider creates a CertificateSigningRequest, approves
    /// the version that it has read, and reads the certificate. The caller needs the
    /// rights to create, get, list, watch and delete CertificateSigningRequests, to
    /// update and patch their `/approval`, and `approve` on that signer.
    #[serde(default)]
    pub kubernetes_signer: bool,
    /// Whether each new request of a peer waits for
    /// [`Provider::approve`](super::Provider::approve) before it is signed.
    #[serde(default)]
    pub require_approval: bool,
    /// The lifetime of a nonce; 24 hours by default, since people may carry the nonce
    /// by hand.
    #[serde(
        default = "one_day",
        rename = "nonceLifetimeSeconds",
        deserialize_with = "seconds"
    )]
    pub nonce_lifetime: Duration,
    /// The certificate lifetime that the provider requests from the signer; 365 days
    /// by default. The Kubernetes API accepts no less than ten minutes
    /// ([`expiration_seconds`](super::SigningRequest::expiration_seconds)).
    #[serde(
        default = "one_year",
        rename = "certificateLifetimeSeconds",
        deserialize_with = "seconds"
    )]
    pub certificate_lifetime: Duration,
    /// The namespace of the provider's own records, to which no peer has access;
    /// `liqo` by default.
    #[serde(default)]
    pub namespace: Option<NamespaceName>,
    /// The policy for all peers; [`Policy::strict`] by default.
    #[serde(default)]
    pub policy: Policy,
    /// The settings of single peers.
    #[serde(default)]
    pub peers: BTreeMap<ClusterId, ConsumerSettings>,
}

/// The settings for one consumer, as data.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ConsumerSettings {
    /// The policy for this consumer; `None` if the provider's policy applies.
    pub policy: Option<Policy>,
    /// Whether the provider accepts this consumer without a handshake if its Tenant
    /// asks for that (`authzPolicy: TolerateNoHandshake`). Then only the name
    /// identifies the consumer: anyone who can write a Tenant on this cluster can
    /// claim this name. A Tenant that does not ask for this needs the handshake.
    pub tolerate_no_handshake: bool,
}

impl ProviderConfig {
    /// The configuration of the cluster with this name, whose API server its peers
    /// reach at `endpoint`. Every other setting has its default, as in a document
    /// without this field.
    pub(super) fn new(cluster_id: ClusterId, endpoint: Endpoint) -> Self {
        Self {
            cluster_id,
            api_server: endpoint.api_server,
            api_server_ca: endpoint.ca,
            record_key: None,
            key: None,
            kubernetes_signer: false,
            require_approval: false,
            nonce_lifetime: one_day(),
            certificate_lifetime: one_year(),
            namespace: None,
            policy: Policy::strict(),
            peers: BTreeMap::new(),
        }
    }

    /// A builder with this configuration and the record key that
    /// [`record_key`](Self::record_key) names. Set the backends on the builder.
    pub fn builder(self, record_key: RecordKey) -> ProviderBuilder {
        ProviderBuilder::new(self, record_key)
    }
}

fn one_day() -> Duration {
    Duration::from_secs(24 * 60 * 60)
}

fn one_year() -> Duration {
    Duration::from_secs(365 * 24 * 60 * 60)
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}

fn ca_bundle<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CaBundle>, D::Error> {
    let pem = String::deserialize(deserializer)?;
    CaBundle::from_pem(pem.as_bytes(), &Policy::compatible())
        .map(Some)
        .map_err(|error| {
            D::Error::custom(format_args!(
                "found other text, expected CA certificates in PEM: {error}"
            ))
        })
}
