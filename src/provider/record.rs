//! What the provider remembers of a peer: the pinned key, the proof of its
//! handshake, the nonces that are used up.
//!
//! One Secret for each peer in the provider's own namespace, out of the peers'
//! reach, under a seal: HMAC-SHA-256 by the record key over the record and
//! both cluster IDs, so that neither a record of another peer nor an edited
//! one is taken.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    commitment::Commitment,
    crypto::{CertificateChain, Csr, Fingerprint, Nonce, PublicKey, RecordKey},
    error::{Error, LocalFault},
    model::{Bytes, ClusterId, Metadata, Resource, Secret, TenantCondition, Timestamp, names},
    policy::Policy,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    /// The pinned key; none once it was released.
    pub(super) public_key: Option<PublicKey>,
    pub(super) proof: Option<Proof>,
    pub(super) used: Vec<UsedNonce>,
    /// Nonces that expire by then count as used: some were, and are no longer
    /// listed.
    pub(super) all_used_until: Option<i64>,
    /// The strictest condition that was seen since it was last lifted.
    pub(super) condition: TenantCondition,
    /// The certificate that was issued last.
    pub(super) issued: Option<IssuedCertificate>,
}

/// That this key signed this nonce for this request, in this Tenant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Proof {
    pub(super) tenant_uid: String,
    /// SHA-256 of the request's DER.
    pub(super) csr: [u8; 32],
    pub(super) nonce: Nonce,
    pub(super) commitment: Option<StoredCommitment>,
}

/// A certificate that was issued, so that no other is taken for it: the Secret
/// that keeps it lies where the peer can write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IssuedCertificate {
    /// SHA-256 of the certificate in DER.
    leaf: Bytes,
    /// SHA-256 of its request in DER.
    csr: Bytes,
    /// When it was issued by this side's clock, in seconds since the Unix epoch.
    at: i64,
    /// When it expires, in seconds since the Unix epoch.
    until: i64,
    /// SHA-256 of the certificate that it replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<Bytes>,
}

/// A nonce that must not serve again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UsedNonce {
    digest: Bytes,
    /// When it has expired by itself, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
}

/// A commitment that was made, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredCommitment {
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    used: Vec<UsedNonce>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all_used_until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<TenantCondition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issued: Option<IssuedCertificate>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenProof {
    tenant_uid: String,
    csr: Bytes,
    nonce: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commitment: Option<StoredCommitment>,
}

/// What the names of records begin with.
pub(super) const NAME_PREFIX: &str = "liqo-auth-provider-";

pub(super) fn name(peer: &ClusterId) -> String {
    format!("{NAME_PREFIX}{peer}")
}

impl Record {
    /// The first record of a key.
    pub(super) fn pin(public_key: PublicKey) -> Self {
        Self {
            public_key: Some(public_key),
            proof: None,
            used: Vec::new(),
            all_used_until: None,
            condition: TenantCondition::Active,
            issued: None,
        }
    }

    /// Reads a record whose seal holds.
    pub(super) fn open(
        secret: &Secret,
        key: &RecordKey,
        provider: &ClusterId,
        peer: &ClusterId,
    ) -> Result<Self, Error> {
        let field = |name: &str| {
            secret
                .data
                .get(name)
                .map(|value| value.expose())
                .unwrap_or_default()
        };
        let text = field(RECORD_FIELD);
        let parts = [provider.as_str().as_bytes(), peer.as_str().as_bytes(), text];
        if !key.verify(SEAL_DOMAIN, &parts, field(SEAL_FIELD)) {
            return Err(Error::new(
                LocalFault::BrokenSeal,
                Some(secret.id()),
                "data.seal",
            ));
        }
        Self::read(text).ok_or_else(|| {
            let reason = "the record's content is of another version of this library".to_owned();
            Error::new(
                LocalFault::Unreadable { reason },
                Some(secret.id()),
                "data.record",
            )
        })
    }

    /// Whether the record that was opened is to be sealed anew, so that the
    /// predecessors of the record key can go one day.
    pub(super) fn is_sealed_by_predecessor(
        secret: &Secret,
        key: &RecordKey,
        provider: &ClusterId,
        peer: &ClusterId,
    ) -> bool {
        let field = |name: &str| secret.get(name).unwrap_or_default();
        let parts = [
            provider.as_str().as_bytes(),
            peer.as_str().as_bytes(),
            field(RECORD_FIELD),
        ];
        key.is_by_predecessor(SEAL_DOMAIN, &parts, field(SEAL_FIELD))
    }

