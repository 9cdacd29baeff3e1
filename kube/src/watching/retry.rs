//! When a watch that has failed is tried again.

use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use kube::runtime::watcher::DefaultBackoff;
use tokio::time::sleep;

/// The same events. After each failure, the next ones are asked for when a pause has passed.
///
/// The pauses grow until nothing has failed for two minutes. kube-rs begins anew with the
/// shortest pause at each event, and the begin of a list is one. So a list that fails again
/// and again would be tried each second.
pub(crate) fn retried<T, E>(
    events: impl Stream<Item = Result<T, E>> + Send + Unpin,
    pauses: impl Iterator<Item = Duration> + Send,
) -> impl Stream<Item = Result<T, E>> + Send {
    let reading = (events, pauses, Duration::ZERO);
    stream::unfold(reading, async |(mut events, mut pauses, pause)| {
        if !pause.is_zero() {
            sleep(pause).await;
        }
        let event = events.next().await?;
        let pause = match event {
            Ok(_) => Duration::ZERO,
            Err(_) => pauses.next()?,
        };
        Some((event, (events, pauses, pause)))
    })
}

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

const LONGEST: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::Instant;

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
    }

    /// The begin of each list is an event.
    #[tokio::test(start_paused = true)]
    async fn the_pauses_of_a_list_that_begins_and_fails_grow() {
        let events = stream::iter([Ok("begun"), Err("failed")].into_iter().cycle());
        let mut events = pin!(retried(events, DefaultBackoff::default()));
        let mut last = Instant::now();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            assert_eq!(events.next().await, Some(Ok("begun")));
            pauses.push(last.elapsed().as_secs());
            last = Instant::now();
            assert_eq!(events.next().await, Some(Err("failed")));
        }
        assert_eq!(pauses[0], 0);
        assert!((1..=4).contains(&pauses[2]), "{pauses:?}");
        assert!(pauses[6] >= 25, "{pauses:?}");
        // What has not failed for long is tried again soon.
        tokio::time::advance(Duration::from_secs(150)).await;
        events.next().await;
        let last = Instant::now();
        assert_eq!(events.next().await, Some(Err("failed")));
        events.next().await;
        assert!(last.elapsed().as_secs() <= 2, "{:?}", last.elapsed());
    }
}
