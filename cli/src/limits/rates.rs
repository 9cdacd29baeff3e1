use std::{
    collections::HashMap,
    hash::Hash,
    sync::Mutex,
    time::{Duration, Instant},
};

use super::locked;

/// The requests of each client: a burst is free, and then an interval passes between two of
/// them.
pub(crate) struct Rates<K> {
    /// When the burst of a client is whole again.
    whole_at: Mutex<HashMap<K, Instant>>,
    interval: Duration,
    /// The time in which a whole burst comes back.
    burst: Duration,
}

impl<K: Clone + Eq + Hash> Rates<K> {
    pub(crate) fn new(burst: u32, interval: Duration) -> Self {
        Self {
            whole_at: Mutex::default(),
            interval,
            burst: interval.saturating_mul(burst),
        }
    }

    /// Counts a request of this client. False if it comes too early. Then it does not count.
    pub(crate) fn allows(&self, client: &K) -> bool {
        self.allows_at(client, Instant::now())
    }

    fn allows_at(&self, client: &K, now: Instant) -> bool {
        let mut clients = locked(&self.whole_at);
        let before = clients
            .get(client)
            .map_or(now, |whole_at| *whole_at.max(&now));
        let whole_at = before + self.interval;
        if whole_at.duration_since(now) > self.burst {
            return false;
        }
        if clients.len() >= MOST_CLIENTS && !clients.contains_key(client) {
            forget_one(&mut clients, now);
        }
        clients.insert(client.clone(), whole_at);
        true
    }
}

/// Forgets the clients whose burst is whole, or else the one whose burst is whole next.
fn forget_one<K: Clone + Eq + Hash>(clients: &mut HashMap<K, Instant>, now: Instant) {
    clients.retain(|_, whole_at| *whole_at > now);
    if clients.len() < MOST_CLIENTS {
        return;
    }
    let next = clients.iter().min_by_key(|(_, whole_at)| **whole_at);
    if let Some(next) = next.map(|(client, _)| client.clone()) {
        clients.remove(&next);
    }
}

const MOST_CLIENTS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_an_interval_passes_between_two_requests() {
        let rates = Rates::new(3, Duration::from_secs(10));
        let start = Instant::now();
        let allows = |client: &str, seconds| {
            rates.allows_at(&client.to_owned(), start + Duration::from_secs(seconds))
        };
        assert!((0..3).all(|_| allows("one", 0)));
        assert!(!allows("one", 9));
        assert!(allows("another", 9));
        // What was refused does not count.
        assert!(allows("one", 10));
        assert!(!allows("one", 10));
        assert!((0..3).all(|_| allows("one", 100)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let rates = Rates::new(3, Duration::from_secs(10));
        let now = Instant::now();
        for number in 0..=MOST_CLIENTS {
            assert!(rates.allows_at(&number, now));
        }
        assert_eq!(locked(&rates.whole_at).len(), MOST_CLIENTS);
        // Those that nobody needs to remember go first.
        assert!(rates.allows_at(&usize::MAX, now + Duration::from_secs(60)));
        assert_eq!(locked(&rates.whole_at).len(), 1);
    }
}
