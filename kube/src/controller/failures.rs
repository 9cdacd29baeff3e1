//! How long a failed attempt waits before the next one.

use std::time::Duration;

use tokio::time::Instant;

/// The attempts in a row that have failed.
#[derive(Default)]
pub(super) struct Failures {
    in_a_row: u32,
    /// How often the delay has doubled.
    doublings: u32,
    /// When the delay of the last doubling is over.
    until: Option<Instant>,
}

impl Failures {
    /// Counts an attempt. Returns the delay before the next one if this one failed:
    /// `first` after one failure, twice as much after each delay that is over, and five
    /// minutes at most.
    ///
    /// An event may cause an attempt before the delay is over. If that one fails, too, the
    /// delay stays as it is. So no delay is longer than the failures have lasted, but for
    /// the first one.
    pub(super) fn count(&mut self, failed: Option<Duration>) -> Option<Duration> {
        let Some(first) = failed else {
            *self = Self::default();
            return None;
        };
        self.in_a_row = self.in_a_row.saturating_add(1);
        let now = Instant::now();
        let delay = first.saturating_mul(1 << self.doublings.min(16));
        let delay = delay.min(FIVE_MINUTES);
        if let Some(until) = self.until.filter(|until| now < *until) {
            return Some(delay.min(until - now));
        }
        self.doublings = self.doublings.saturating_add(1);
        self.until = now.checked_add(delay);
        Some(delay)
    }

    /// The number of attempts in a row that have failed.
    pub(super) fn in_a_row(&self) -> u32 {
        self.in_a_row
    }
}

const FIVE_MINUTES: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_delay_doubles_up_to_five_minutes_and_begins_anew_after_a_success() {
        let mut failures = Failures::default();
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let delay = failures.count(Some(SECOND)).unwrap();
            assert_eq!(delay.as_secs(), seconds);
            advance(delay).await;
        }
        assert_eq!(failures.count(None), None);
        assert_eq!(failures.count(Some(SECOND)), Some(SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_before_the_delay_is_over_do_not_lengthen_it() {
        let mut failures = Failures::default();
        for _ in 0..100 {
            assert_eq!(failures.count(Some(SECOND)), Some(SECOND));
        }
        assert_eq!(failures.in_a_row(), 100);
        advance(SECOND / 4).await;
        assert_eq!(failures.count(Some(SECOND)), Some(SECOND * 3 / 4));
        advance(SECOND * 3 / 4).await;
        assert_eq!(failures.count(Some(SECOND)), Some(SECOND * 2));
    }

    const SECOND: Duration = Duration::from_secs(1);
}
