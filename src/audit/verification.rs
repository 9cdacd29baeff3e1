//! Verifying the log.

use super::{Entry, EntryHash};
use crate::{
    crypto::RecordKey,
    model::{ClusterId, Timestamp},
};

/// Reads a log line by line, and reports where it was changed.
///
/// Pass each line without its line feed. A line has at most
/// [`LONGEST_LINE`](super::LONGEST_LINE) bytes.
#[derive(Debug)]
pub struct Verifier<'k> {
    key: Option<&'k RecordKey>,
    wanted: Option<EntryHash>,
    cluster: Option<ClusterId>,
    summary: Summary,
}

/// The summary of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of entries.
    pub entries: u64,
    /// The time of the first entry.
    pub first: Option<Timestamp>,
    /// The time of the last entry.
    pub last: Option<Timestamp>,
    /// The hash of the last entry.
    pub head: Option<EntryHash>,
}

/// The first fault of a log, and its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct LogError {
    /// The number of the line, from 1. If the end is missing, the number after the
    /// last line.
    pub line: u64,
    /// The fault.
    pub fault: LogFault,
}

/// The fault of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFault {
    /// The line is longer than an entry can be.
    #[error("the entry is longer than {limit} bytes")]
    TooLong {
        /// The maximum length of a line, in bytes.
        limit: usize,
    },
    /// The line does not have exactly the form of an entry.
    #[error("the entry does not have the form of this log")]
    Form,
    /// The hash does not match the content of the line.
    #[error("the entry's hash does not match its content")]
    Hash,
    /// The number is not the next one.
    #[error("expected entry {expected}, found {found}")]
    Sequence {
        /// The number of the next entry.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// The entry does not follow the one before it.
    #[error("the entry does not follow the one before it")]
    Previous,
    /// The entry belongs to another cluster's log.
    #[error("the entry belongs to another cluster's log than the entries before it")]
    OtherCluster,
    /// The entry has no MAC, but the log is verified with a key.
    #[error("the entry has no MAC")]
    MacMissing,
    /// The MAC is not by this key or a predecessor.
    #[error("the entry's MAC is not by this record key or a predecessor")]
    Mac,
    /// The entry whose hash was kept elsewhere is missing: the end of the log is
    /// missing, or this is another log.
    #[error("the entry {wanted} is missing: the log was truncated or replaced")]
    HeadMissing {
        /// The hash of the missing entry.
        wanted: EntryHash,
    },
}

impl<'k> Verifier<'k> {
    /// A verifier that begins at the first line of a log.
    ///
    /// With a key, each entry must have a MAC by that key. `head` is the hash of an
    /// entry that was kept elsewhere. The log must contain that entry.
    pub fn new(key: Option<&'k RecordKey>, head: Option<EntryHash>) -> Self {
        Self {
            key,
            wanted: head,
            cluster: None,
            summary: Summary::default(),
        }
    }

    /// Reads the next line, without its line feed.
    ///
    /// # Errors
    /// [`LogError`] if the line is not the next one of the log. The lines before it
    /// are valid.
    pub fn line(&mut self, line: &[u8]) -> Result<Entry, LogError> {
        let number = self.summary.entries.saturating_add(1);
        self.check(line, number).map_err(|fault| LogError {
            line: number,
            fault,
        })
    }

    /// Ends the verification and returns the summary.
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
        let content = entry.content();
        let found = content.sequence;
        if found != expected {
            return Err(LogFault::Sequence { expected, found });
        }
        if content.previous != self.summary.head.unwrap_or(EntryHash::NONE) {
            return Err(LogFault::Previous);
        }
        let owner = self.cluster.get_or_insert_with(|| content.cluster.clone());
        if *owner != content.cluster {
            return Err(LogFault::OtherCluster);
        }
        match self.key.map(|key| entry.is_sealed_by(key)) {
            Some(None) => return Err(LogFault::MacMissing),
            Some(Some(false)) => return Err(LogFault::Mac),
            Some(Some(true)) | None => {}
        }
        self.summary.entries = found;
        self.summary.first.get_or_insert(content.time);
        self.summary.last = Some(content.time);
        self.summary.head = Some(entry.hash());
        self.wanted = self.wanted.filter(|wanted| *wanted != entry.hash());
        Ok(entry)
    }
}
