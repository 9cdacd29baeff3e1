//! How a consumer is configured.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;

use crate::{
    crypto::{Fingerprint, KeyStore},
    error::{ApiMisuse, Error},
    model::{ClusterId, Kind, NamespaceName, ObjectRef, ProxyUrl, names},
    policy::Policy,
    verify,
};

/// A consumer's configuration as data. [`read_document`] reads it and refuses
/// unknown fields.
///
/// | field | value | if left out |
/// |---|---|---|
/// | `clusterID` | the name of this cluster | an error |
/// | `key` | the name by which the embedder finds this cluster's key | none |
/// | `namespace` | the namespace of the records | `liqo` |
/// | `policy` | a [`Policy`] | strict |
/// | `peers` | a map from the name of a provider to its [`PeerSettings`] | none |
///
/// A [`Policy`] has `forms` (`canonical` or `compatible`) and `limits`, whose names
/// are those of [`Limits`](crate::policy::Limits). [`PeerSettings`] have `proxyURL`,
/// `remoteTenantNamespace`, `providerKeys`, `acceptUnprovenProvider`,
/// `publiclyTrusted`, `policy`, `acceptAws`, `signSlicesMadeByAnyone`,
/// `kubeconfigDigest` and `renewal` (`byEvidence`, `byProvider`, `byConsumer` or `byHand`).
///
/// [`read_document`]: crate::model::read_document
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     Consumer, Machine,
///     consumer::ConsumerConfig,
///     crypto::{Entropy, KeyPair, OneKey},
///     model::read_document,
/// };
///
/// let config: ConsumerConfig = read_document(br#"{
///     "clusterID": "cl-consumer",
///     "key": "liqo/authentication-keys",
///     "peers": { "cl-provider": { "proxyURL": "http://10.70.0.2:8118", "renewal": "byHand" } }
/// }"#)?;
/// assert_eq!(config.key.as_deref(), Some("liqo/authentication-keys"));
/// let key = KeyPair::from_entropy(&Entropy::from_bytes([7; 32]));
/// let consumer = Consumer::new(config, Arc::new(OneKey(Arc::new(key))));
/// assert_eq!(consumer.cluster_id().as_str(), "cl-consumer");
/// # Ok::<(), liqo_auth::model::DocumentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ConsumerConfig {
    /// The name of this cluster.
    #[serde(rename = "clusterID")]
    pub cluster_id: ClusterId,
    /// The name by which the embedder finds this cluster's key. The key itself
    /// is never a part of the configuration.
    #[serde(default)]
    pub key: Option<String>,
    /// The namespace of the consumer's own records.
    #[serde(default)]
    pub namespace: Option<NamespaceName>,
    /// The policy for all peers.
    #[serde(default)]
    pub policy: Policy,
    /// Whether the nonce of the peering that this side ended last is signed again, as the
    /// provider may let it [serve again](crate::provider::ProviderConfig::peer_again). Only
    /// if nobody but administrators delivers nonces here: an old nonce and an old Identity
    /// that are delivered again bring the peering back.
    #[serde(default)]
    pub peer_again: bool,
    /// The settings of each provider.
    #[serde(default)]
    pub peers: BTreeMap<ClusterId, PeerSettings>,
}

impl ConsumerConfig {
    /// The configuration of the cluster with this name. Every other setting has its
    /// default, as in a document without that setting.
    pub fn new(cluster_id: ClusterId) -> Self {
        Self {
            cluster_id,
            key: None,
            namespace: None,
            policy: Policy::strict(),
            peer_again: false,
            peers: BTreeMap::new(),
        }
    }
}

