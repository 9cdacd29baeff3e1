//! What the consumer remembers of a provider: the request that it sent, what
//! it pinned the first time, and when which certificate came.
//!
//! One Secret for each peer in the consumer's own namespace, to which no peer
//! has access.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{configuration::Configuration, observed::Observed};
use crate::{
    crypto::{Fingerprint, Nonce},
    error::{Error, LocalFault},
    machine::{self, Holder, Version, plan::RecordWrite, record::WorkingRecord},
    model::{Bytes, ClusterId, Metadata, Resource, Secret, Timestamp, names},
    policy::Policy,
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
    /// Whether the pins were released, and no other Identity has come since.
    pub(super) released: bool,
    /// The certificate of the control plane.
    pub(super) control_plane: Option<Received>,
    /// The certificates of resource slices, by the slices' names.
    pub(super) slices: BTreeMap<String, Received>,
    /// The names of the resource slices that this side asked for.
    pub(super) requested: BTreeSet<String>,
    /// Who renews, as far as the provider has shown it.
    pub(super) renewed_by: Option<RenewedBy>,
    /// How the key before the present one signed it, as the Tenant carries it.
    pub(super) succession: Option<String>,
    /// The UIDs of what is to go, once this side has ended the peering; until
    /// another nonce is signed.
    pub(super) ended: Option<BTreeSet<String>>,
}

/// When a certificate came, and whether the next one was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Received {
    #[serde(with = "fingerprint")]
    pub(super) certificate: Fingerprint,
    pub(super) at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<Asked>,
}

/// A request for the next certificate: there is one for each certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) at: Timestamp,
    /// The answer could not be taken.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(super) unusable: bool,
}

/// Who renews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RenewedBy {
    /// The provider by itself (Liqo 1.2).
    Provider,
    /// The provider on the consumer's request (Liqo 1.0 and 1.1).
    Consumer,
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
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    released: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    control_plane: Option<Received>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    slices: BTreeMap<String, Received>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    requested: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renewed_by: Option<RenewedBy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    succession: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<BTreeSet<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenEndpoint {
    api_server: String,
    ca: Bytes,
}

/// What a call at the consumer changes.
pub(super) type Plan<'a> = machine::plan::Plan<Records<'a>>;

/// The working copy of a provider's record: the consumer's only one.
#[derive(Clone)]
pub(super) struct Records<'a> {
    configuration: &'a Configuration,
    peer: &'a ClusterId,
    record: WorkingRecord<'a, Record>,
}

impl<'a> Records<'a> {
    /// The record as it was observed.
    pub(super) fn of(configuration: &'a Configuration, observed: &'a Observed<'a>) -> Self {
        let stored = observed.record.as_ref();
        Self {
            configuration,
            peer: &observed.peer,
            record: WorkingRecord::of(
                stored.map(|(secret, _)| *secret),
                stored.map(|(_, record)| record),
            ),
        }
    }

    /// Changes the record, which is made if there is none.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Record)) {
        self.record.change_or_make(Record::default, change);
    }
}

impl machine::plan::Records for Records<'_> {
    fn writes(self) -> Vec<RecordWrite> {
        let Some((record, forgets)) = self.record.changed() else {
            return Vec::new();
        };
        let stored = self.record.stored();
        // A record of nothing is not made.
        if stored.is_none() && *record == Record::default() {
            return Vec::new();
        }
        vec![RecordWrite {
            secret: record.to_secret(self.configuration, self.peer),
            over: stored.map(|stored| Version::of(&stored.metadata)),
            forgets,
        }]
    }
}

pub(super) fn name(peer: &ClusterId) -> String {
    format!("{}{peer}", machine::sealed::CONSUMER_RECORD)
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

    pub(super) fn received(&self, holder: &Holder) -> Option<Received> {
        match holder {
            Holder::ControlPlane => self.control_plane,
            Holder::Slice(slice) => self.slices.get(slice).copied(),
        }
    }

    pub(super) fn set_received(&mut self, holder: &Holder, received: Received) {
        match holder {
            Holder::ControlPlane => self.control_plane = Some(received),
            Holder::Slice(slice) => {
                self.slices.insert(slice.clone(), received);
            }
        }
    }

    fn to_secret(&self, configuration: &Configuration, peer: &ClusterId) -> Secret {
        let id = configuration.record_id(peer);
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
            released: written.released,
            control_plane: written.control_plane,
            slices: written.slices,
            requested: written.requested,
            renewed_by: written.renewed_by,
            succession: written.succession,
            ended: written.ended,
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
            released: self.released,
            control_plane: self.control_plane,
            slices: self.slices.clone(),
            requested: self.requested.clone(),
            renewed_by: self.renewed_by,
            succession: self.succession.clone(),
            ended: self.ended.clone(),
        };
        // Strings only: it cannot fail.
        serde_json::to_vec(&written).unwrap_or_default()
    }
}

const RECORD_FIELD: &str = "record";

/// A fingerprint, as people write it.
mod fingerprint {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Fingerprint;

    pub(super) fn serialize<S: Serializer>(
        fingerprint: &Fingerprint,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(fingerprint)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Fingerprint, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
