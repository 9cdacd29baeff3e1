//! A record as a Secret: its text, and a seal that nobody else can make.
//!
//! The seal is HMAC-SHA-256 by the record key over a domain, both cluster IDs
//! and the text, so that neither a record of another peer nor an edited one is
//! taken.

use std::{collections::BTreeMap, io};

use serde::Serialize;

use crate::{
    crypto::RecordKey,
    error::{Error, LocalFault},
    model::{ClusterId, Metadata, Resource, Secret, names},
};

/// Whose records are sealed, for whom and for what.
#[derive(Clone, Copy)]
pub(crate) struct Sealer<'a> {
    pub(crate) key: &'a RecordKey,
    /// What kind of record it is.
    pub(crate) domain: &'static str,
    pub(crate) provider: &'a ClusterId,
    pub(crate) peer: &'a ClusterId,
}

impl Sealer<'_> {
    /// The Secret that carries the text, under its seal.
    pub(crate) fn seal(&self, namespace: &str, name: String, text: Vec<u8>) -> Secret {
        let seal = self.key.mac(self.domain, &self.parts(&text));
        Secret {
            metadata: Metadata {
                name,
                namespace: namespace.to_owned(),
                labels: BTreeMap::from([
                    (names::MANAGED_BY_LABEL.to_owned(), "liqo-auth".to_owned()),
                    (names::RECORD_PEER_LABEL.to_owned(), self.peer.to_string()),
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

    /// The text, if its seal holds and it can be read.
    pub(crate) fn open<T>(
        &self,
        secret: &Secret,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, Error> {
        let text = secret.get(RECORD_FIELD).unwrap_or_default();
        let seal = secret.get(SEAL_FIELD).unwrap_or_default();
        if !self.key.verify(self.domain, &self.parts(text), seal) {
            return Err(Error::new(
                LocalFault::BrokenSeal,
                Some(secret.id()),
                "data.seal",
            ));
        }
        read(text).ok_or_else(|| {
            let reason = "the record's content is of another version of this library".to_owned();
            Error::new(
                LocalFault::Unreadable { reason },
                Some(secret.id()),
                "data.record",
            )
        })
    }

    /// Whether a record that was opened is to be sealed anew, so that the
    /// predecessors of the record key can go one day.
    pub(crate) fn is_by_predecessor(&self, secret: &Secret) -> bool {
        let text = secret.get(RECORD_FIELD).unwrap_or_default();
        let seal = secret.get(SEAL_FIELD).unwrap_or_default();
        self.key.maker_of(self.domain, &self.parts(text), seal)
            == Some(crate::crypto::SealMaker::Predecessor)
    }

    fn parts<'t>(&'t self, text: &'t [u8]) -> [&'t [u8]; 3] {
        [
            self.provider.as_str().as_bytes(),
            self.peer.as_str().as_bytes(),
            text,
        ]
    }
}

/// The text of a record that may hold a secret. A buffer that grows leaves
/// copies behind, which nobody wipes; so its size is found out first.
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