    /// The Secret that carries the record, under its seal.
    pub(super) fn seal(
        &self,
        key: &RecordKey,
        provider: &ClusterId,
        peer: &ClusterId,
        namespace: &str,
    ) -> Secret {
        let text = self.write();
        let seal = key.mac(
            SEAL_DOMAIN,
            &[
                provider.as_str().as_bytes(),
                peer.as_str().as_bytes(),
                &text,
            ],
        );
        Secret {
            metadata: Metadata {
                name: name(peer),
                namespace: namespace.to_owned(),
                labels: BTreeMap::from([
                    (names::MANAGED_BY_LABEL.to_owned(), "liqo-auth".to_owned()),
                    (names::RECORD_PEER_LABEL.to_owned(), peer.to_string()),
                ]),
                ..Metadata::default()
            },
            data: BTreeMap::from([
                (RECORD_FIELD.to_owned(), text.into()),
                (SEAL_FIELD.to_owned(), seal.to_vec().into()),
            ]),
            ..Secret::default()
        }
    }

    pub(super) fn has_used(&self, nonce: &Nonce) -> bool {
        let expires = nonce.structured().map(|nonce| nonce.expires().unix());
        let digest = nonce.digest();
        matches!((expires, self.all_used_until), (Some(expires), Some(until)) if expires <= until)
            || self
                .used
                .iter()
                .any(|used| used.digest.as_slice() == digest)
    }

    /// The expiry for a new nonce that this record does not count as used
    /// already.
    pub(super) fn unused_from(&self, expires: Timestamp) -> Timestamp {
        let after = self
            .all_used_until
            .and_then(|until| Timestamp::from_unix(until.saturating_add(1)).ok());
        after.map_or(expires, |after| expires.max(after))
    }

    /// Notes that the nonce has served; what has expired since is forgotten.
    pub(super) fn use_up(&mut self, nonce: &Nonce, now: Timestamp) {
        self.used
            .retain(|used| used.until.is_none_or(|until| now.unix() < until));
        if !self.has_used(nonce) {
            self.used.push(UsedNonce {
                digest: Bytes::from(nonce.digest().as_slice()),
                until: nonce.structured().map(|nonce| nonce.expires().unix()),
            });
        }
        // Those that an embedder vouched for have no expiry, and come one at a
        // time: of them the last are enough.
        let surplus = self.used.len().saturating_sub(USED_NONCES);
        let dropped = self.used.drain(..surplus);
        self.all_used_until = dropped
            .filter_map(|used| used.until)
            .chain(self.all_used_until)
            .max()
            .filter(|until| now.unix() < *until);
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
            }),
        };
        let public_key = match written.public_key {
            None => None,
            Some(der) => Some(PublicKey::from_known_spki_der(der.as_slice(), &policy).ok()?),
        };
        Some(Self {
            public_key,
            proof,
            used: written.used,
            all_used_until: written.all_used_until,
            condition: written.condition.unwrap_or(TenantCondition::Active),
            issued: written.issued,
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
            }),
            used: self.used.clone(),
            all_used_until: self.all_used_until,
            condition: (self.condition != TenantCondition::Active).then_some(self.condition),
            issued: self.issued.clone(),
        };
        // Strings and numbers only: it cannot fail.
        serde_json::to_vec(&written).unwrap_or_default()
    }
}

impl IssuedCertificate {
    pub(super) fn new(
        chain: &CertificateChain,
        csr: &Csr,
        replaced: Option<Fingerprint>,
        now: Timestamp,
    ) -> Self {
        let leaf = chain.leaf();
        Self {
            leaf: Bytes::from(leaf.fingerprint().as_bytes().as_slice()),
            csr: Bytes::from(csr.digest().as_slice()),
            at: now.unix(),
            until: leaf.not_after().unix(),
            replaced: replaced.map(|leaf| Bytes::from(leaf.as_bytes().as_slice())),
        }
    }

    pub(super) fn is(&self, chain: &CertificateChain, csr: &Csr) -> bool {
        self.leaf.as_slice() == chain.leaf().fingerprint().as_bytes()
            && self.csr.as_slice() == csr.digest()
    }

    /// The certificate that the next one for this request replaces: this one
    /// once it has expired, and until then whatever this one replaced, so that
    /// asking again is asking for the same.
    pub(super) fn next_replaces(&self, csr: &Csr, now: Timestamp) -> Option<Fingerprint> {
        let same_request = self.csr.as_slice() == csr.digest() && now.unix() <= self.until;
        let replaced = if same_request {
            self.replaced.as_ref()?
        } else {
            &self.leaf
        };
        let bytes: [u8; 32] = replaced.as_slice().try_into().ok()?;
        Some(Fingerprint::from_bytes(bytes))
    }
}

impl StoredCommitment {
    pub(super) fn new(about: [u8; 32], commitment: &Commitment) -> Self {
        Self {
            about: Bytes::from(about.as_slice()),
            annotation: commitment.to_annotation(),
        }
    }

    pub(super) fn is_about(&self, digest: &[u8; 32]) -> bool {
        self.about.as_slice() == digest
    }

    pub(super) fn annotation(&self) -> &str {
        &self.annotation
    }
}

const RECORD_FIELD: &str = "record";
const SEAL_FIELD: &str = "seal";
const SEAL_DOMAIN: &str = "liqo-auth provider record v1";
/// How many used nonces are listed at most: more than a day's lifetime sees,
/// unless someone replaces it every quarter of an hour.
const USED_NONCES: usize = 96;
