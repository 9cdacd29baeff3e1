//! What the provider remembers of a peer: the pinned key, the proof of its
//! handshake, the nonces that are used up.
//!
//! One Secret for each peer in the provider's own namespace, out of the peers'
//! reach, under a seal.

use serde::{Deserialize, Serialize};

use super::{
    HeldCredentials, HeldKey, SigningRate,
    aws_keys::{AccessKey, AwsKeys, SliceKey},
};
use crate::{
    assurance::commitment::Commitment,
    crypto::{Csr, Nonce, PublicKey},
    error::Error,
    machine::{
        Holder,
        sealed::{self, Opened, PROVIDER_RECORD, Seal},
    },
    model::{AwsConfig, Bytes, ClusterId, Secret, TenantCondition, Timestamp},
    policy::Policy,
};

#[derive(Debug, Clone, PartialEq)]
pub(in crate::provider) struct Record {
    /// The pinned key; none once it was released.
    pub(in crate::provider) public_key: Option<PublicKey>,
    pub(in crate::provider) proof: Option<Proof>,
    /// The nonce on offer: the invitation. A nonce that this provider made is
    /// usable only while it is the one on offer.
    pub(in crate::provider) offered: Option<NonceMark>,
    pub(in crate::provider) used: Vec<NonceMark>,
    /// The strictest condition that was seen since it was last lifted.
    pub(in crate::provider) condition: TenantCondition,
    /// How often it was lifted, from the time on at which the record was made:
    /// the token that lifts it serves once.
    pub(in crate::provider) lifts: u64,
    /// The credentials of the control plane.
    pub(in crate::provider) held: HeldCredentials,
    /// When the last of all certificates that were issued has expired, in
    /// seconds since the Unix epoch.
    pub(in crate::provider) certificates_until: Option<i64>,
    /// How many requests of slices were taken of late.
    pub(in crate::provider) signing_rate: SigningRate,
    /// The public parts of the access keys that the control plane has no more,
    /// and of those of its slices.
    pub(in crate::provider) aws: AwsKeys,
}

/// That this key signed this nonce for this request, in this Tenant.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::provider) struct Proof {
    pub(in crate::provider) tenant_uid: String,
    /// SHA-256 of the request's DER.
    pub(in crate::provider) csr: [u8; 32],
    pub(in crate::provider) nonce: Nonce,
    pub(in crate::provider) commitment: Option<StoredCommitment>,
    /// What the approver said of this key and request, in this Tenant.
    pub(in crate::provider) verdict: Option<Verdict>,
}

/// What was said of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::provider) enum Verdict {
    Approved,
    Denied(String),
}

/// A nonce, by the digest of the bytes that it decodes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::provider) struct NonceMark {
    digest: Bytes,
    /// When the nonce expires, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
}

/// A commitment that was made, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::provider) struct StoredCommitment {
    about: Bytes,
    annotation: String,
}

