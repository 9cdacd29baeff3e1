use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A wait with a time limit. Its pauses double, up to a second.
pub(super) struct Wait {
    /// `None` if the end is too far away for an [`Instant`].
    until: Option<Instant>,
    next: Duration,
}

impl Wait {
    pub(super) fn new(within: Duration) -> Self {
        Self {
            until: Instant::now().checked_add(within),
            next: Duration::from_millis(50),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    pub(super) async fn pause(&mut self) {
        let left = self
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        sleep(left.map_or(self.next, |left| left.min(self.next))).await;
        self.next = self.next.saturating_mul(2).min(Duration::from_secs(1));
    }
}
