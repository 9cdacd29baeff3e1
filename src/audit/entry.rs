//! One line of the log.

use core::str::FromStr;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{LONGEST_LINE, LogFault};
use crate::{
    crypto::RecordKey,
    model::{ClusterId, Hex, Timestamp, ValueError, as_text, read_hex},
};

/// One decision in the log, with its number and the hash of the entry before it.
///
/// The hash of every `Entry` is right. A [`Verifier`](super::Verifier) checks
/// whether the entry follows the one before it, and whether its MAC is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    line: String,
    content: EntryContent,
    hash: EntryHash,
    mac: Option<EntryHash>,
}

/// The SHA-256 of an entry. It covers the whole log up to this entry.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Debug, derive_more::Display,
)]
#[display("{}", Hex(_0))]
#[debug("{self}")]
pub struct EntryHash(pub(super) [u8; 32]);

/// The content of an entry. The fields are written in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EntryContent {
    /// The number of the entry, from 1.
    pub sequence: u64,
    /// The time of the decision.
    pub time: Timestamp,
    /// The cluster that decided: the log's owner.
    pub cluster: ClusterId,
    /// The cluster that the decision concerns.
    pub peer: ClusterId,
    /// The decision: [`Decision::name`](super::Decision::name).
    pub decision: String,
    /// The rule of DESIGN.md that was kept or broken, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<u8>,
    /// The object of the decision, such as `Tenant ns/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The fingerprint of the key that the decision is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Further facts by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// The hash of the entry before this one. The first entry has zeros here.
    pub previous: EntryHash,
}

impl Entry {
    /// Reads a line of a log, without its line feed.
    ///
    /// # Errors
    /// [`LogFault`] if the line has another form than [`Chain`](super::Chain)
    /// writes, or if its hash is wrong.
    pub fn parse(line: &[u8]) -> Result<Self, LogFault> {
        if line.len() > LONGEST_LINE {
            return Err(LogFault::TooLong {
                limit: LONGEST_LINE,
            });
        }
        let line = core::str::from_utf8(line).map_err(|_| LogFault::Form)?;
        let (written, tail) = line.rsplit_once(HASH).ok_or(LogFault::Form)?;
        let tail = tail.strip_suffix("\"}").ok_or(LogFault::Form)?;
        let (hash, mac) = match tail.split_once(MAC) {
            None => (tail, None),
            Some((hash, mac)) => (hash, Some(mac)),
        };
        let digits = |text: &str| text.parse().map_err(|_: ValueError| LogFault::Form);
        let (hash, mac) = (digits(hash)?, mac.map(digits).transpose()?);
        let content: EntryContent =
            serde_json::from_str(&format!("{written}}}")).map_err(|_| LogFault::Form)?;
        if content.write() != written {
            return Err(LogFault::Form);
        }
        if EntryHash::of(written) != hash {
            return Err(LogFault::Hash);
        }
        Ok(Self {
            line: line.to_owned(),
            content,
            hash,
            mac,
        })
    }

    pub(super) fn make(content: EntryContent, key: Option<&RecordKey>) -> Self {
        let written = content.write();
        let hash = EntryHash::of(&written);
        let mac = key.map(|key| EntryHash(key.mac(DOMAIN, &[&hash.0])));
        let mut line = format!("{written}{HASH}{hash}");
        if let Some(mac) = mac {
            line.push_str(&format!("{MAC}{mac}"));
        }
        line.push_str("\"}");
        Self {
            line,
            content,
            hash,
            mac,
        }
    }

    /// Whether this key or a predecessor of it made the MAC. `None` if the entry
    /// has no MAC.
    pub(super) fn is_sealed_by(&self, key: &RecordKey) -> Option<bool> {
        let mac = self.mac?;
        Some(key.verify(DOMAIN, &[&self.hash.0], &mac.0))
    }

    /// The line without its line feed.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The content of the entry.
    pub fn content(&self) -> &EntryContent {
        &self.content
    }

    /// The hash of this entry.
    pub fn hash(&self) -> EntryHash {
        self.hash
    }
}

impl EntryContent {
    /// The line up to the hash.
    fn write(&self) -> String {
        // The serialization of strings and numbers cannot fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.pop();
        text
    }
}

impl EntryHash {
    /// The `previous` hash of the first entry.
    pub(super) const NONE: Self = Self([0; 32]);

    fn of(written: &str) -> Self {
        Self(Sha256::digest(written.as_bytes()).into())
    }
}

as_text!(EntryHash);

impl FromStr for EntryHash {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_lower = !text.contains(|digit: char| digit.is_ascii_uppercase());
        read_hex(text)
            .filter(|_| is_lower)
            .map(Self)
            .ok_or(ValueError(
                "the hash does not have 64 lower-case hexadecimal digits",
            ))
    }
}

const HASH: &str = ",\"hash\":\"";
const MAC: &str = "\",\"mac\":\"";
const DOMAIN: &str = "liqo-auth audit log v1";
