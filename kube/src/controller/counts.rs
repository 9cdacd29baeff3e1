use std::sync::atomic::{AtomicU64, Ordering};

/// The activity of a controller since its start ([`Handle::counts`](super::Handle::counts)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Looks at one side of a peer.
    pub looks: u64,
    /// Effects that an API server has applied: this cluster's, or a provider's to which the
    /// controller replicates.
    pub effects: u64,
    /// Effects that met a newer version, a taken name or a missing object.
    pub conflicts: u64,
    /// Looks and replications that failed.
    pub failures: u64,
    /// Messages that the transport has delivered.
    pub deliveries: u64,
    /// Deliveries that failed.
    pub failed_deliveries: u64,
    /// Kubernetes events that were not published, since their peer caused too many.
    pub events_left_out: u64,
}

/// The counters behind [`Counts`].
#[derive(Default)]
pub(super) struct Counters {
    pub(super) looks: Counter,
    pub(super) effects: Counter,
    pub(super) conflicts: Counter,
    pub(super) failures: Counter,
    pub(super) deliveries: Counter,
    pub(super) failed_deliveries: Counter,
}

#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(super) fn now(&self, events_left_out: u64) -> Counts {
        Counts {
            looks: self.looks.get(),
            effects: self.effects.get(),
            conflicts: self.conflicts.get(),
            failures: self.failures.get(),
            deliveries: self.deliveries.get(),
            failed_deliveries: self.failed_deliveries.get(),
            events_left_out,
        }
    }
}
