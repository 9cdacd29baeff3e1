//! The consumer's record of a provider: the certificate request that was sent, the
//! pins of the first Identity, and the time at which each certificate came.
//!
//! Each peer has one record: a Secret in the consumer's own namespace. No peer has
//! access to that namespace.

mod known_slices;
mod reservation;

use core::ops::Not;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::{known_slices::KnownSlices, reservation::Reservation};
use crate::{
    crypto::{Fingerprint, Nonce},
    error::{Error, LocalFault, PeerIncompatible},
    machine::{Holder, plan, record::OneRecord, record_bytes, sealed},
    model::{ClusterId, ObjectRef, Secret, Timestamp, sparse},
    verify::EndpointPins,
};

sparse! {
    []
    [
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct Record
    ]
    /// The certificate request in PEM. It is sent again byte for byte.
    #[serde(with = "record_bytes")]
    pub(super) csr: Option<Vec<u8>>,
    /// The API server and the CA of the first Identity.
    pub(super) endpoint: Option<EndpointPins>,
    /// The provider's key, if the provider has proved one.
    pub(super) provider_key: Option<Fingerprint>,
    /// The nonce that the provider's proof covers. Another nonce may have been
    /// signed since.
    #[serde(with = "record_bytes")]
    pub(super) proven_nonce: Option<Nonce>,
    /// The nonces that were signed before the present one, the latest last. The
    /// provider may still answer one of these nonces. The stored Identity may be
    /// such an answer.
    #[serde(with = "record_bytes::list")]
    pub(super) signed_before: Vec<Nonce>,
    /// The nonces in this library's form that were signed before this side ended a
    /// peering, the latest last. These nonces are not signed again, since an old
    /// message may be delivered again after the provider has answered a later nonce.
    #[serde(with = "record_bytes::list")]
    pub(super) spent: Vec<Nonce>,
    /// Whether the pins were released, and no new Identity has been accepted since.
    pub(super) released: bool,
    /// What was pinned before, while nobody has seen the Identity stored that a guard has let
    /// through.
    pub(super) reserved: Option<Reservation>,
    /// The certificate of the control plane.
    pub(super) control_plane: Option<Received>,
    /// The certificates of resource slices, by the slices' names.
    pub(super) slices: BTreeMap<String, Received>,
    /// The names of the resource slices that this side requested.
    pub(super) requested: BTreeSet<String>,
    /// The resource slices that this side has accepted.
    pub(super) known: Option<KnownSlices>,
    /// Until when the provider could make resource slices. While it can, a time that does not
    /// come.
    pub(super) doubted_until: Option<Timestamp>,
    /// Whether the requested slices get a VirtualNode, by the slices' names. Requests of
    /// earlier versions are not among them.
    pub(super) virtual_nodes: BTreeMap<String, bool>,
    /// The side that renews, if the provider's answers have shown this side.
    pub(super) renewed_by: Option<RenewedBy>,
    /// The succession in the form of the Tenant's annotation: the predecessor's
    /// signature over the present key.
    pub(super) succession: Option<String>,
    /// The UIDs of the objects to delete, after this side has ended the peering. A
    /// new nonce clears them.
    pub(super) ended: Option<BTreeSet<String>>,
}

/// When a certificate came, and whether the next one was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Received {
    pub(super) certificate: Fingerprint,
    pub(super) at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<Asked>,
    /// When the last certificate began that took the place of one that ended later. None that
    /// began before comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) none_before: Option<Timestamp>,
}

/// A request for the next certificate. Each certificate has at most one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Asked {
    pub(super) at: Timestamp,
    /// Whether the answer could not be used.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(super) unusable: bool,
    /// The pinned value from which the unusable answer differed. None if something else was wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) differed_in: Option<Pinned>,
}

/// A value that every later Identity must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Pinned {
    ApiServer,
    Ca,
}

impl Pinned {
    /// The pinned value from which a refused answer differs.
    pub(super) fn of(error: &Error) -> Option<Self> {
        let differs = *error.fault() == PeerIncompatible::EndpointChanged.into();
        let is_ca = error.at().field.ends_with(".ca");
        differs.then_some(if is_ca { Self::Ca } else { Self::ApiServer })
    }

    /// Its field in an Identity.
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::ApiServer => "spec.authParams.apiServer",
            Self::Ca => "spec.authParams.ca",
        }
    }
}

/// The side that starts a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RenewedBy {
    /// The provider renews by itself (Liqo 1.2).
    Provider,
    /// The provider renews on the consumer's request (Liqo 1.0 and 1.1).
    Consumer,
}

