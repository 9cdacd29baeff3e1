//! Pins that count while their Identity is not stored yet.

use core::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Received, Record};
use crate::{
    crypto::{Fingerprint, Nonce},
    machine::record_bytes,
    model::{Bytes, Identity, Timestamp, sparse},
    verify::EndpointPins,
};

sparse! {
    []
    [
        /// What was pinned before an Identity that others may still refuse.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct Reservation
    ]
    /// SHA-256 of what the Identity says.
    said: Bytes,
    until: Option<Timestamp>,
    endpoint: Option<EndpointPins>,
    provider_key: Option<Fingerprint>,
    #[serde(with = "record_bytes")]
    proven_nonce: Option<Nonce>,
    released: bool,
    control_plane: Option<Received>,
}

impl Record {
    /// Keeps what was pinned before, until this Identity is stored.
    pub(crate) fn reserve(&mut self, identity: &Identity, before: Option<&Self>, now: Timestamp) {
        let none = Self::default();
        let before = before.unwrap_or(&none);
        let pins = |record: &Self| {
            let endpoint = record.endpoint.clone();
            (endpoint, record.provider_key, record.released)
        };
        if self.reserved.is_none() && pins(self) == pins(before) {
            return;
        }
        let kept = self.reserved.take().unwrap_or_else(|| Reservation {
            endpoint: before.endpoint.clone(),
            provider_key: before.provider_key,
            proven_nonce: before.proven_nonce.clone(),
            released: before.released,
            control_plane: before.control_plane,
            ..Reservation::default()
        });
        self.reserved = Some(Reservation {
            said: said(identity),
            until: Some(now + RESERVATION),
            ..kept
        });
    }

    /// As it was before the Identity was let through.
    pub(crate) fn give_back(&mut self) {
        if let Some(before) = self.reserved.take() {
            self.endpoint = before.endpoint;
            self.provider_key = before.provider_key;
            self.proven_nonce = before.proven_nonce;
            self.released = before.released;
            self.control_plane = before.control_plane;
        }
    }
}

impl Reservation {
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    /// Whether the pins are those of this Identity.
    pub(crate) fn is_for(&self, identity: &Identity) -> bool {
        self.said == said(identity)
    }
}

fn said(identity: &Identity) -> Bytes {
    // The serialization of strings and maps of them cannot fail.
    let text = serde_json::to_vec(&identity.spec).unwrap_or_default();
    Bytes::from(Sha256::digest(text).as_slice())
}

/// An API server stores an object within this time after its review.
const RESERVATION: Duration = Duration::from_secs(60);
