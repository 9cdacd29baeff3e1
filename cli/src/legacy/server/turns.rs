//! One request of each cluster ID at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use liqo_auth::model::ClusterId;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

use crate::limits::locked;

/// The turns of the cluster IDs that have a request.
#[derive(Default)]
pub(super) struct Turns(Arc<Mutex<HashMap<ClusterId, Arc<Queue<()>>>>>);

/// The turn of a cluster ID. It ends when this value is dropped.
pub(super) struct Turn {
    turns: Turns,
    peer: ClusterId,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits for the turn. Requests get it in the order in which they ask.
    pub(super) async fn take(&self, peer: &ClusterId) -> Turn {
        let queue = locked(&self.0).entry(peer.clone()).or_default().clone();
        let mut turn = Turn {
            turns: Self(self.0.clone()),
            peer: peer.clone(),
            guard: None,
        };
        turn.guard = Some(queue.lock_owned().await);
        turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.guard = None;
        let mut queues = locked(&self.turns.0);
        // Nobody else waits: all others have their own part of it.
        if queues
            .get(&self.peer)
            .is_some_and(|queue| Arc::strong_count(queue) == 1)
        {
            queues.remove(&self.peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_turn_ends_when_it_is_dropped_and_leaves_nothing() {
        let turns = Turns::default();
        let peer: ClusterId = "cl-a".parse().unwrap();
        let first = turns.take(&peer).await;
        let _other = turns.take(&"cl-b".parse().unwrap()).await;
        let second = timeout(Duration::from_millis(10), turns.take(&peer));
        assert!(second.await.is_err());
        assert_eq!(locked(&turns.0).len(), 2);
        drop(first);
        assert_eq!(locked(&turns.0).len(), 1);
        assert!(turns.take(&peer).await.guard.is_some());
        assert_eq!(locked(&turns.0).len(), 1);
    }
}
