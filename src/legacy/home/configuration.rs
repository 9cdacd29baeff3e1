//! The configuration of a home cluster.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    crypto::{KeyStore, RecordKey},
    error::{ApiMisuse, Error, PolicyRefusal},
    legacy::{TokenProtocol, record::FieldSeal},
    model::{ClusterId, NamespaceName, ProtocolVersion, names},
    policy::Policy,
};

/// The settings of a home cluster.
#[derive(Debug, Clone, Default)]
pub struct HomeClusterSettings {
    /// Whether the protocol is on; [`TokenProtocol::Off`] by default.
    pub protocol: TokenProtocol,
    /// The cluster's display name, which is sent to its peers; its ID by default.
    pub name: Option<String>,
    /// The policy for all peers; [`Policy::strict`] by default. Only the compatible
    /// policy allows the form of 0.2.
    pub policy: Policy,
    /// The protocol forms of single peers, if the administrator knows them. For any
    /// other peer, the peer's own answers show the form.
    pub peer_versions: BTreeMap<ClusterId, ProtocolVersion>,
    /// The namespace of tokens, identities and records; `liqo` by default.
    pub namespace: Option<NamespaceName>,
    /// Whether the peers' API servers have publicly trusted certificates, so that an
    /// answer does not need a CA.
    pub publicly_trusted: bool,
    /// Whether the TLS certificate of an authentication service is not verified if
    /// its ForeignCluster says `insecureSkipTLSVerify: true`. The setting has an effect
    /// with the compatible policy only. Without the verification, an attacker in the
    /// middle gets the token.
    pub skip_tls_verification_where_the_foreign_cluster_says_so: bool,
}

pub(super) struct Configuration {
    pub(super) cluster_id: ClusterId,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) record_key: RecordKey,
    pub(super) settings: HomeClusterSettings,
}

impl Configuration {
    /// The seal of one of this cluster's own Secrets about a peer.
    pub(super) fn seal<'a>(&'a self, name: String, peer: &'a ClusterId) -> FieldSeal<'a> {
        FieldSeal {
            key: &self.record_key,
            owner: &self.cluster_id,
            namespace: self.namespace(),
            name,
            peer: Some(peer),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        let namespace = self.settings.namespace.as_ref();
        namespace.map_or(names::LIQO_NAMESPACE, NamespaceName::as_str)
    }

    /// The cluster's display name.
    pub(super) fn name(&self) -> &str {
        let name = self.settings.name.as_deref();
        name.unwrap_or_else(|| self.cluster_id.as_str())
    }

    pub(super) fn check_protocol(&self) -> Result<(), Error> {
        match self.settings.protocol {
            TokenProtocol::Off => Err(Error::new(PolicyRefusal::TokenProtocolOff, None, "")),
            TokenProtocol::TrustWhoeverHoldsTheToken => Ok(()),
        }
    }

    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        Ok(())
    }
}
