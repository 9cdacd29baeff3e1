//! How a home cluster is configured.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use super::HomeCluster;
use crate::{
    crypto::{KeyStore, RecordKey},
    legacy::{TokenProtocol, record::FieldSeal},
    model::{ClusterId, ProtocolVersion, names},
    policy::Policy,
};

/// Configures a [`HomeCluster`]; made by [`HomeCluster::builder`].
pub struct HomeClusterBuilder(Configuration);

pub(super) struct Configuration {
    pub(super) cluster_id: ClusterId,
    pub(super) name: String,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) record_key: RecordKey,
    pub(super) protocol: TokenProtocol,
    pub(super) policy: Policy,
    pub(super) peer_policies: BTreeMap<ClusterId, Policy>,
    pub(super) versions: BTreeMap<ClusterId, ProtocolVersion>,
    pub(super) namespace: String,
    pub(super) is_publicly_trusted: bool,
    pub(super) skips_tls_verification: bool,
}

impl Configuration {
    /// The seal of a Secret of this cluster's own, about a peer.
    pub(super) fn seal<'a>(&'a self, name: String, peer: &'a ClusterId) -> FieldSeal<'a> {
        FieldSeal {
            key: &self.record_key,
            owner: &self.cluster_id,
            namespace: &self.namespace,
            name,
            peer: Some(peer),
        }
    }

    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        self.peer_policies.get(peer).unwrap_or(&self.policy)
    }
}

impl HomeClusterBuilder {
    pub(super) fn new(
        cluster_id: ClusterId,
        keys: Arc<dyn KeyStore>,
        record_key: RecordKey,
    ) -> Self {
        Self(Configuration {
            name: cluster_id.to_string(),
            cluster_id,
            keys,
            record_key,
            protocol: TokenProtocol::Off,
            policy: Policy::strict(),
            peer_policies: BTreeMap::new(),
            versions: BTreeMap::new(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
            is_publicly_trusted: false,
            skips_tls_verification: false,
        })
    }

    /// Whether the protocol is spoken; [`TokenProtocol::Off`] unless set.
    #[must_use]
    pub fn enable_token_protocol(mut self, protocol: TokenProtocol) -> Self {
        self.0.protocol = protocol;
        self
    }

    /// The cluster's name for people, which it tells its peers; its ID unless
    /// set.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// The policy for all peers; [`Policy::strict`] unless set. The form of 0.2
    /// is spoken with the compatible one only.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.0.policy = policy;
        self
    }

    /// The policy for one peer.
    #[must_use]
    pub fn policy_for(mut self, peer: ClusterId, policy: Policy) -> Self {
        self.0.peer_policies.insert(peer, policy);
        self
    }

    /// The form that a peer speaks, where someone knows it. Without it, the
    /// peer's own answers show it.
    #[must_use]
    pub fn peer_version(mut self, peer: ClusterId, version: ProtocolVersion) -> Self {
        self.0.versions.insert(peer, version);
        self
    }

    /// The namespace of tokens, identities and records; `liqo` unless set.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.0.namespace = namespace.into();
        self
    }

    /// The API servers of the peers have publicly trusted certificates, so that
    /// an answer may be without a CA.
    #[must_use]
    pub fn publicly_trusted(mut self) -> Self {
        self.0.is_publicly_trusted = true;
        self
    }

    /// Takes any TLS certificate of an authentication service whose
    /// ForeignCluster says `insecureSkipTLSVerify: true`, with the compatible
    /// policy only: whoever stands in between gets the token.
    #[must_use]
    pub fn skip_tls_verification_where_the_foreign_cluster_says_so(mut self) -> Self {
        self.0.skips_tls_verification = true;
        self
    }

    /// The home cluster.
    pub fn build(self) -> HomeCluster {
        HomeCluster(Arc::new(self.0))
    }
}

impl fmt::Debug for HomeClusterBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HomeClusterBuilder")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}
