//! The provider's record of one resource slice: the verified request, the issued
//! certificate, and the decision on its resources. The peer can write the replica
//! of the slice, but not this record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Grant, HeldCredentials, HeldKey};
use crate::{
    crypto::update_part,
    error::Error,
    machine::sealed::{self, Opened, Seal},
    model::{
        Bytes, ClusterId, Hex, Metadata, Quantity, ResourceSlice, ResourceSliceSpec, Secret,
        Timestamp, sparse,
    },
    verify::VerifiedSlice,
};

sparse! {
    []
    [
        /// The record of a slice.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(crate) struct SliceRecord
    ]
    /// The slice's name.
    always pub(crate) slice: String,
    /// The UID of the slice's replica.
    uid: String,
    /// SHA-256 of the request in DER.
    csr: Option<Bytes>,
    /// SHA-256 of the key with which the request was verified.
    key: Option<Bytes>,
    /// When its first certificate was issued, in seconds since the Unix epoch.
    pub(crate) authenticated: Option<i64>,
    /// The credentials of the slice, without an access key.
    #[serde(flatten)]
    always pub(crate) held: HeldCredentials,
    /// The AWS access key in place of a certificate.
    pub(crate) aws: HeldKey,
    pub(crate) decided: Option<Decided>,
    /// When the last certificate of a slice with this name expires, in seconds since
    /// the Unix epoch. Until then, the name is taken.
    certificates_until: Option<i64>,
    /// Whether this side cordoned the slice: by a call, or by the annotation.
    pub(crate) cordoned: bool,
    /// Whether the cordon is lifted, and the annotation may still be on the replica. It is
    /// then no new cordon.
    pub(crate) lifting: bool,
    /// Whether the slice was denied because its peer is drained.
    pub(crate) drained: bool,
}

/// The recorded decision on the resources of a slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decided {
    /// SHA-256 of the class and the resources that the slice requested.
    asked: Bytes,
    pub(crate) outcome: Outcome,
    /// When the resulting condition last changed, in seconds since the Unix epoch.
    pub(crate) at: i64,
    /// What Liqo granted beyond the caps. It counts once a person has confirmed it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) unconfirmed: BTreeMap<String, Quantity>,
}

/// The decision itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Outcome {
    Granted(Box<Grant>),
    Denied {
        reason: String,
        message: String,
    },
    /// Another controller decides on the class.
    NotMine,
}

/// The prefix of the names of slice records.
pub(crate) const NAME_PREFIX: &str = "liqo-auth-slice-";

/// The name of the record. Its length is fixed.
pub(crate) fn name(peer: &ClusterId, slice: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(b"liqo-auth slice record v1\0");
    update_part(&mut hash, peer.as_str().as_bytes());
    update_part(&mut hash, slice.as_bytes());
    format!("{NAME_PREFIX}{}", Hex::first(&hash.finalize(), 16))
}

impl SliceRecord {
    /// A record that contains only the slice's name.
    pub(crate) fn of(slice: &str) -> Self {
        Self {
            slice: slice.to_owned(),
            ..Self::default()
        }
    }

    /// Reads a record, if its seal is valid and its name belongs to its slice.
    pub(crate) fn open(secret: &Secret, seal: &Seal<'_>) -> Result<Opened<Self>, Error> {
        seal.open(secret, |text| {
            let record: Self = serde_json::from_slice(text).ok()?;
            (name(seal.peer, &record.slice) == secret.metadata.name).then_some(record)
        })
    }

    /// The Secret with the sealed record.
    pub(crate) fn seal(&self, seal: &Seal<'_>, namespace: &str) -> Secret {
        // The serialization of strings, numbers and maps of them cannot fail.
        let text = sealed::to_text(self).unwrap_or_default();
        seal.seal(namespace, name(seal.peer, &self.slice), text)
    }

    /// Whether the record contains exactly this replica's request, verified with
    /// this key, and the slice is not drained.
    pub(crate) fn is_of(&self, slice: &ResourceSlice, verified: &VerifiedSlice) -> bool {
        self.uid == slice.metadata.uid
            && !self.drained
            && self.known_csr(verified.public_key.fingerprint().as_bytes())
                == Some(verified.csr.digest())
    }

    /// Whether the record is about a replica. One that is only cordoned has none.
    pub(crate) fn has_replica(&self) -> bool {
        !self.uid.is_empty()
    }

    /// Whether the recorded request is from the replica with this metadata.
    pub(crate) fn is_about(&self, metadata: &Metadata) -> bool {
        self.has_replica() && self.uid == metadata.uid
    }

    /// The last decision on exactly this replica, even if the replica requests
    /// something else now.
    pub(crate) fn decided_of(&self, slice: &ResourceSlice) -> Option<&Decided> {
        let same = self.uid == slice.metadata.uid && !self.drained;
        self.decided.as_ref().filter(|_| same)
    }

    /// The digest of the request that was verified with this key.
    pub(crate) fn known_csr(&self, key: &[u8; 32]) -> Option<[u8; 32]> {
        let same_key = self.key.as_ref()?.as_slice() == key;
        self.any_known_csr().filter(|_| same_key)
    }

