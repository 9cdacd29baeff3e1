//! Writing the log.

use super::{Entry, EntryHash, Event, details::cut, entry::Body};
use crate::{
    crypto::RecordKey,
    error::Rule,
    model::{ClusterId, Timestamp},
};

/// The end of a log, to which entries are added.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     Provider,
///     audit::{self, Chain, Entry},
///     crypto::{Authority, Entropy, RecordKey},
///     machine::{Env, Objects},
///     provider::Endpoint,
/// };
///
/// let now = "2026-11-20T13:00:00Z".parse()?;
/// let key = RecordKey::new([1; 32])?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, None);
/// let provider = Provider::builder("cl-provider".parse()?, endpoint, key.clone()).build();
/// let env = Env { now, entropy: Entropy::from_bytes([7; 32]) };
/// let step = provider.invite(&Objects::new().view(&"cl-consumer".parse()?), env)?;
/// // … the step's effects are applied, and then:
/// let mut chain = Chain::begin(provider.cluster_id().clone()).sealed_by(key.clone());
/// let mut log: Vec<Entry> = step.events.iter().map(|event| chain.append(now, event)).collect();
///
/// // Another day, from the last line:
/// let last = Entry::parse(log[1].line().as_bytes())?;
/// let mut chain = Chain::resume(&last).sealed_by(key.clone());
/// log.push(chain.append(now, &step.events[0]));
///
/// let lines = || log.iter().map(|entry| entry.line().as_bytes());
/// let summary = audit::verify(lines(), Some(&key))?;
/// assert_eq!((summary.entries, summary.head), (3, Some(chain.head())));
/// assert!(audit::verify(lines().skip(1), Some(&key)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Chain {
    cluster: ClusterId,
    key: Option<RecordKey>,
    sequence: u64,
    head: EntryHash,
}

impl Chain {
    /// A log without entries, of that cluster.
    pub fn begin(cluster: ClusterId) -> Self {
        Self {
            cluster,
            key: None,
            sequence: 0,
            head: EntryHash::NONE,
        }
    }

    /// A log that goes on after this entry. The entries before it are not
    /// looked at: [`verify`](super::verify) does.
    pub fn resume(last: &Entry) -> Self {
        Self {
            cluster: last.cluster().clone(),
            key: None,
            sequence: last.sequence(),
            head: last.hash(),
        }
    }

    /// The same log, with a MAC in each entry from here on.
    #[must_use]
    pub fn sealed_by(self, key: RecordKey) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }

    /// Adds a decision, once what it decided has been carried out.
    pub fn append(&mut self, now: Timestamp, event: &Event) -> Entry {
        self.sequence = self.sequence.saturating_add(1);
        let body = Body {
            sequence: self.sequence,
            time: now,
            cluster: self.cluster.clone(),
            peer: event.peer.clone(),
            decision: event.decision.name().to_owned(),
            rule: event.decision.rule().map(Rule::number),
            object: event.object.as_ref().map(|object| cut(&object.to_string())),
            key: event.key.as_ref().map(ToString::to_string),
            details: event.decision.details(),
            previous: self.head,
        };
        let entry = Entry::make(body, self.key.as_ref());
        self.head = entry.hash();
        entry
    }

    /// The hash of the last entry, which names the whole log: to be kept
    /// elsewhere. All zeros before the first.
    pub fn head(&self) -> EntryHash {
        self.head
    }
}
