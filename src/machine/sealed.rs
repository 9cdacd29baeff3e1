//! A record as a Secret: its text, and a seal that only this cluster can make.
//!
//! The seal is HMAC-SHA-256 with the record key over a domain, both cluster IDs
//! and the text. A record of another peer, or an edited one, is refused.

use std::io;

use serde::Serialize;

use crate::{
    crypto::{RecordKey, SealMaker},
    error::{Error, LocalFault},
    model::{ClusterId, Secret, Wiped, names},
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
        let data = [
            (RECORD_FIELD, text.into()),
            (SEAL_FIELD, seal.to_vec().into()),
        ];
        Secret::labelled(name, namespace, labels(self.peer), data)
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

/// The labels of a record's Secret.
pub(crate) fn labels(peer: &ClusterId) -> [(&'static str, &str); 2] {
    [
        (names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO_AUTH),
        (names::RECORD_PEER_LABEL, peer.as_str()),
    ]
}

/// The text of a record that may hold a secret, in a buffer of its exact size.
pub(crate) fn to_text(record: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = WipedBuffer(Wiped::new(Vec::with_capacity(2048)));
    serde_json::to_writer(&mut text, record)?;
    Ok(text.0.to_vec())
}

/// A buffer that grows without leaving copies of its content in memory.
struct WipedBuffer(Wiped<Vec<u8>>);

impl io::Write for WipedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    /// JSON is written in many small pieces. The method of the trait has a loop for each.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = self.0.len().saturating_add(bytes.len());
        if length > self.0.capacity() {
            let mut larger = Vec::with_capacity(length.max(2 * self.0.capacity()));
            larger.extend_from_slice(&self.0);
            self.0 = Wiped::new(larger);
        }
        match bytes {
            // Most pieces are a single sign, for which a block's copy takes long.
            [byte] => self.0.push(*byte),
            bytes => self.0.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The domain of the seal of a provider's record of a peer.
pub(crate) const PEER_DOMAIN: &str = "liqo-auth provider record v1";
/// The domain of the seal of a provider's record of a slice.
pub(crate) const SLICE_DOMAIN: &str = "liqo-auth slice record v1";
const RECORD_FIELD: &str = "record";
const SEAL_FIELD: &str = "seal";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_text_of_a_record_has_its_exact_size() {
        for length in [0, 2000, 2048, 50_000] {
            let record = BTreeMap::from([("key", "x".repeat(length)), ("other", "\n".into())]);
            let text = to_text(&record).unwrap();
            assert_eq!(text, serde_json::to_vec(&record).unwrap());
            assert_eq!(text.capacity(), text.len());
        }
    }

    #[test]
    fn a_buffer_moves_only_by_a_copy_of_its_own() {
        let mut buffer = WipedBuffer(Wiped::new(Vec::with_capacity(8)));
        for length in [3, 5, 1, 100, 7] {
            let before = (
                buffer.0.as_ptr(),
                buffer.0.len() + length <= buffer.0.capacity(),
            );
            io::Write::write_all(&mut buffer, &vec![b'x'; length]).unwrap();
            assert_eq!(before.0 == buffer.0.as_ptr(), before.1);
        }
        assert_eq!(buffer.0.len(), 116);
    }
}