/// A consumer's settings for one provider.
///
/// # Examples
/// ```
/// use liqo_auth::consumer::PeerSettings;
///
/// let settings = PeerSettings {
///     proxy_url: Some("http://10.70.0.2:8118".parse()?),
///     ..PeerSettings::default()
/// };
/// assert!(settings.provider_keys.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PeerSettings {
    /// The proxy through which the consumer reaches the provider. The Tenant
    /// contains its URL, and the provider copies the URL to the Identity.
    #[serde(rename = "proxyURL")]
    pub proxy_url: Option<ProxyUrl>,
    /// The tenant namespace on the provider. The Tenant names this namespace. If the
    /// setting is left out, the Tenant does not name a namespace, and the provider uses the
    /// default one.
    pub remote_tenant_namespace: Option<NamespaceName>,
    /// Fingerprints of the keys that the provider may have. If the list is not
    /// empty, the provider has to prove one of these keys.
    pub provider_keys: Vec<Fingerprint>,
    /// Whether an Identity without a proof of the provider's key is accepted
    /// although the nonce commits the provider to a key. An attacker in the middle
    /// who makes an Identity cannot add this proof. The compatible policy accepts
    /// such an Identity without this setting. If a key of the provider is configured
    /// or pinned, the proof is always required. The setting has no effect for a
    /// provider whose nonces commit to no key, such as unmodified Liqo.
    pub accept_unproven_provider: bool,
    /// Whether the provider's API server has a publicly trusted certificate, so that
    /// the Identity does not need a CA bundle.
    pub publicly_trusted: bool,
    /// The policy for this provider, if it differs from the consumer's.
    pub policy: Option<Policy>,
    /// Whether the provider runs on EKS, so that its Identities may carry an AWS
    /// user's keys in place of a certificate.
    pub accept_aws: bool,
    /// The way in which certificates are renewed.
    pub renewal: RenewalScheme,
    /// Whether every resource slice for this provider is completed and signed, also if the
    /// provider may have made it. A provider that is, or was, a consumer of this cluster as
    /// well has rights in its tenant namespace here: without this setting, only the slices
    /// for it that were requested with
    /// [`Consumer::request_slice`](crate::Consumer::request_slice) are signed. The slices for
    /// other providers are signed whoever made them: `kubectl`, `liqoctl` or a person.
    pub sign_slices_made_by_anyone: bool,
    /// The SHA-256 of the kubeconfig that an administrator has made for this provider, in place
    /// of an Identity: of the value under the key `kubeconfig` of a Secret in the tenant
    /// namespace, with the labels by which Liqo finds the kubeconfig of a control plane.
    /// Another kubeconfig does not count, since others may write such a Secret. Its credential
    /// is a certificate with its key, or a token. It is ignored beside an Identity.
    pub kubeconfig_digest: Option<Fingerprint>,
}

/// How certificates are renewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RenewalScheme {
    /// The answers of the provider show which side starts a renewal. The consumer
    /// creates a Renew without a certificate request for the control plane's
    /// Identity. Liqo 1.2 and later write new certificates to this Renew. If the
    /// Renew has no answer when the certificate is due, the consumer adds a request,
    /// which Liqo 1.0 and 1.1 answer.
    #[default]
    ByEvidence,
    /// The provider renews by itself, as Liqo does since 1.2. A Renew exists as long
    /// as the control plane's Identity. The provider writes new certificates to this
    /// Renew.
    ByProvider,
    /// The provider renews on request, as in Liqo 1.0 and 1.1. When a certificate is
    /// due, the consumer creates a Renew with a request, and deletes it after the
    /// answer. With this scheme, and with `ByEvidence` as long as the provider is
    /// not known to renew by itself, the annotation `liqo.io/renew: "true"` on an
    /// Identity makes its certificate due at once.
    ByConsumer,
    /// A person renews. This scheme is for a provider to which no objects are
    /// replicated. The consumer creates no Renew. If a certificate is due, the
    /// consumer reports a [notice](crate::machine::Notice::CertificateDue).
    ByHand,
}

pub(crate) struct Configuration {
    pub(super) settings: ConsumerConfig,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) default_settings: PeerSettings,
}

impl Configuration {
    pub(super) fn cluster_id(&self) -> &ClusterId {
        &self.settings.cluster_id
    }

    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        let own = self.of_peer(peer).policy.as_ref();
        own.unwrap_or(&self.settings.policy)
    }

    /// The settings for a peer.
    pub(super) fn of_peer(&self, peer: &ClusterId) -> &PeerSettings {
        let settings = self.settings.peers.get(peer);
        settings.unwrap_or(&self.default_settings)
    }

    /// The namespace of the consumer's own records.
    pub(super) fn namespace(&self) -> &str {
        let namespace = self.settings.namespace.as_ref();
        namespace.map_or(names::LIQO_NAMESPACE, NamespaceName::as_str)
    }

    /// The Secret that holds a provider's record.
    pub(super) fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace(), names::consumer_record(peer))
    }

    /// Checks that the peer is another cluster, and that its name is not too long.
    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        if peer == self.cluster_id() {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        verify::name_length(peer, self.policy(peer))
    }
}
