//! Sealed Secrets in this cluster's own namespace: the records, and the tokens that
//! this cluster made.
//!
//! The seal is an HMAC-SHA-256 with the record key over the cluster ID, the Secret's
//! name and each of its keys and values. A Secret that was renamed or edited is
//! refused. Each value has a separate field of the Secret, because Liqo looks for a
//! token in the field `token`. So the form differs from that of
//! [`crate::machine::sealed`].

use std::collections::BTreeMap;

use crate::{
    crypto::RecordKey,
    error::{Error, LocalFault},
    machine::{View, plan, record::OneRecord},
    model::{ClusterId, Secret, SecretBytes, names},
};

/// The content of a record, under the keys of its Secret.
pub(super) trait Fields: Clone + PartialEq {
    /// The record, or `None` if another version of this library wrote it.
    fn read(secret: &Secret) -> Option<Self>;

    /// The values of the Secret.
    fn write(&self) -> BTreeMap<String, SecretBytes>;
}

/// The seal of one Secret.
#[derive(Clone)]
pub(super) struct FieldSeal<'a> {
    pub(super) key: &'a RecordKey,
    /// The cluster that owns the Secret.
    pub(super) owner: &'a ClusterId,
    pub(super) namespace: &'a str,
    pub(super) name: String,
    /// The peer to which the Secret belongs. `None` for the cluster's own token.
    pub(super) peer: Option<&'a ClusterId>,
}

impl<'a> FieldSeal<'a> {
    /// The plan of a call that changes the record with this seal.
    pub(super) fn plan<T: Fields>(
        self,
        observed: Option<&'a (&'a Secret, T)>,
    ) -> plan::Plan<OneRecord<'a, T>> {
        plan::Plan::new(OneRecord::of(observed, move |record: &T| {
            Some(self.seal(record.write()))
        }))
    }

    /// The sealed Secret with these values.
    pub(super) fn seal(&self, data: BTreeMap<String, SecretBytes>) -> Secret {
        let labels = [(names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO_AUTH)];
        let mut secret = Secret::labelled(self.name.as_str(), self.namespace, labels, []);
        if let Some(peer) = self.peer {
            let label = names::RECORD_PEER_LABEL.to_owned();
            secret.metadata.labels.insert(label, peer.to_string());
        }
        secret.data = data;
        let seal = self.key.mac(SEAL_DOMAIN, &self.parts(&secret));
        secret.data.insert(SEAL.to_owned(), seal.to_vec().into());
        secret
    }

    /// The record with the seal's name, if it exists.
    ///
    /// # Errors
    /// [`LocalFault::BrokenSeal`], and [`LocalFault::Unreadable`] for a record of
    /// another version of this library.
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
            Error::found_in(secret, "data", LocalFault::Unreadable { reason })
        })?;
        Ok(Some((secret, record)))
    }

    /// Whether the Secret has a valid seal of this cluster.
    pub(super) fn holds(&self, secret: &Secret) -> bool {
        let seal = secret.get(SEAL).unwrap_or_default();
        self.key.verify(SEAL_DOMAIN, &self.parts(secret), seal)
    }

    /// Refuses a Secret without a valid seal of this cluster.
    pub(super) fn check(&self, secret: &Secret) -> Result<(), Error> {
        if self.holds(secret) {
            return Ok(());
        }
        Err(Error::found_in(secret, "data.seal", LocalFault::BrokenSeal))
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

/// The record of the requests to a foreign cluster: `liqo-auth-legacy-home-…`.
pub(super) fn home_record_name(peer: &ClusterId) -> String {
    format!("liqo-auth-legacy-home-{peer}")
}

/// The origin token, with which one peer may request an identity from this
/// cluster: `liqo-auth-origin-token-…`.
pub(super) fn origin_token_name(peer: &ClusterId) -> String {
    format!("liqo-auth-origin-token-{peer}")
}

const SEAL: &str = "seal";
const SEAL_DOMAIN: &str = "liqo-auth legacy secret v1";
