//! How a home cluster is configured.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    crypto::{KeyStore, RecordKey},
    legacy::{TokenProtocol, record::FieldSeal},
    model::{ClusterId, ProtocolVersion, names},
    policy::Policy,
};

/// What the administrator of a home cluster chooses.
#[derive(Debug, Clone)]
pub struct HomeClusterSettings {
    /// Whether the protocol is spoken; [`TokenProtocol::Off`] by default.
    pub protocol: TokenProtocol,
    /// The cluster's name for people, which it tells its peers; its ID by
    /// default.
    pub name: Option<String>,
    /// The policy for all peers; [`Policy::strict`] by default. The form of 0.2
    /// is spoken with the compatible one only.
    pub policy: Policy,
    /// The policies for single peers.
    pub peer_policies: BTreeMap<ClusterId, Policy>,
    /// The forms that single peers speak, where the administrator knows them.
    /// For any other peer, its own answers show the form.
    pub peer_versions: BTreeMap<ClusterId, ProtocolVersion>,
    /// The namespace of tokens, identities and records; `liqo` by default.
    pub namespace: String,
    /// Whether the API servers of the peers have publicly trusted certificates,
    /// so that an answer may be without a CA.
    pub publicly_trusted: bool,
    /// Whether any TLS certificate is taken of an authentication service whose
    /// ForeignCluster says `insecureSkipTLSVerify: true`, with the compatible
    /// policy only. An attacker on the way then gets the token.
    pub skip_tls_verification_where_the_foreign_cluster_says_so: bool,
}

pub(super) struct Configuration {
    pub(super) cluster_id: ClusterId,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) record_key: RecordKey,
    pub(super) settings: HomeClusterSettings,
}

impl Configuration {
    /// The seal of a Secret of this cluster's own, about a peer.
    pub(super) fn seal<'a>(&'a self, name: String, peer: &'a ClusterId) -> FieldSeal<'a> {
        FieldSeal {
            key: &self.record_key,
            owner: &self.cluster_id,
            namespace: &self.settings.namespace,
            name,
            peer: Some(peer),
        }
    }

    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        let settings = &self.settings;
        settings.peer_policies.get(peer).unwrap_or(&settings.policy)
    }

    /// The cluster's name for people.
    pub(super) fn name(&self) -> &str {
        let name = self.settings.name.as_deref();
        name.unwrap_or_else(|| self.cluster_id.as_str())
    }
}

impl Default for HomeClusterSettings {
    fn default() -> Self {
        Self {
            protocol: TokenProtocol::Off,
            name: None,
            policy: Policy::strict(),
            peer_policies: BTreeMap::new(),
            peer_versions: BTreeMap::new(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
            publicly_trusted: false,
            skip_tls_verification_where_the_foreign_cluster_says_so: false,
        }
    }
}
