//! Secrets of this cluster's own, under a seal: the records, and the tokens that
//! this cluster made.
//!
//! The seal is HMAC-SHA-256 by the record key over the cluster ID, the Secret's
//! name and each of its values. A Secret of another name is not taken, nor an
//! edited one. Each value keeps its own key, which is where Liqo looks for a
//! token; so the form differs from that of [`crate::machine::sealed`].

use std::collections::BTreeMap;

use crate::{
    crypto::RecordKey,
    error::{Error, LocalFault},
    machine::{
        View,
        plan::{self, RecordWrite},
        record::WorkingRecord,
    },
    model::{ClusterId, Metadata, Resource, Secret, SecretBytes, names},
};

/// What a record keeps, under the keys of its Secret.
pub(super) trait Fields: Clone + PartialEq {
    /// The record; nothing if it is of another version of this library.
    fn read(secret: &Secret) -> Option<Self>;

    /// The values of the Secret.
    fn write(&self) -> BTreeMap<String, SecretBytes>;
}

/// The seal of one Secret.
#[derive(Clone)]
pub(super) struct FieldSeal<'a> {
    pub(super) key: &'a RecordKey,
    /// The cluster that keeps the Secret.
    pub(super) owner: &'a ClusterId,
    pub(super) namespace: &'a str,
    pub(super) name: String,
    /// The peer that the Secret is about; none for the cluster's own token.
    pub(super) peer: Option<&'a ClusterId>,
}

/// The one record that a side keeps of a peer.
#[derive(Clone)]
pub(super) struct Records<'a, T> {
    seal: FieldSeal<'a>,
    /// The working copy.
    pub(super) peer: WorkingRecord<'a, T>,
}

impl<'a, T: Fields> Records<'a, T> {
    /// The record as it was observed.
    pub(super) fn of(seal: FieldSeal<'a>, observed: Option<&'a (&'a Secret, T)>) -> Self {
        let (stored, record) = observed.map(|(stored, record)| (*stored, record)).unzip();
        Self {
            seal,
            peer: WorkingRecord::of(stored, record),
        }
    }
}

impl<T: Fields> plan::Records for Records<'_, T> {
    fn writes(self) -> Vec<RecordWrite> {
        let Self { seal, peer } = self;
        let changed = peer.changed().and_then(|(record, forgets)| {
            RecordWrite::of(seal.seal(record.write()), peer.stored(), forgets)
        });
        changed.into_iter().collect()
    }
}

impl FieldSeal<'_> {
    /// The Secret with these values.
    pub(super) fn seal(&self, data: BTreeMap<String, SecretBytes>) -> Secret {
        let peer = self
            .peer
            .map(|peer| (names::RECORD_PEER_LABEL, peer.as_str()));
        let labels = [(names::MANAGED_BY_LABEL, "liqo-auth")]
            .into_iter()
            .chain(peer)
            .map(|(label, value)| (label.to_owned(), value.to_owned()));
        let mut secret = Secret {
            metadata: Metadata {
                name: self.name.clone(),
                namespace: self.namespace.to_owned(),
                labels: labels.collect(),
                ..Metadata::default()
            },
            data,
            ..Secret::default()
        };
        let seal = self.key.mac(SEAL_DOMAIN, &self.parts(&secret));
        secret.data.insert(SEAL.to_owned(), seal.to_vec().into());
        secret
    }

    /// The record of the seal's name, if there is one.
    ///
    /// # Errors
    /// [`LocalFault::BrokenSeal`], and [`LocalFault::Unreadable`] for a record
    /// of another version of this library.
    pub(super) fn find<'o, T: Fields>(
        &self,
        view: &View<'o>,
    ) -> Result<Option<(&'o Secret, T)>, Error> {
        let Some(secret) = view.find::<Secret>(self.namespace, &self.name)? else {
            return Ok(None);
        };
        self.check(secret)?;
        let record = T::read(secret).ok_or_else(|| {
            let reason = "the record is of another version of this library".to_owned();
            let id = Some(secret.id());
            Error::new(LocalFault::Unreadable { reason }, id, "data")
        })?;
        Ok(Some((secret, record)))
    }

    /// Whether the Secret's values carry this cluster's seal.
    pub(super) fn holds(&self, secret: &Secret) -> bool {
        let seal = secret.get(SEAL).unwrap_or_default();
        self.key.verify(SEAL_DOMAIN, &self.parts(secret), seal)
    }

    /// Refuses a Secret whose values do not carry this cluster's seal.
    pub(super) fn check(&self, secret: &Secret) -> Result<(), Error> {
        if self.holds(secret) {
            return Ok(());
        }
        let id = Some(secret.id());
        Err(Error::new(LocalFault::BrokenSeal, id, "data.seal"))
    }

    fn parts<'s>(&'s self, secret: &'s Secret) -> Vec<&'s [u8]> {
        let mut parts: Vec<&[u8]> = vec![self.owner.as_str().as_bytes(), self.name.as_bytes()];
        for (key, value) in secret.data.iter().filter(|(key, _)| *key != SEAL) {
            parts.extend([key.as_bytes(), value.expose()]);
        }
        parts
    }
}

/// The record of a home cluster's claim: `liqo-auth-legacy-foreign-…`.
pub(super) fn foreign_record_name(peer: &ClusterId) -> String {
    format!("liqo-auth-legacy-foreign-{peer}")
}

/// The record of what a foreign cluster is asked: `liqo-auth-legacy-home-…`.
pub(super) fn home_record_name(peer: &ClusterId) -> String {
    format!("liqo-auth-legacy-home-{peer}")
}

/// The token that one peer was given to come back with:
/// `liqo-auth-origin-token-…`.
pub(super) fn origin_token_name(peer: &ClusterId) -> String {
    format!("liqo-auth-origin-token-{peer}")
}

const SEAL: &str = "seal";
const SEAL_DOMAIN: &str = "liqo-auth legacy secret v1";
