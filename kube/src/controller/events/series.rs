//! Which events are one series.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kube::runtime::events::Recorder;
use tokio::time::Instant;

/// The recorders of the latest events, by namespace and reason. A recorder joins events of one
/// reason to a series, and keeps the note of the first one. So another note gets another
/// recorder.
#[derive(Default)]
pub(super) struct AllSeries {
    latest: Mutex<HashMap<(String, String), Latest>>,
}

struct Latest {
    note: String,
    recorder: Recorder,
    until: Instant,
}

impl AllSeries {
    /// The recorder for an event with this note.
    pub(super) fn recorder(
        &self,
        namespace: &str,
        reason: &str,
        note: &str,
        make: impl Fn() -> Recorder,
    ) -> Recorder {
        let now = Instant::now();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.retain(|_, latest| latest.until > now);
        let entry = latest
            .entry((namespace.to_owned(), reason.to_owned()))
            .or_insert_with(|| Latest {
                note: note.to_owned(),
                recorder: make(),
                until: now,
            });
        if entry.note != note {
            entry.note = note.to_owned();
            entry.recorder = make();
        }
        entry.until = now + LIFE;
        entry.recorder.clone()
    }
}

/// How long a recorder remembers an event.
const LIFE: Duration = Duration::from_secs(6 * 60);
