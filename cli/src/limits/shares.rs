use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex},
};

use super::locked;

/// The places that each client has taken.
#[derive(Clone)]
pub(crate) struct Shares<K: Eq + Hash> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    most: usize,
}

/// One place in its client's share.
pub(crate) struct Share<K: Eq + Hash> {
    shares: Shares<K>,
    client: K,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// An eighth of all places for each client.
    pub(crate) fn of(places: usize) -> Self {
        Self {
            taken: Arc::default(),
            most: (places / 8).max(SMALLEST_SHARE),
        }
    }

    /// A place for this client. None if it has all its places already.
    pub(crate) fn take(&self, client: K) -> Option<Share<K>> {
        let mut taken = locked(&self.taken);
        let number = taken.entry(client.clone()).or_default();
        if *number >= self.most {
            return None;
        }
        *number += 1;
        Some(Share {
            shares: self.clone(),
            client,
        })
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = locked(&self.shares.taken);
        if let Some(number) = taken.get_mut(&self.client) {
            *number = number.saturating_sub(1);
            if *number == 0 {
                taken.remove(&self.client);
            }
        }
    }
}

const SMALLEST_SHARE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_share() {
        let shares = Shares::of(64);
        let held: Vec<_> = (0..9).filter_map(|_| shares.take("one")).collect();
        assert_eq!(held.len(), 8);
        assert!(shares.take("one").is_none());
        assert!(shares.take("another").is_some());
        drop(held);
        assert!(shares.take("one").is_some());
        assert!(locked(&shares.taken).is_empty());
    }
}