/// The record as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_key: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proof: Option<WrittenProof>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offered: Option<NonceMark>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    used: Vec<NonceMark>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<TenantCondition>,
    #[serde(default)]
    lifts: u64,
    /// Without the access key, which lies beside those of the slices.
    #[serde(flatten)]
    held: HeldCredentials,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificates_until: Option<i64>,
    #[serde(default, skip_serializing_if = "SigningRate::is_unused")]
    signing_rate: SigningRate,
    #[serde(default, skip_serializing_if = "WrittenAwsKeys::is_unused")]
    aws: WrittenAwsKeys,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenAwsKeys {
    #[serde(default)]
    held: HeldKey,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    of_slices: Vec<SliceKey>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<AccessKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenProof {
    tenant_uid: String,
    csr: Bytes,
    nonce: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commitment: Option<StoredCommitment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
}

pub(in crate::provider) fn name(peer: &ClusterId) -> String {
    format!("{PROVIDER_RECORD}{peer}")
}

impl Record {
    /// The first record of a key, or of a peer that needs none. Its liftings are
    /// counted from the present time, so that no token of an earlier record of
    /// the peer, forgotten since, lifts what this one holds.
    pub(in crate::provider) fn new(public_key: Option<PublicKey>, now: Timestamp) -> Self {
        Self {
            public_key,
            proof: None,
            offered: None,
            used: Vec::new(),
            condition: TenantCondition::Active,
            lifts: u64::try_from(now.unix()).unwrap_or(0),
            held: HeldCredentials::default(),
            certificates_until: None,
            signing_rate: SigningRate::default(),
            aws: AwsKeys::default(),
        }
    }

    /// Reads a record whose seal holds.
    pub(in crate::provider) fn open(
        secret: &Secret,
        seal: &Seal<'_>,
    ) -> Result<Opened<Self>, Error> {
        seal.open(secret, Self::read)
    }

    /// The Secret that carries the record, under its seal.
    pub(in crate::provider) fn seal(&self, seal: &Seal<'_>, namespace: &str) -> Secret {
        seal.seal(namespace, name(seal.peer), self.write())
    }

    /// Whether nothing is on record but an invitation: the peer has never come.
    pub(in crate::provider) fn is_invitation(&self) -> bool {
        self.offered.is_some() && self.public_key.is_none() && self.used.is_empty()
    }

    /// Whether the nonce on offer has not expired yet.
    pub(in crate::provider) fn invites(&self, now: Timestamp) -> bool {
        let until = self.offered.as_ref().and_then(|offered| offered.until);
        until.is_some_and(|until| now.unix() < until)
    }

    /// Whether this nonce is the one on offer.
    pub(in crate::provider) fn offers(&self, nonce: &Nonce) -> bool {
        self.offered
            .as_ref()
            .is_some_and(|offered| offered.is_of(nonce))
    }

    pub(in crate::provider) fn has_used(&self, nonce: &Nonce) -> bool {
        // Records of the first edition have the digest of the text.
        let text = nonce.digest();
        let mut used = self.used.iter();
        used.any(|used| used.is_of(nonce) || used.digest.as_slice() == text)
    }

    /// Notes that the nonce has served; what has expired since is forgotten. No
    /// nonce is on offer any more.
    pub(in crate::provider) fn use_up(&mut self, nonce: &Nonce, now: Timestamp) {
        self.offered = None;
        self.used
            .retain(|used| used.until.is_none_or(|until| now.unix() < until));
        if !self.has_used(nonce) {
            self.used.push(NonceMark::of(nonce));
        }
        // An own nonce that is no longer listed is not on offer either. Those
        // that an embedder vouched for come one at a time: the last are enough.
        let surplus = self.used.len().saturating_sub(USED_NONCES);
        self.used.drain(..surplus);
    }

    /// Remembers until when a certificate may hold.
    pub(in crate::provider) fn remember_until(&mut self, until: Timestamp) {
        self.certificates_until = self.certificates_until.max(Some(until.unix()));
    }

    /// Remembers that a holder has this access key, for as long as the key may
    /// open anything.
    pub(in crate::provider) fn remember_key(
        &mut self,
        holder: &Holder,
        csr: &Csr,
        uid: &str,
        config: &AwsConfig,
    ) {
        match holder {
            Holder::ControlPlane => {
                let earlier = self.held.aws.take(csr, uid, config);
                self.aws.supersede(earlier.as_ref(), config);
            }
            Holder::Slice(slice) => self.aws.take_of_slice(slice, uid, config),
        }
    }

    /// Forgets an access key that is deleted; whether it was there.
    pub(in crate::provider) fn forget_key(&mut self, access_key_id: &str) -> bool {
        let was_held = self.held.aws.forget(access_key_id);
        self.aws.forget(access_key_id) || was_held
    }

    /// From when on nothing in the record is needed any more: no certificate
    /// holds, no nonce that served could serve again. Never, while it holds a
    /// condition that only an administrator lifts, or an access key of which
    /// nobody said that it is deleted.
    pub(in crate::provider) fn forgettable_from(&self) -> Option<Timestamp> {
        let used = self.used.iter().filter_map(|used| used.until);
        let last = used
            .chain(self.certificates_until.map(|until| until.saturating_add(1)))
            .max();
        let last = Timestamp::from_unix(last.unwrap_or(0)).ok()?;
        let by_itself = self.condition == TenantCondition::Active
            && self.held.aws.config().is_none()
            && self.aws.is_empty();
        by_itself.then_some(last)
    }

    fn read(text: &[u8]) -> Option<Self> {
        let written: Written = serde_json::from_slice(text).ok()?;
        // The seal says that this was checked before it was written.
        let policy = Policy::compatible();
        let proof = match written.proof {
            None => None,
            Some(proof) => Some(Proof {
                tenant_uid: proof.tenant_uid,
                csr: proof.csr.as_slice().try_into().ok()?,
                nonce: Nonce::parse(proof.nonce.as_slice(), &policy).ok()?,
                commitment: proof.commitment,
                verdict: proof.verdict,
            }),
        };
        let public_key = match written.public_key {
            None => None,
            Some(der) => Some(PublicKey::from_known_spki_der(der.as_slice(), &policy).ok()?),
        };
        Some(Self {
            public_key,
            proof,
            offered: written.offered,
            used: written.used,
            condition: written.condition.unwrap_or(TenantCondition::Active),
            lifts: written.lifts,
            held: HeldCredentials {
                aws: written.aws.held,
                ..written.held
            },
            certificates_until: written.certificates_until,
            signing_rate: written.signing_rate,
            aws: AwsKeys {
                of_slices: written.aws.of_slices,
                superseded: written.aws.superseded,
            },
        })
    }

    fn write(&self) -> Vec<u8> {
        let written = Written {
            public_key: self
                .public_key
                .as_ref()
                .map(|key| Bytes::from(key.spki_der())),
            proof: self.proof.as_ref().map(|proof| WrittenProof {
                tenant_uid: proof.tenant_uid.clone(),
                csr: Bytes::from(proof.csr.as_slice()),
                nonce: Bytes::from(proof.nonce.as_bytes()),
                commitment: proof.commitment.clone(),
                verdict: proof.verdict.clone(),
            }),
            offered: self.offered.clone(),
            used: self.used.clone(),
            condition: (self.condition != TenantCondition::Active).then_some(self.condition),
            lifts: self.lifts,
            held: HeldCredentials {
                aws: HeldKey::default(),
                ..self.held.clone()
            },
            certificates_until: self.certificates_until,
            signing_rate: self.signing_rate.clone(),
            aws: WrittenAwsKeys {
                held: self.held.aws.clone(),
                of_slices: self.aws.of_slices.clone(),
                superseded: self.aws.superseded.clone(),
            },
        };
        // Strings and numbers only: it cannot fail.
        sealed::to_text(&written).unwrap_or_default()
    }
}

impl WrittenAwsKeys {
    fn is_unused(&self) -> bool {
        *self == Self::default()
    }
}

impl NonceMark {
    pub(in crate::provider) fn of(nonce: &Nonce) -> Self {
        Self {
            digest: Bytes::from(nonce.bytes_digest().as_slice()),
            until: nonce.structured().map(|nonce| nonce.expires().unix()),
        }
    }

    fn is_of(&self, nonce: &Nonce) -> bool {
        self.digest.as_slice() == nonce.bytes_digest()
    }
}

impl StoredCommitment {
    pub(in crate::provider) fn new(about: [u8; 32], commitment: &Commitment) -> Self {
        Self {
            about: Bytes::from(about.as_slice()),
            annotation: commitment.to_annotation(),
        }
    }

    pub(in crate::provider) fn is_about(&self, digest: &[u8; 32]) -> bool {
        self.about.as_slice() == digest
    }

    pub(in crate::provider) fn annotation(&self) -> &str {
        &self.annotation
    }
}

/// How many used nonces are listed at most: more than a day's lifetime sees,
/// unless someone replaces the nonce every quarter of an hour.
const USED_NONCES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Entropy;

    /// The first edition wrote the digest of the text.
    #[test]
    fn a_nonce_that_is_marked_by_its_text_is_used() {
        let [used, other] = [1, 2].map(|seed| Nonce::random(&Entropy::from_bytes([seed; 32])));
        let mut record = Record::new(None, Timestamp::EPOCH);
        record.used.push(NonceMark {
            digest: Bytes::from(used.digest().as_slice()),
            until: None,
        });
        assert!(record.has_used(&used));
        assert!(!record.has_used(&other));
    }
}
