//! The provider's record of a peer: the pinned key, the proof of the handshake, the
//! used nonces.
//!
//! Each peer has one sealed Secret in the provider's own namespace, to which no
//! peer has access.

use core::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{HeldCredentials, OtherName, SigningRate, aws_keys::AwsKeys};
use crate::{
    assurance::key_and_signature::KeyAndSignature,
    crypto::{Fingerprint, Nonce, PublicKey},
    error::Error,
    machine::{
        record_bytes,
        sealed::{self, Opened, Seal},
    },
    model::{Bytes, Secret, Tenant, TenantCondition, Timestamp, names, sparse},
};

sparse! {
    []
    [
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(crate) struct Record
    ]
    /// The pinned key; `None` before the first proof and after a release.
    #[serde(with = "record_bytes")]
    pub(crate) public_key: Option<PublicKey>,
    pub(crate) proof: Option<Proof>,
    /// While the Tenant of the proof is not stored yet: until when the key counts as pinned, in
    /// seconds since the Unix epoch.
    pub(crate) reserved_until: Option<i64>,
    /// The offered nonce, which is the invitation. A nonce of this provider is
    /// usable only while it is the offered one.
    pub(crate) offered: Option<Offer>,
    pub(crate) used: Vec<NonceMark>,
    /// The nonce of the peering that has ended, while it serves again.
    pub(crate) again: Option<Again>,
    /// The Tenant by which the peer is let in, if its name is not the peer's ID.
    pub(crate) other_name: Option<OtherName>,
    /// The RSA key of a Tenant that was refused before any key was pinned.
    pub(crate) tested_key: Option<TestedKey>,
    /// The strictest condition since the last lift.
    pub(crate) condition: TenantCondition,
    /// A counter of the lifts. It starts at the Unix time at which the record was
    /// made. The MAC of a lift token covers the counter, so that the token is valid
    /// only once.
    always pub(crate) lifts: u64,
    /// The credentials of the control plane, without an access key.
    #[serde(flatten)]
    always pub(crate) held: HeldCredentials,
    /// The time at which the last of all issued certificates expires, in seconds
    /// since the Unix epoch.
    pub(crate) certificates_until: Option<i64>,
    /// The rate limit for the requests of the peer's slices.
    pub(crate) signing_rate: SigningRate,
    /// The access key of the control plane, and the public parts of the replaced
    /// keys and of the keys of the peer's slices.
    pub(crate) aws: AwsKeys,
}

/// The proof that the pinned key signed this nonce for this request in this Tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    pub(crate) tenant_uid: String,
    /// SHA-256 of the request's DER.
    #[serde(with = "record_bytes")]
    pub(crate) csr: [u8; 32],
    #[serde(with = "record_bytes")]
    pub(crate) nonce: Nonce,
    /// SHA-256 of the Tenant's signature over the nonce. Records of earlier versions do
    /// not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commitment: Option<StoredCommitment>,
    /// The approver's verdict on this proof: on this key, request, Tenant and nonce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Verdict>,
    /// Whether nothing has happened in this peering after which its nonce never serves again.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) may_serve_again: bool,
    /// Whether the next peering gets a certificate of its own.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) ends_certificate: bool,
}

/// A nonce that serves again: for the pinned key, and for a Tenant with another UID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Again {
    #[serde(with = "record_bytes")]
    pub(crate) nonce: Nonce,
    /// The UID of the Tenant whose peering has ended.
    pub(crate) tenant_uid: String,
    /// Until when, in seconds since the Unix epoch.
    until: i64,
}

/// An RSA key, and whether its modulus is composite. The result is recorded, because
/// the test takes milliseconds and a refused Tenant may stay for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestedKey {
    pub(crate) key: Fingerprint,
    pub(crate) is_composite: bool,
}

/// The approver's verdict on a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Verdict {
    Approved,
    Denied(String),
}

/// The offered nonce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offer {
    #[serde(flatten)]
    mark: NonceMark,
    /// The nonce itself. Records of earlier versions have only its mark.
    #[serde(
        default,
        with = "record_bytes",
        skip_serializing_if = "Option::is_none"
    )]
    nonce: Option<Nonce>,
}