    /// The digest of the verified request, with any key. The request contains the
    /// key.
    pub(crate) fn any_known_csr(&self) -> Option<[u8; 32]> {
        self.csr.as_ref()?.as_slice().try_into().ok()
    }

    /// Records this replica's verified request.
    pub(crate) fn take_request(&mut self, slice: &ResourceSlice, verified: &VerifiedSlice) {
        let csr = Bytes::from(verified.csr.digest().as_slice());
        let key = verified.public_key.fingerprint();
        let same_replica = self.uid == slice.metadata.uid;
        let same_request = same_replica && self.csr.as_ref() == Some(&csr);
        // The certificate of another replica does not belong to this one.
        if !same_replica && let Some(issued) = self.held.issued.take() {
            self.remember_until(issued.until());
        }
        if !same_replica || self.drained {
            self.decided = None;
        }
        if !same_request {
            self.authenticated = None;
        }
        self.slice.clone_from(&slice.metadata.name);
        self.uid.clone_from(&slice.metadata.uid);
        self.csr = Some(csr);
        self.key = Some(Bytes::from(key.as_bytes().as_slice()));
        self.held.refused_renewal = None;
        self.drained = false;
    }

    /// Records the time until which a certificate may be valid.
    pub(crate) fn remember_until(&mut self, until: Timestamp) {
        self.certificates_until = self.certificates_until.max(Some(until.unix()));
    }

    /// The time from which no certificate of a slice with this name is valid; `None`
    /// if no certificate was issued. A certificate is still valid in the second of
    /// its notAfter.
    pub(crate) fn unused_from(&self) -> Option<Timestamp> {
        let issued = self.held.issued.as_ref();
        let issued = issued.map(|issued| issued.until().unix());
        let last = self.certificates_until.max(issued)?;
        Timestamp::from_unix(last.saturating_add(1)).ok()
    }

    /// The record of a slice that is gone: the name, the time until which the name
    /// is taken, and the cordon.
    pub(crate) fn tombstone(&self) -> Self {
        let until = self.unused_from();
        Self {
            slice: self.slice.clone(),
            certificates_until: until.map(|until| until.unix().saturating_sub(1)),
            cordoned: self.cordoned,
            ..Self::default()
        }
    }

    /// The recorded decision, if it covers the resources that the slice requests
    /// now.
    pub(crate) fn decision_on(&self, spec: &ResourceSliceSpec) -> Option<&Decided> {
        let decided = self.decided.as_ref()?;
        (decided.asked == asked(spec)).then_some(decided)
    }

    /// What the slice has been granted, unless its peer was drained since.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        let decided = self.decided.as_ref().filter(|_| !self.drained);
        decided.and_then(Decided::grant)
    }

    /// Records a decision on the resources that the slice requests now.
    pub(crate) fn take_decision(
        &mut self,
        spec: &ResourceSliceSpec,
        outcome: Outcome,
        now: Timestamp,
    ) {
        // If the condition does not change, its time does not change either.
        let before = self.decided.as_ref();
        let at = before
            .filter(|before| before.outcome.says_as(&outcome))
            .map_or(now.unix(), |before| before.at);
        self.decided = Some(Decided {
            asked: asked(spec),
            outcome,
            at,
            unconfirmed: BTreeMap::new(),
        });
    }

    /// Records what Liqo has decided on this replica.
    pub(crate) fn take_over(&mut self, slice: &ResourceSlice, decided: &Decided) {
        self.uid.clone_from(&slice.metadata.uid);
        self.decided = Some(decided.clone());
    }

    /// Adds to the grant what a person has confirmed.
    pub(crate) fn confirm(&mut self) {
        if let Some(decided) = &mut self.decided
            && let Outcome::Granted(grant) = &mut decided.outcome
        {
            grant.resources.append(&mut decided.unconfirmed);
        }
    }
}

impl Decided {
    /// The decision of Liqo. `asked_for` is the request that Liqo has decided on. Without it, the
    /// policy decides on the present request, and this decision holds until then.
    pub(crate) fn by_liqo(
        asked_for: Option<&ResourceSliceSpec>,
        grant: Grant,
        unconfirmed: BTreeMap<String, Quantity>,
        now: Timestamp,
    ) -> Self {
        Self {
            asked: asked_for.map(asked).unwrap_or_default(),
            outcome: Outcome::Granted(Box::new(grant)),
            at: now.unix(),
            unconfirmed,
        }
    }

    /// The grant, if this decision grants something.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        match &self.outcome {
            Outcome::Granted(grant) => Some(grant),
            Outcome::Denied { .. } | Outcome::NotMine => None,
        }
    }
}

impl Outcome {
    /// Whether both outcomes result in the same condition.
    fn says_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Granted(_), Self::Granted(_)) => true,
            (one, other) => one == other,
        }
    }
}

fn asked(spec: &ResourceSliceSpec) -> Bytes {
    let mut hash = Sha256::new();
    let resources = spec
        .resources
        .iter()
        .flat_map(|(resource, quantity)| [resource.as_str(), quantity.as_str()]);
    for part in core::iter::once(spec.class.as_str()).chain(resources) {
        update_part(&mut hash, part.as_bytes());
    }
    Bytes::from(hash.finalize().as_slice())
}
