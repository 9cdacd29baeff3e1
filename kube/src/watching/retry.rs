//! When a watch of the own cluster that has failed is tried again.

use std::time::Duration;

use kube::runtime::{utils::Backoff, watcher::DefaultBackoff};

/// As kube-rs and client-go wait, but for five seconds at most: until the watch is back, a
/// controller does not see what another program has changed, such as an administrator's drain,
/// and may grant a binding again.
#[derive(Default)]
pub(crate) struct Retry(DefaultBackoff);

impl Iterator for Retry {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next().map(|pause| pause.min(LONGEST))
    }
}

impl Backoff for Retry {
    fn reset(&mut self) {
        self.0.reset();
    }
}

const LONGEST: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_that_fails_is_tried_again_within_five_seconds_and_for_ever() {
        let mut retry = Retry::default();
        let first = retry.next().unwrap();
        assert!(first < LONGEST, "{first:?}");
        let later: Vec<Duration> = retry.by_ref().take(1000).collect();
        assert_eq!(later.len(), 1000);
        assert!(later.iter().all(|pause| *pause <= LONGEST));
        assert_eq!(later.last(), Some(&LONGEST));
        retry.reset();
        assert!(retry.next().unwrap() < LONGEST);
    }
}
