//! A record as a Secret: its text, and a seal that only this cluster can make.
//!
//! The seal is HMAC-SHA-256 with the record key over a domain, both cluster IDs
//! and the text. A record of another peer, or an edited one, is refused.

use std::{collections::BTreeMap, io};

use serde::Serialize;

use crate::{
    crypto::{RecordKey, SealMaker},
    error::{Error, LocalFault},
    model::{ClusterId, Metadata, Secret, names},
};

/// The key and the context of a record's seal.
#[derive(Clone, Copy)]
pub(crate) struct Seal<'a> {
    pub(crate) key: &'a RecordKey,
    /// The kind of record.
    pub(crate) domain: &'static str,
    /// The cluster that keeps the record.
    pub(crate) owner: &'a ClusterId,
    pub(crate) peer: &'a ClusterId,
}

/// A record whose seal was verified.
#[derive(Debug, Clone)]
pub(crate) struct Opened<T> {
    pub(crate) record: T,
    /// Whether an earlier record key made the seal. Such a record is sealed again,
    /// so that an administrator can later remove the earlier key.
    pub(crate) is_stale: bool,
}

impl Seal<'_> {
    /// The Secret with the text and its seal.
    pub(crate) fn seal(&self, namespace: &str, name: String, text: Vec<u8>) -> Secret {
        let seal = self.key.mac(self.domain, &self.parts(&text));
        Secret {
            metadata: metadata(name, namespace, self.peer),
            data: BTreeMap::from([
                (RECORD_FIELD.to_owned(), text.into()),
                (SEAL_FIELD.to_owned(), seal.to_vec().into()),
            ]),
            ..Secret::default()
        }
    }

    /// The record, if its seal verifies and its text can be read.
    pub(crate) fn open<T>(
        &self,
        secret: &Secret,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Opened<T>, Error> {
        let text = secret.get(RECORD_FIELD).unwrap_or_default();
        let seal = secret.get(SEAL_FIELD).unwrap_or_default();
        let broken = || Error::found_in(secret, "data.seal", LocalFault::BrokenSeal);
        let maker = self.key.maker_of(self.domain, &self.parts(text), seal);
        let maker = maker.ok_or_else(broken)?;
        let record = read(text).ok_or_else(|| {
            let reason = "the record's content is of another version of this library".to_owned();
            Error::found_in(secret, "data.record", LocalFault::Unreadable { reason })
        })?;
        Ok(Opened {
            record,
            is_stale: maker == SealMaker::Predecessor,
        })
    }

    fn parts<'t>(&'t self, text: &'t [u8]) -> [&'t [u8]; 3] {
        [
            self.owner.as_str().as_bytes(),
            self.peer.as_str().as_bytes(),
            text,
        ]
    }
}

/// The metadata of a record about a peer.
pub(crate) fn metadata(name: String, namespace: &str, peer: &ClusterId) -> Metadata {
    let labels = [
        (names::MANAGED_BY_LABEL, "liqo-auth"),
        (names::RECORD_PEER_LABEL, peer.as_str()),
    ];
    Metadata::labelled(name, namespace, labels)
}

/// The text of a record that may hold a secret. The size is computed first,
/// because a growing buffer leaves copies in memory that are not wiped.
pub(crate) fn to_text(record: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut size = Size(0);
    serde_json::to_writer(&mut size, record)?;
    let mut text = Vec::with_capacity(size.0);
    serde_json::to_writer(&mut text, record)?;
    Ok(text)
}

struct Size(usize);

impl io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The prefix of the name of a provider's record of a peer. The peer's cluster ID
/// follows.
pub(crate) const PROVIDER_RECORD: &str = "liqo-auth-provider-";
/// The prefix of the name of a consumer's record of a peer. The peer's cluster ID
/// follows.
pub(crate) const CONSUMER_RECORD: &str = "liqo-auth-consumer-";
/// The domain of the seal of a provider's record of a peer.
pub(crate) const PEER_DOMAIN: &str = "liqo-auth provider record v1";
/// The domain of the seal of a provider's record of a slice.
pub(crate) const SLICE_DOMAIN: &str = "liqo-auth slice record v1";
const RECORD_FIELD: &str = "record";
const SEAL_FIELD: &str = "seal";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_of_a_record_does_not_grow() {
        let record = BTreeMap::from([("key", "x".repeat(5000)), ("other", String::new())]);
        let text = to_text(&record).unwrap();
        assert_eq!(text, serde_json::to_vec(&record).unwrap());
        assert_eq!(text.capacity(), text.len());
    }
}
