//! One line of the log.

use core::{fmt, str::FromStr};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{LONGEST_LINE, LogFault};
use crate::{
    crypto::RecordKey,
    model::{ClusterId, Timestamp, ValueError, read_hex, write_hex},
};

/// One decision in the log: numbered, and bound to the entry before it.
///
/// The hash of every `Entry` holds. A [`Verifier`](super::Verifier) says whether
/// the entry follows on the one before it and whether its MAC holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    line: String,
    content: EntryContent,
    hash: EntryHash,
    mac: Option<EntryHash>,
}

/// The SHA-256 of an entry, which names the whole log up to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryHash(pub(super) [u8; 32]);

/// What an entry says. The fields are written in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EntryContent {
    /// The number of the entry, from 1.
    pub sequence: u64,
    /// The time of the decision.
    pub time: Timestamp,
    /// The cluster that decided: the log's owner.
    #[serde(with = "as_text")]
    pub cluster: ClusterId,
    /// The cluster that the decision concerns.
    #[serde(with = "as_text")]
    pub peer: ClusterId,
    /// The decision: [`Decision::name`](super::Decision::name).
    pub decision: String,
    /// The rule of DESIGN.md that was kept or broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<u8>,
    /// The object of the decision, such as `Tenant ns/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The fingerprint of the key that the decision rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Further facts by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// The hash of the entry before this one. The first entry has zeros here.
    #[serde(with = "as_text")]
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

    /// What the entry says.
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
        // Strings and numbers only: it cannot fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.pop();
        text
    }
}

impl EntryHash {
    /// What stands before the first entry.
    pub(super) const NONE: Self = Self([0; 32]);

    fn of(written: &str) -> Self {
        Self(Sha256::digest(written.as_bytes()).into())
    }
}

impl fmt::Display for EntryHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}

impl fmt::Debug for EntryHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for EntryHash {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_lower = !text.contains(|digit: char| digit.is_ascii_uppercase());
        read_hex(text)
            .filter(|_| is_lower)
            .map(Self)
            .ok_or(ValueError(
                "the hash of an entry has 64 lower-case hexadecimal digits",
            ))
    }
}

/// Values that are written and read as their own text.
mod as_text {
    use core::{fmt, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<T: fmt::Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom("another text"))
    }
}

const HASH: &str = ",\"hash\":\"";
const MAC: &str = "\",\"mac\":\"";
const DOMAIN: &str = "liqo-auth audit log v1";