impl Record {
    pub(super) fn read(secret: &Secret) -> Result<Self, Error> {
        let text = secret.get(RECORD_FIELD).unwrap_or_default();
        Self::parse(text).ok_or_else(|| {
            let reason = "the content is not a record of this library".to_owned();
            Error::found_in(secret, "data.record", LocalFault::Unreadable { reason })
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

    /// Remembers a nonce that another nonce replaces.
    pub(super) fn remember_signed(&mut self, nonce: Nonce) {
        add(&mut self.signed_before, nonce, SIGNED_BEFORE);
    }

    /// Remembers a nonce of an ended peering. Unmodified Liqo keeps its nonce after
    /// the end of a peering and hands out the same nonce again. So a nonce of Liqo
    /// is not remembered and stays usable.
    pub(super) fn spend(&mut self, nonce: Nonce) {
        if nonce.structured().is_some() {
            add(&mut self.spent, nonce, SPENT);
        }
    }

    /// Whether this nonce was signed before this side ended a peering, and is not signed
    /// again. With `may_peer_again`, the nonce of the last peering is, until another peering
    /// begins. Two nonces are the same if they decode to the same bytes.
    pub(super) fn has_spent(&self, nonce: &Nonce, may_peer_again: bool) -> bool {
        let digest = nonce.bytes_digest();
        let has_ended = self.ended.is_some();
        let spent = match &*self.spent {
            [before @ .., _] if may_peer_again && has_ended => before,
            spent => spent,
        };
        spent.iter().any(|spent| spent.bytes_digest() == digest)
    }

    /// Begins a peering with this nonce.
    pub(super) fn begin(&mut self, nonce: &Nonce) {
        let digest = nonce.bytes_digest();
        self.ended = None;
        self.spent.retain(|spent| spent.bytes_digest() != digest);
    }

    /// The Secret with the record.
    pub(super) fn to_secret(&self, id: ObjectRef, peer: &ClusterId) -> Secret {
        // Cannot fail: every map key is a string.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let data = [(RECORD_FIELD, text.into())];
        Secret::labelled(id.name, id.namespace, sealed::labels(peer), data)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // Every field has a default, so serde would also accept a list.
        let is_map = text.first() == Some(&b'{');
        is_map.then(|| serde_json::from_slice(text).ok())?
    }
}

/// The changes that a call of the consumer plans.
pub(crate) type Plan<'a> = plan::Plan<OneRecord<'a, Record>>;

/// Adds a nonce at the end. If the list then has more than `most` nonces, the first
/// ones are removed.
fn add(nonces: &mut Vec<Nonce>, nonce: Nonce, most: usize) {
    nonces.retain(|earlier| *earlier != nonce);
    nonces.push(nonce);
    let surplus = nonces.len().saturating_sub(most);
    nonces.drain(..surplus);
}

const RECORD_FIELD: &str = "record";
/// The maximum length of `signed_before`. No provider answers more nonces at a time.
const SIGNED_BEFORE: usize = 4;
/// The maximum length of `spent`, enough for the nonces of two peerings. By default,
/// the nonces expire within a day.
const SPENT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, RecordKey, StructuredNonce};

    #[test]
    fn the_latest_nonces_stay_on_record() {
        let (one, other) = ("cl01".parse().unwrap(), "cl02".parse().unwrap());
        let key = RecordKey::new([1; 32]).unwrap();
        let nonces: Vec<Nonce> = (0..17)
            .map(|seed| {
                let entropy = Entropy::from_bytes([seed; 32]);
                StructuredNonce::issue(&one, &other, None, Timestamp::EPOCH, &key, &entropy)
            })
            .collect();
        let mut record = Record::default();
        for nonce in nonces.iter().chain(nonces.last()) {
            record.remember_signed(nonce.clone());
            record.spend(nonce.clone());
        }
        assert_eq!(record.signed_before, nonces[13..]);
        assert_eq!(record.spent, nonces[1..]);
        let strict = |record: &Record, at: usize| record.has_spent(&nonces[at], false);
        assert!(!strict(&record, 0) && strict(&record, 1) && strict(&record, 16));
        // The last one may serve again after an end, until another peering begins.
        let again = |record: &Record, at: usize| record.has_spent(&nonces[at], true);
        assert!(again(&record, 16));
        record.ended = Some(BTreeSet::new());
        assert!(!again(&record, 16) && again(&record, 15) && strict(&record, 16));
        record.begin(&nonces[16]);
        assert!(!strict(&record, 16) && again(&record, 15));
        record.spend(nonces[16].clone());
        record.begin(&nonces[0]);
        assert!(again(&record, 16));
    }
}
