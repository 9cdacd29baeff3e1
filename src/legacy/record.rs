//! Secrets of this cluster's own, under a seal.

use std::collections::BTreeMap;

use crate::{
    crypto::RecordKey,
    error::{Error, LocalFault},
    model::{ClusterId, Metadata, Resource, Secret, SecretBytes, names},
};

/// What is kept of the claim of a home cluster: `liqo-auth-legacy-foreign-…`.
pub(super) fn foreign_record_name(peer: &ClusterId) -> String {
    format!("liqo-auth-legacy-foreign-{peer}")
}

/// What is kept of asking a foreign cluster: `liqo-auth-legacy-home-…`.
pub(super) fn home_record_name(peer: &ClusterId) -> String {
    format!("liqo-auth-legacy-home-{peer}")
}

/// The token that one peer was given to come back with:
/// `liqo-auth-origin-token-…`.
pub(super) fn origin_token_name(peer: &ClusterId) -> String {
    format!("liqo-auth-origin-token-{peer}")
}

/// A Secret whose values are sealed, for a peer or for no one.
pub(super) struct Sealed<'a> {
    pub(super) key: &'a RecordKey,
    pub(super) cluster: &'a ClusterId,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl Sealed<'_> {
    /// The Secret with these values.
    pub(super) fn write(
        &self,
        peer: Option<&ClusterId>,
        data: BTreeMap<String, SecretBytes>,
    ) -> Secret {
        let mut labels =
            BTreeMap::from([(names::MANAGED_BY_LABEL.to_owned(), "liqo-auth".to_owned())]);
        if let Some(peer) = peer {
            labels.insert(names::RECORD_PEER_LABEL.to_owned(), peer.to_string());
        }
        let mut secret = Secret {
            metadata: Metadata {
                name: self.name.to_owned(),
                namespace: self.namespace.to_owned(),
                labels,
                ..Metadata::default()
            },
            data,
            ..Secret::default()
        };
        let seal = self.key.mac(SEAL_DOMAIN, &self.parts(&secret));
        secret.data.insert(SEAL.to_owned(), seal.to_vec().into());
        secret
    }

    /// Whether the Secret's values carry this cluster's seal.
    pub(super) fn is_sealed(&self, secret: &Secret) -> bool {
        let seal = secret.get(SEAL).unwrap_or_default();
        self.key.verify(SEAL_DOMAIN, &self.parts(secret), seal)
    }

    /// Refuses a Secret whose values do not carry this cluster's seal.
    pub(super) fn check(&self, secret: &Secret) -> Result<(), Error> {
        if self.is_sealed(secret) {
            return Ok(());
        }
        let id = Some(secret.id());
        Err(Error::new(LocalFault::BrokenSeal, id, "data.seal"))
    }

    fn parts<'s>(&'s self, secret: &'s Secret) -> Vec<&'s [u8]> {
        let mut parts: Vec<&[u8]> = vec![self.cluster.as_str().as_bytes(), self.name.as_bytes()];
        for (key, value) in secret.data.iter().filter(|(key, _)| *key != SEAL) {
            parts.extend([key.as_bytes(), value.expose()]);
        }
        parts
    }
}

const SEAL: &str = "seal";
const SEAL_DOMAIN: &str = "liqo-auth legacy secret v1";