/// A nonce, identified by the digest of its decoded bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NonceMark {
    digest: Bytes,
    /// When the nonce expires, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
}

/// A signed commitment, and the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredCommitment {
    about: Bytes,
    annotation: String,
}

impl Record {
    /// A new record with the pinned key, if there is one. The counter of lifts
    /// starts at the present time, so that no token for an earlier, deleted record
    /// of the peer lifts a condition of this one.
    pub(crate) fn new(public_key: Option<PublicKey>, now: Timestamp) -> Self {
        Self {
            public_key,
            lifts: u64::try_from(now.unix()).unwrap_or(0),
            ..Self::default()
        }
    }

    /// Reads a record, if its seal is valid.
    pub(crate) fn open(secret: &Secret, seal: &Seal<'_>) -> Result<Opened<Self>, Error> {
        seal.open(secret, |text| serde_json::from_slice(text).ok())
    }

    /// The Secret with the sealed record.
    pub(crate) fn seal(&self, seal: &Seal<'_>, namespace: &str) -> Secret {
        // The serialization of strings, numbers and maps of them cannot fail.
        let text = sealed::to_text(self).unwrap_or_default();
        seal.seal(namespace, names::provider_record(seal.peer), text)
    }

    /// The UID of the Tenant by which the peer is let in.
    pub(crate) fn tenant_uid(&self) -> Option<&str> {
        let other = self.other_name.as_ref().map(|other| other.uid.as_str());
        let proof = self.proof.as_ref().map(|proof| proof.tenant_uid.as_str());
        other.or(proof)
    }

    /// Whether the record contains only an invitation, and the peer has not used it
    /// yet.
    pub(crate) fn is_invitation(&self) -> bool {
        self.offered.is_some() && self.public_key.is_none() && self.used.is_empty()
    }

    /// Whether a nonce is offered and has not expired yet.
    pub(crate) fn invites(&self, now: Timestamp) -> bool {
        let until = self.offered.as_ref().and_then(|offer| offer.mark.until);
        until.is_some_and(|until| now.unix() < until)
    }

    /// The offered nonce, if it has not expired yet.
    pub(crate) fn offered_nonce(&self, now: Timestamp) -> Option<&Nonce> {
        let nonce = self.offered.as_ref()?.nonce.as_ref();
        nonce.filter(|_| self.invites(now))
    }

    /// Whether this nonce is the offered one.
    pub(crate) fn offers(&self, nonce: &Nonce) -> bool {
        let offered = self.offered.as_ref();
        offered.is_some_and(|offer| offer.mark.digest.as_slice() == nonce.bytes_digest())
    }

    pub(crate) fn has_used(&self, nonce: &Nonce) -> bool {
        if self.used.is_empty() {
            return false;
        }
        // Records in the first format hold the digest of the nonce's text.
        let (bytes, text) = (nonce.bytes_digest(), nonce.digest());
        let mut used = self.used.iter().map(|used| used.digest.as_slice());
        used.any(|used| used == bytes || used == text)
    }

    /// Ends the proof. The nonce of a peering that was approved serves again within this time,
    /// or as long as it is valid, unless the time is `None`.
    pub(crate) fn end_proof(&mut self, within: Option<Duration>, now: Timestamp) {
        let Some(proof) = self.proof.take() else {
            return;
        };
        if proof.ends_certificate {
            self.forget_certificate();
        }
        let within = within.filter(|_| {
            proof.may_serve_again
                && proof.verdict == Some(Verdict::Approved)
                && self.condition < TenantCondition::Drained
        });
        self.again = within.map(|within| Again {
            until: (now + within)
                .max(proof.nonce.expires().unwrap_or(now))
                .unix(),
            nonce: proof.nonce,
            tenant_uid: proof.tenant_uid,
        });
    }

    /// From now on, the nonce of this peering, or of the one that has ended, does not serve
    /// again.
    pub(crate) fn end_for_good(&mut self) {
        self.again = None;
        if let Some(proof) = &mut self.proof {
            proof.may_serve_again = false;
        }
    }

    /// The next peering does not get the certificate that is in force, nor one that this peering
    /// gets before its Tenant is gone.
    pub(crate) fn end_certificate(&mut self) {
        self.forget_certificate();
        if let Some(proof) = &mut self.proof {
            proof.ends_certificate = true;
        }
    }

