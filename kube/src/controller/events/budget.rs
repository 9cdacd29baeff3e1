//! How many events a peer may cause.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// The events in each namespace, by their reasons: a flood of refusals does not take room from
/// decisions and notices. A burst is free, and then there is one a minute.
#[derive(Default)]
pub(super) struct Budget {
    spent: Mutex<HashMap<(String, String), Spent>>,
    left_out: AtomicU64,
}

struct Spent {
    /// When the burst is whole again.
    whole_at: Instant,
    /// The events that were left out since the last one.
    left_out: u64,
}

impl Budget {
    /// Counts an event. None if it has to be left out; otherwise, how many were left out since
    /// the last one.
    pub(super) fn spend(&self, namespace: &str, reason: &str) -> Option<u64> {
        let now = Instant::now();
        let mut all = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, spent| spent.whole_at > now || spent.left_out > 0);
        let key = (namespace.to_owned(), reason.to_owned());
        let spent = all.entry(key).or_insert(Spent {
            whole_at: now,
            left_out: 0,
        });
        let whole_at = spent.whole_at.max(now) + INTERVAL;
        if whole_at - now > BURST {
            spent.left_out += 1;
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        spent.whole_at = whole_at;
        Some(core::mem::take(&mut spent.left_out))
    }

    /// How many events were left out, of all namespaces.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }
}

const INTERVAL: Duration = Duration::from_secs(60);
/// 25 events, as the other components of Kubernetes have it.
const BURST: Duration = INTERVAL.saturating_mul(25);

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_left_out_and_counted() {
        let budget = Budget::default();
        for _ in 0..25 {
            assert_eq!(budget.spend("rome", "Refused"), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(budget.spend("rome", "Refused"), None);
        }
        // Other reasons and other peers have their own.
        assert_eq!(budget.spend("rome", "Notice"), Some(0));
        assert_eq!(budget.spend("turin", "Refused"), Some(0));
        advance(INTERVAL).await;
        assert_eq!(budget.spend("rome", "Refused"), Some(7));
        assert_eq!(budget.spend("rome", "Refused"), None);
        assert_eq!(budget.left_out(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_of_quiet_namespaces_ends() {
        let budget = Budget::default();
        for number in 0..10 {
            budget.spend(&format!("peer-{number}"), "Refused");
        }
        advance(INTERVAL).await;
        budget.spend("rome", "Refused");
        let spent = budget.spent.lock().unwrap();
        assert_eq!(spent.len(), 1);
    }
}
