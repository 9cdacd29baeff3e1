//! Writing the log.

use super::{Entry, EntryContent, EntryHash, Event, details::cut};
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
///     Machine, Provider,
///     audit::{Chain, Entry, Verifier},
///     crypto::{Authority, Entropy, RecordKey},
///     machine::{Env, Objects},
///     provider::Endpoint,
/// };
///
/// let now = "2026-11-20T13:00:00Z".parse()?;
/// let key = RecordKey::new([1; 32])?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, None);
/// let provider = Provider::builder("cl-provider".parse()?, endpoint, key.clone()).build();
/// let objects = Objects::new(&Entropy::from_bytes([6; 32]));
/// let env = Env { now, entropy: Entropy::from_bytes([7; 32]) };
/// let step = provider.invite(&objects.view(&"cl-consumer".parse()?), env)?;
/// // … the step's effects are applied, and then:
/// let mut chain = Chain::begin(provider.cluster_id().clone(), Some(key.clone()));
/// let mut log: Vec<Entry> = step.events.iter().map(|event| chain.append(now, event)).collect();
///
/// // Another day, from the last line:
/// let last = Entry::parse(log[1].line().as_bytes())?;
/// let mut chain = Chain::resume(&last, Some(key.clone()));
/// log.push(chain.append(now, &step.events[0]));
///
/// let mut verifier = Verifier::new(Some(&key), Some(chain.head()));
/// for entry in &log {
///     verifier.line(entry.line().as_bytes())?;
/// }
/// let summary = verifier.finish()?;
/// assert_eq!((summary.entries, summary.head), (3, Some(chain.head())));
/// assert!(Verifier::new(Some(&key), None).line(log[1].line().as_bytes()).is_err());
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
    /// The end of this cluster's new log, which has no entries. With a key, each
    /// entry gets a MAC.
    pub fn begin(cluster: ClusterId, key: Option<RecordKey>) -> Self {
        Self {
            cluster,
            key,
            sequence: 0,
            head: EntryHash::NONE,
        }
    }

    /// The end of a log whose last entry is this one. With a key, each further entry
    /// gets a MAC. The earlier entries are not verified.
    pub fn resume(last: &Entry, key: Option<RecordKey>) -> Self {
        let content = last.content();
        Self {
            cluster: content.cluster.clone(),
            key,
            sequence: content.sequence,
            head: last.hash(),
        }
    }

    /// Adds a decision of a step whose effects are applied.
    pub fn append(&mut self, now: Timestamp, event: &Event) -> Entry {
        self.sequence = self.sequence.saturating_add(1);
        let content = EntryContent {
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
        let entry = Entry::make(content, self.key.as_ref());
        self.head = entry.hash();
        entry
    }

    /// The hash of the last entry, or zeros if the log has no entries. The hash
    /// covers the whole log. Store it elsewhere to detect a missing end.
    pub fn head(&self) -> EntryHash {
        self.head
    }
}