    /// Forgets the certificate in force. It counts as valid until it expires.
    fn forget_certificate(&mut self) {
        if let Some(issued) = self.held.issued.take() {
            self.remember_until(issued.until());
        }
    }

    /// The nonce that serves again, if there is one.
    pub(crate) fn serves_again(&self, now: Timestamp) -> Option<&Again> {
        let again = self.again.as_ref();
        again.filter(|again| self.public_key.is_some() && now.unix() < again.until)
    }

    /// Marks the nonce as used, forgets the expired nonces, and ends the offer.
    pub(crate) fn use_up(&mut self, nonce: &Nonce, now: Timestamp) {
        self.offered = None;
        self.again = None;
        self.used
            .retain(|used| used.until.is_none_or(|until| now.unix() < until));
        if !self.has_used(nonce) {
            self.used.push(NonceMark::of(nonce));
        }
        // The list may lose a nonce of this provider, since such a nonce is usable
        // only while it is offered. For other nonces, the embedder vouches for one
        // nonce at a time, so the latest ones are enough.
        let surplus = self.used.len().saturating_sub(USED_NONCES);
        self.used.drain(..surplus);
    }

    /// The nonce counts as unused again.
    pub(super) fn forget_use(&mut self, nonce: &Nonce) {
        let digest = nonce.bytes_digest();
        self.used.retain(|used| used.digest.as_slice() != digest);
    }

    /// Records the time until which a certificate may be valid.
    pub(crate) fn remember_until(&mut self, until: Timestamp) {
        self.certificates_until = self.certificates_until.max(Some(until.unix()));
    }

    /// The annotation with the commitment for the recorded proof.
    pub(crate) fn commitment(&self) -> Option<&str> {
        Some(self.proof.as_ref()?.commitment.as_ref()?.annotation())
    }

    /// The time from which the record is no longer needed. Then all certificates and
    /// all used nonces have expired. `None` if the record contains a condition,
    /// which only an administrator lifts, or an access key whose deletion is not
    /// confirmed.
    pub(crate) fn forgettable_from(&self) -> Option<Timestamp> {
        let used = self.used.iter().filter_map(|used| used.until);
        let again = self.again.iter().map(|again| again.until);
        let last = used
            .chain(again)
            .chain(self.certificates_until.map(|until| until.saturating_add(1)))
            .max();
        let last = Timestamp::from_unix(last.unwrap_or(0)).ok()?;
        let by_itself = self.condition == TenantCondition::Active && self.aws.is_empty();
        by_itself.then_some(last)
    }
}

impl Again {
    /// When the nonce stops to serve.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        Timestamp::from_unix(self.until).ok()
    }

    /// Whether this is the nonce.
    pub(crate) fn is(&self, nonce: &Nonce) -> bool {
        self.nonce.bytes_digest() == nonce.bytes_digest()
    }
}

impl Proof {
    /// Whether the Tenant has the signature that was verified for this proof.
    pub(crate) fn has_signature_of(&self, tenant: &Tenant) -> bool {
        self.signature == Some(signature_digest(tenant))
    }
}

/// The digest by which a proof recognises the Tenant's signature.
pub(crate) fn signature_digest(tenant: &Tenant) -> Bytes {
    let digest = Sha256::digest(tenant.spec.signature.as_slice());
    Bytes::from(digest.as_slice())
}

impl Offer {
    pub(crate) fn of(nonce: &Nonce) -> Self {
        Self {
            mark: NonceMark::of(nonce),
            nonce: Some(nonce.clone()),
        }
    }

    /// Whether the offered nonce is this one.
    pub(super) fn is(&self, mark: &NonceMark) -> bool {
        self.mark.digest == mark.digest
    }
}

impl NonceMark {
    fn of(nonce: &Nonce) -> Self {
        Self {
            digest: Bytes::from(nonce.bytes_digest().as_slice()),
            until: nonce.expires().map(Timestamp::unix),
        }
    }
}

impl StoredCommitment {
    pub(crate) fn new(about: [u8; 32], commitment: &KeyAndSignature) -> Self {
        Self {
            about: Bytes::from(about.as_slice()),
            annotation: commitment.to_annotation(),
        }
    }

