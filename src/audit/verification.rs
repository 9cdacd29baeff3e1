//! Reading the log.

use super::{Entry, EntryHash};
use crate::{
    crypto::RecordKey,
    model::{ClusterId, Timestamp},
};

/// Reads a log line by line, and says where it was changed.
///
/// Lines come without their line feeds; who reads a file stops at
/// [`LONGEST_LINE`](super::LONGEST_LINE) bytes.
#[derive(Debug)]
pub struct Verifier<'k> {
    key: Option<&'k RecordKey>,
    wanted: Option<EntryHash>,
    cluster: Option<ClusterId>,
    summary: Summary,
}

/// What a whole log is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many entries it has.
    pub entries: u64,
    /// When its first entry was made.
    pub first: Option<Timestamp>,
    /// When its last entry was made.
    pub last: Option<Timestamp>,
    /// The hash of its last entry.
    pub head: Option<EntryHash>,
}

/// Where and how a log is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct LogError {
    /// The line, from 1; the one after the last if something is missing there.
    pub line: u64,
    /// What is wrong.
    pub fault: LogFault,
}

/// What is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFault {
    /// The line is longer than any that is written.
    #[error("it is longer than the {limit} bytes that an entry may have")]
    TooLong {
        /// The longest line that is read, in bytes.
        limit: usize,
    },
    /// The line is no entry, or not in the form in which entries are written.
    #[error("it is no entry in the form in which entries are written")]
    Form,
    /// The hash is not the one over the line.
    #[error("its hash is not the one over its content")]
    Hash,
    /// The number is not the next one.
    #[error("expected entry {expected}, found {found}")]
    Sequence {
        /// The number that had to come.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// The entry does not follow on the one before it.
    #[error("it does not follow on the entry before it")]
    Previous,
    /// The entry is of another cluster's log.
    #[error("it is of another cluster's log than the entries before it")]
    OtherCluster,
    /// There is no MAC, and the log is verified with a key.
    #[error("it has no MAC")]
    MacMissing,
    /// The MAC is not this key's.
    #[error("its MAC is not by this record key or a predecessor")]
    Mac,
    /// The entry that was kept elsewhere is not there: the end is missing, or
    /// this is another log.
    #[error("the entry {wanted} is missing: the log was cut off, or written anew")]
    HeadMissing {
        /// The hash that was looked for.
        wanted: EntryHash,
    },
}

/// Verifies a whole log: that nothing in it was changed, left out or put in;
/// with the key, that who wrote it had the key.
///
/// # Errors
/// [`LogError`], at the first line that is wrong.
pub fn verify<'l>(
    lines: impl IntoIterator<Item = &'l [u8]>,
    key: Option<&RecordKey>,
) -> Result<Summary, LogError> {
    let mut verifier = Verifier::new();
    if let Some(key) = key {
        verifier = verifier.with_key(key);
    }
    for line in lines {
        verifier.line(line)?;
    }
    verifier.finish()
}

impl<'k> Verifier<'k> {
    /// Nothing was read yet.
    pub fn new() -> Self {
        Self {
            key: None,
            wanted: None,
            cluster: None,
            summary: Summary::default(),
        }
    }

    /// Verifies the MACs too: each entry has to have one.
    #[must_use]
    pub fn with_key(self, key: &'k RecordKey) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }

    /// Looks for an entry, by the hash that was kept elsewhere.
    #[must_use]
    pub fn looking_for(self, head: EntryHash) -> Self {
        Self {
            wanted: Some(head),
            ..self
        }
    }

    /// Reads the next line, without its line feed.
    ///
    /// # Errors
    /// [`LogError`] if it is not the one that comes here. What was read before
    /// it holds.
    pub fn line(&mut self, line: &[u8]) -> Result<Entry, LogError> {
        let number = self.summary.entries.saturating_add(1);
        self.check(line, number).map_err(|fault| LogError {
            line: number,
            fault,
        })
    }

    /// The end of the log.
    ///
    /// # Errors
    /// [`LogFault::HeadMissing`].
    pub fn finish(self) -> Result<Summary, LogError> {
        match self.wanted {
            None => Ok(self.summary),
            Some(wanted) => Err(LogError {
                line: self.summary.entries.saturating_add(1),
                fault: LogFault::HeadMissing { wanted },
            }),
        }
    }

    fn check(&mut self, line: &[u8], expected: u64) -> Result<Entry, LogFault> {
        let entry = Entry::parse(line)?;
        let found = entry.sequence();
        if found != expected {
            return Err(LogFault::Sequence { expected, found });
        }
        if entry.previous() != self.summary.head.unwrap_or(EntryHash::NONE) {
            return Err(LogFault::Previous);
        }
        if self.cluster.get_or_insert_with(|| entry.cluster().clone()) != entry.cluster() {
            return Err(LogFault::OtherCluster);
        }
        match self.key.map(|key| entry.is_sealed_by(key)) {
            Some(None) => return Err(LogFault::MacMissing),
            Some(Some(false)) => return Err(LogFault::Mac),
            Some(Some(true)) | None => {}
        }
        self.summary.entries = found;
        self.summary.first.get_or_insert(entry.time());
        self.summary.last = Some(entry.time());
        self.summary.head = Some(entry.hash());
        self.wanted = self.wanted.filter(|wanted| *wanted != entry.hash());
        Ok(entry)
    }
}

impl Default for Verifier<'_> {
    fn default() -> Self {
        Self::new()
    }
}
