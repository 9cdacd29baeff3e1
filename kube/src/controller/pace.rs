//! How often a peer is looked at.

use std::time::Duration;

use tokio::time::Instant;

/// The looks at one peer that its own changes cause. A burst is free, so that an exchange has
/// no delay. After it, a peer that changes its objects all the time is looked at ten times a
/// second, and the time of the controller is left to others. Orders do not wait.
#[derive(Default)]
pub(super) struct Pace {
    /// When the burst is whole again.
    whole_at: Option<Instant>,
}

impl Pace {
    /// Counts a look.
    pub(super) fn count(&mut self) {
        let now = Instant::now();
        let from = self.whole_at.map_or(now, |whole_at| whole_at.max(now));
        self.whole_at = Some(from + INTERVAL);
    }

    /// The delay of the next look.
    pub(super) fn delay(&self) -> Duration {
        let whole_in = self.whole_at.map(|whole_at| whole_at - Instant::now());
        whole_in.unwrap_or_default().saturating_sub(BURST)
    }
}

const INTERVAL: Duration = Duration::from_millis(100);
/// 64 looks: more than an exchange with several slices takes.
const BURST: Duration = INTERVAL.saturating_mul(64);

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_then_an_interval_passes_between_two_looks() {
        let mut pace = Pace::default();
        for _ in 0..64 {
            assert_eq!(pace.delay(), Duration::ZERO);
            pace.count();
        }
        pace.count();
        assert_eq!(pace.delay(), INTERVAL);
        advance(INTERVAL).await;
        assert_eq!(pace.delay(), Duration::ZERO);
        advance(BURST * 10).await;
        assert_eq!(pace.delay(), Duration::ZERO);
        for _ in 0..64 {
            pace.count();
        }
        assert_eq!(pace.delay(), Duration::ZERO);
    }
}