    pub(crate) fn is_about(&self, digest: &[u8; 32]) -> bool {
        self.about.as_slice() == digest
    }

    pub(crate) fn annotation(&self) -> &str {
        &self.annotation
    }
}

/// The maximum number of used nonces on record. With a nonce lifetime of one day,
/// this is one nonce every 15 minutes.
const USED_NONCES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, SigningKey};

    /// The first format holds the digest of the nonce's text.
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

    #[test]
    fn a_used_nonce_is_forgotten_when_it_has_expired() {
        let [old, other, new] =
            [1, 2, 3].map(|seed| Nonce::random(&Entropy::from_bytes([seed; 32])));
        let mut record = Record::new(None, Timestamp::EPOCH);
        for (nonce, until) in [(&old, Some(10)), (&other, None)] {
            record.used.push(NonceMark {
                digest: Bytes::from(nonce.bytes_digest().as_slice()),
                until,
            });
        }
        let [before, at_end] = [9, 10].map(|unix| Timestamp::from_unix(unix).unwrap());
        record.use_up(&new, before);
        assert!(record.has_used(&old) && record.has_used(&other) && record.has_used(&new));
        record.use_up(&new, at_end);
        assert!(!record.has_used(&old));
        // The record does not contain the expiry of this nonce.
        assert!(record.has_used(&other) && record.has_used(&new));
    }

    #[test]
    fn a_record_stays_until_no_certificate_and_no_used_nonce_is_valid() {
        let mut record = Record::new(None, Timestamp::EPOCH);
        for (seed, until) in [(1, Some(70)), (2, Some(100)), (3, None)] {
            record.used.push(NonceMark {
                until,
                ..NonceMark::of(&Nonce::random(&Entropy::from_bytes([seed; 32])))
            });
        }
        // A certificate is still valid in its last second.
        for (certificates_until, from) in [(None, 100), (Some(50), 100), (Some(100), 101)] {
            record.certificates_until = certificates_until;
            assert_eq!(record.forgettable_from(), Timestamp::from_unix(from).ok());
        }
    }

    #[test]
    fn the_latest_used_nonces_stay_on_record() {
        let nonces: Vec<Nonce> = (0..98)
            .map(|seed| Nonce::random(&Entropy::from_bytes([seed; 32])))
            .collect();
        let mut record = Record::new(None, Timestamp::EPOCH);
        for nonce in &nonces {
            record.use_up(nonce, Timestamp::EPOCH);
            record.use_up(nonce, Timestamp::EPOCH);
        }
        let [first, second, third, ..] = &nonces[..] else {
            panic!("98 nonces were used");
        };
        assert!(!record.has_used(first) && !record.has_used(second));
        assert!(record.has_used(third));
        assert_eq!(record.used.len(), 96);
    }

    #[test]
    fn an_invitation_is_a_nonce_on_offer_to_an_unknown_peer() {
        let [offered, used] = [1, 2].map(|seed| Nonce::random(&Entropy::from_bytes([seed; 32])));
        let mut record = Record::new(None, Timestamp::EPOCH);
        assert!(!record.is_invitation());
        record.offered = Some(Offer::of(&offered));
        assert!(record.is_invitation());

        let mut known = record.clone();
        let key = KeyPair::from_entropy(&Entropy::from_bytes([3; 32]));
        known.public_key = Some(key.public_key().clone());
        assert!(!known.is_invitation());
        record.used.push(NonceMark::of(&used));
        assert!(!record.is_invitation());
    }

    /// Earlier versions hold only the mark of the nonce on offer.
    #[test]
    fn an_offer_without_its_nonce_is_read() {
        let nonce = Nonce::random(&Entropy::from_bytes([1; 32]));
        let digest = Bytes::from(nonce.bytes_digest().as_slice());
        let text = serde_json::json!({"offered": {"digest": digest, "until": 10}});
        let record: Record = serde_json::from_value(text).unwrap();
        let [before, at_end] = [9, 10].map(|unix| Timestamp::from_unix(unix).unwrap());
        assert!(record.offers(&nonce) && record.invites(before));
        assert!(!record.invites(at_end));
        assert_eq!(record.offered_nonce(before), None);
    }
}
