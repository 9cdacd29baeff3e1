//! What the consumer remembers of a provider: the request that it sent, and
//! what it pinned the first time.
//!
//! One Secret for each peer in the consumer's own namespace, to which no peer
//! has access.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Consumer;
use crate::{
    crypto::{Fingerprint, Nonce},
    error::{Error, LocalFault},
    model::{Bytes, ClusterId, Metadata, Resource, Secret, names},
    policy::Policy,
    step::{Effect, Version},
    verify::EndpointPins,
};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Record {
    /// The request in PEM, to be sent again byte for byte.
    pub(super) csr: Option<Vec<u8>>,
    /// API server and CA of the first Identity.
    pub(super) endpoint: Option<EndpointPins>,
    /// The provider's key, once it has proved one.
    pub(super) provider_key: Option<Fingerprint>,
    /// The nonce that its proof is about: another one may have been signed
    /// since.
    pub(super) proven_nonce: Option<Nonce>,
}

/// The record as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    csr: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    endpoint: Option<WrittenEndpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proven_nonce: Option<Bytes>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenEndpoint {
    api_server: String,
    ca: Bytes,
}

/// What the names of records begin with.
pub(super) const NAME_PREFIX: &str = "liqo-auth-consumer-";

pub(super) fn name(peer: &ClusterId) -> String {
    format!("{NAME_PREFIX}{peer}")
}

impl Record {
    pub(super) fn read(secret: &Secret) -> Result<Self, Error> {
        let text = secret
            .data
            .get(RECORD_FIELD)
            .map(|text| text.expose())
            .unwrap_or_default();
        Self::parse(text).ok_or_else(|| {
            let reason = "the record's content is not one of this library".to_owned();
            Error::new(
                LocalFault::Unreadable { reason },
                Some(secret.id()),
                "data.record",
            )
        })
    }

    /// The effect that makes this the stored record, if it is another one.
    pub(super) fn store(
        &self,
        consumer: &Consumer,
        stored: Option<&(&Secret, Self)>,
        peer: &ClusterId,
    ) -> Option<Effect> {
        let secret = self.to_secret(consumer, peer);
        match stored {
            None => Some(Effect::Create(secret.into())),
            Some((_, record)) if record == self => None,
            Some((stored, _)) => Some(Effect::Replace {
                object: secret.into(),
                version: Version::of(&stored.metadata),
            }),
        }
    }

    fn to_secret(&self, consumer: &Consumer, peer: &ClusterId) -> Secret {
        let id = consumer.record_id(peer);
        Secret {
            metadata: Metadata {
                name: id.name,
                namespace: id.namespace,
                labels: BTreeMap::from([
                    (names::MANAGED_BY_LABEL.to_owned(), "liqo-auth".to_owned()),
                    (names::RECORD_PEER_LABEL.to_owned(), peer.to_string()),
                ]),
                ..Metadata::default()
            },
            data: BTreeMap::from([(RECORD_FIELD.to_owned(), self.write().into())]),
            ..Secret::default()
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // A list would do for a struct whose fields may all be missing.
        let map = text.first() == Some(&b'{');
        let written: Written = map.then(|| serde_json::from_slice(text).ok())??;
        let endpoint = match written.endpoint {
            None => None,
            Some(endpoint) => Some(EndpointPins {
                api_server: endpoint.api_server,
                ca: endpoint.ca.as_slice().try_into().ok()?,
            }),
        };
        let provider_key = match written.provider_key {
            None => None,
            Some(fingerprint) => Some(fingerprint.parse().ok()?),
        };
        let proven_nonce = match written.proven_nonce {
            None => None,
            // It was checked before it was written.
            Some(text) => Some(Nonce::parse(text.as_slice(), &Policy::compatible()).ok()?),
        };
        Some(Self {
            csr: written.csr.map(|csr| csr.as_slice().to_vec()),
            endpoint,
            provider_key,
            proven_nonce,
        })
    }

    fn write(&self) -> Vec<u8> {
        let written = Written {
            csr: self.csr.as_deref().map(Bytes::from),
            endpoint: self.endpoint.as_ref().map(|endpoint| WrittenEndpoint {
                api_server: endpoint.api_server.clone(),
                ca: Bytes::from(endpoint.ca.as_slice()),
            }),
            provider_key: self.provider_key.map(|fingerprint| fingerprint.to_string()),
            proven_nonce: self
                .proven_nonce
                .as_ref()
                .map(|nonce| Bytes::from(nonce.as_bytes())),
        };
        // Strings only: it cannot fail.
        serde_json::to_vec(&written).unwrap_or_default()
    }
}

const RECORD_FIELD: &str = "record";
