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

/// One decision in the log: numbered, and bound to the one before it.
///
/// There is none whose hash does not hold; whether it follows on another, and
/// whether its MAC holds, a [`Verifier`](super::Verifier) says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    line: String,
    body: Body,
    hash: EntryHash,
    mac: Option<EntryHash>,
}

/// The SHA-256 of an entry, which names the whole log up to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryHash(pub(super) [u8; 32]);

/// An entry without what is computed over it. The order of the fields is the
/// order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    pub(super) sequence: u64,
    pub(super) time: Timestamp,
    #[serde(with = "as_text")]
    pub(super) cluster: ClusterId,
    #[serde(with = "as_text")]
    pub(super) peer: ClusterId,
    pub(super) decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) details: BTreeMap<String, String>,
    #[serde(with = "as_text")]
    pub(super) previous: EntryHash,
}

impl Entry {
    /// Reads a line of a log, without its line feed.
    ///
    /// # Errors
    /// [`LogFault`]: it has another form than the one that is written, or its
    /// hash is not the one over it.
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
        let body: Body =
            serde_json::from_str(&format!("{written}}}")).map_err(|_| LogFault::Form)?;
        if body.write() != written {
            return Err(LogFault::Form);
        }
        if EntryHash::of(written) != hash {
            return Err(LogFault::Hash);
        }
        Ok(Self {
            line: line.to_owned(),
            body,
            hash,
            mac,
        })
    }

    pub(super) fn make(body: Body, key: Option<&RecordKey>) -> Self {
        let written = body.write();
        let hash = EntryHash::of(&written);
        let mac = key.map(|key| EntryHash(key.mac(DOMAIN, &[&hash.0])));
        let mut line = format!("{written}{HASH}{hash}");
        if let Some(mac) = mac {
            line.push_str(&format!("{MAC}{mac}"));
        }
        line.push_str("\"}");
        Self {
            line,
            body,
            hash,
            mac,
        }
    }

    /// Whether the MAC is of that key or a predecessor of it; none if there is
    /// no MAC.
    pub(super) fn is_sealed_by(&self, key: &RecordKey) -> Option<bool> {
        let mac = self.mac?;
        Some(key.verify(DOMAIN, &[&self.hash.0], &mac.0))
    }

    /// The line as it is written, without a line feed.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Its number, from 1.
    pub fn sequence(&self) -> u64 {
        self.body.sequence
    }

    /// When it was made.
    pub fn time(&self) -> Timestamp {
        self.body.time
    }

    /// Who decided: the log's owner.
    pub fn cluster(&self) -> &ClusterId {
        &self.body.cluster
    }

    /// Whom it concerns.
    pub fn peer(&self) -> &ClusterId {
        &self.body.peer
    }

    /// What was decided: [`Decision::name`](super::Decision::name).
    pub fn decision(&self) -> &str {
        &self.body.decision
    }

    /// The rule of DESIGN.md that was kept or broken.
    pub fn rule(&self) -> Option<u8> {
        self.body.rule
    }

    /// The object that it is about, such as `Tenant ns/name`.
    pub fn object(&self) -> Option<&str> {
        self.body.object.as_deref()
    }

    /// The fingerprint of the key that it rests on.
    pub fn key(&self) -> Option<&str> {
        self.body.key.as_deref()
    }

    /// What else the decision says.
    pub fn details(&self) -> &BTreeMap<String, String> {
        &self.body.details
    }

    /// The hash of the entry before it; all zeros in the first one.
    pub fn previous(&self) -> EntryHash {
        self.body.previous
    }

    /// Its own hash.
    pub fn hash(&self) -> EntryHash {
        self.hash
    }
}

impl Body {
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
