//! How a consumer is configured.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;

use super::{Consumer, record};
use crate::{
    crypto::{Fingerprint, KeyStore},
    error::{ApiMisuse, Error},
    model::{ClusterId, Kind, NamespaceName, ObjectRef, ProxyUrl, names},
    policy::Policy,
    verify,
};

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
    /// The proxy through which the consumer reaches the provider. The Tenant asks
    /// for it.
    #[serde(rename = "proxyURL")]
    pub proxy_url: Option<ProxyUrl>,
    /// The tenant namespace on the provider, which the Tenant then names. If none,
    /// the Tenant names no namespace, and the provider uses the default one.
    pub remote_tenant_namespace: Option<NamespaceName>,
    /// Fingerprints of the keys that the provider may have. If the list is not
    /// empty, the provider has to prove one of these keys.
    pub provider_keys: Vec<Fingerprint>,
    /// Whether the provider may leave out the proof of its key although its nonce
    /// committed to one. Someone on the way who makes an Identity of their own
    /// leaves it out, too. The compatible policy accepts that; for a provider whose
    /// nonces commit to nothing, such as unmodified Liqo, it makes no difference.
    pub accept_unproven_provider: bool,
    /// Whether the provider's API server has a publicly trusted certificate, so that
    /// the Identity needs no CA bundle.
    pub publicly_trusted: bool,
    /// The policy for this provider, if it differs from the consumer's.
    pub policy: Option<Policy>,
    /// Whether the provider runs on EKS, so that its Identities may carry an AWS
    /// user's keys in place of a certificate.
    pub accept_aws: bool,
    /// Who renews the certificates.
    pub renewal: RenewalScheme,
    /// Whether every resource slice for this provider is completed and signed. That
    /// includes slices made by hand, by `liqoctl`, or by a provider that has rights
    /// in its tenant namespace on this cluster. Otherwise, only slices that were
    /// requested with [`Consumer::request_slice`](crate::Consumer::request_slice)
    /// are signed.
    pub sign_slices_made_by_anyone: bool,
}

/// How certificates are renewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RenewalScheme {
    /// The consumer learns from the provider's answers who renews. It creates a
    /// Renew without a request beside the control plane's Identity. Liqo 1.2 and
    /// later write new certificates to it. If the Renew has no answer when the
    /// certificate is due, the consumer adds a request, which Liqo 1.0 and 1.1
    /// answer.
    #[default]
    ByEvidence,
    /// The provider renews by itself, as Liqo does since 1.2. A Renew exists as long
    /// as the control plane's Identity, and the provider writes new certificates to
    /// it.
    ByProvider,
    /// The provider renews on request, as in Liqo 1.0 and 1.1. When a certificate is
    /// due, the consumer creates a Renew with a request, and deletes it after the
    /// answer. With this scheme, and with `ByEvidence` as long as the provider is
    /// not known to renew by itself, the annotation `liqo.io/renew: "true"` on an
    /// Identity makes its certificate due at once.
    ByConsumer,
    /// A person renews. Nothing is replicated to this provider, and the consumer
    /// creates no Renew. If a certificate is due, the consumer reports a
    /// [notice](crate::machine::Notice::CertificateDue).
    ByHand,
}

/// Configures a [`Consumer`]; made by [`Consumer::builder`].
pub struct ConsumerBuilder(Configuration);

pub(super) struct Configuration {
    pub(super) cluster_id: ClusterId,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) policy: Policy,
    pub(super) peers: BTreeMap<ClusterId, PeerSettings>,
    pub(super) default_settings: PeerSettings,
    pub(super) namespace: String,
}

impl Configuration {
    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        let settings = self.peers.get(peer);
        let own = settings.and_then(|settings| settings.policy.as_ref());
        own.unwrap_or(&self.policy)
    }

    pub(super) fn settings(&self, peer: &ClusterId) -> &PeerSettings {
        self.peers.get(peer).unwrap_or(&self.default_settings)
    }

    /// The Secret that holds a provider's record.
    pub(super) fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace.as_str(), record::name(peer))
    }

    /// Checks that the peer is another cluster, and that its name is not too long.
    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        verify::name_length(peer, self.policy(peer))
    }
}

impl ConsumerBuilder {
    pub(super) fn new(cluster_id: ClusterId, keys: Arc<dyn KeyStore>) -> Self {
        Self(Configuration {
            cluster_id,
            keys,
            policy: Policy::strict(),
            peers: BTreeMap::new(),
            default_settings: PeerSettings::default(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
        })
    }

    /// The policy for all peers; [`Policy::strict`] unless set.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.0.policy = policy;
        self
    }

    /// The settings of one provider.
    #[must_use]
    pub fn peer(mut self, provider: ClusterId, settings: PeerSettings) -> Self {
        self.0.peers.insert(provider, settings);
        self
    }

    /// The namespace of the consumer's own records; `liqo` unless set.
    #[must_use]
    pub fn namespace(mut self, namespace: &NamespaceName) -> Self {
        self.0.namespace = namespace.to_string();
        self
    }

    /// Builds the consumer.
    pub fn build(self) -> Consumer {
        Consumer(Arc::new(self.0))
    }
}

impl core::fmt::Debug for ConsumerBuilder {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("ConsumerBuilder")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}
