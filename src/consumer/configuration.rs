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

/// What a consumer wants of, or knows about, one provider.
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
    /// The proxy to reach the provider by, which the Tenant asks for.
    #[serde(rename = "proxyURL")]
    pub proxy_url: Option<ProxyUrl>,
    /// The provider's tenant namespace, which the Tenant then names; none for
    /// the default one, which it does not name.
    pub remote_tenant_namespace: Option<NamespaceName>,
    /// Fingerprints of the keys that the provider may have. If there are any,
    /// it has to prove one of them.
    pub provider_keys: Vec<Fingerprint>,
    /// Whether the provider's certificate is publicly trusted, so that its
    /// Identity may come without a CA bundle.
    pub publicly_trusted: bool,
    /// The policy for this provider, where it is not the consumer's.
    pub policy: Option<Policy>,
    /// Whether the provider runs on EKS, so that its Identities may carry an AWS
    /// user's keys in place of a certificate.
    pub accept_aws: bool,
    /// Who renews the certificates.
    pub renewal: RenewalScheme,
    /// Whether a resource slice for this provider is completed and signed, no
    /// matter by whom it was made: by hand, by `liqoctl`, or by a provider that
    /// has rights in its tenant namespace here. Otherwise only the slices of
    /// [`Consumer::request_slice`](crate::Consumer::request_slice) are signed.
    pub sign_slices_made_by_anyone: bool,
}

/// Who renews a certificate, and how the next one comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RenewalScheme {
    /// As the provider shows it: the channel of Liqo 1.2 is made with the
    /// Identity; if it stays empty until the certificate is due, a request is
    /// put into it, which Liqo 1.0 and 1.1 answer.
    #[default]
    ByEvidence,
    /// The provider by itself, as Liqo does from 1.2 on: a Renew lies beside the
    /// Identity for as long as that is there, and carries new certificates.
    ByProvider,
    /// The provider on request, as in Liqo 1.0 and 1.1: when a certificate is
    /// due, a Renew with a request is made, and deleted when it was answered.
    /// Here and where nothing is known of the provider yet, the annotation
    /// `liqo.io/renew: "true"` on an Identity makes it due at once.
    ByConsumer,
    /// A person: nothing is replicated to this provider, and no Renew is made.
    /// That a certificate is due is a [notice](crate::machine::Notice::CertificateDue).
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
    /// The policy for a provider.
    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        let settings = self.peers.get(peer);
        let own = settings.and_then(|settings| settings.policy.as_ref());
        own.unwrap_or(&self.policy)
    }

    /// What is wanted of, or known about, a provider.
    pub(super) fn settings(&self, peer: &ClusterId) -> &PeerSettings {
        self.peers.get(peer).unwrap_or(&self.default_settings)
    }

    /// The Secret that is a provider's record.
    pub(super) fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace.as_str(), record::name(peer))
    }

    /// That the peer is another cluster, with a name that can be one.
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

    /// What is wanted of, or known about, one provider.
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

    /// The consumer.
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
