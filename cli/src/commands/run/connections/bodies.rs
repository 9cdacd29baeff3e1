//! The bodies of requests. Small ones cost little together. So many large ones are in memory at
//! once, until their requests have a place.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Clone)]
pub(in crate::commands::run) struct Bodies {
    large: Arc<Semaphore>,
}

/// One of the large bodies. The next one is read when the last copy of this value is gone.
#[derive(Clone)]
pub(in crate::commands::run) struct LargeBody {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            large: Arc::new(Semaphore::new(MOST_LARGE)),
        }
    }
}

impl Bodies {
    /// Waits until a body with at most so many bytes may be read. `None` stands for one that does
    /// not say how large it is. Returns `None` for a small one, which may be read at once.
    pub(in crate::commands::run) async fn admit(&self, most: Option<usize>) -> Option<LargeBody> {
        if most.is_some_and(|most| most <= SMALL) {
            return None;
        }
        let permit = self.large.clone().acquire_owned().await.ok()?;
        Some(LargeBody {
            _permit: Arc::new(permit),
        })
    }
}

/// Of one body, in bytes.
pub(in crate::commands::run) const SMALL: usize = 64 * 1024;
const MOST_LARGE: usize = 4;

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_large_body_waits_for_another_and_a_small_one_does_not() {
        let bodies = Bodies::default();
        let admit = |most| bodies.admit(most).now_or_never();
        let (large, unknown) = (Some(SMALL + 1), None);
        let held = [large, unknown, large, unknown].map(|most| admit(most).unwrap());
        assert!(held.iter().all(Option::is_some));
        assert!(admit(large).is_none() && admit(unknown).is_none());
        assert!(admit(Some(SMALL)).unwrap().is_none());
        drop(held);
        assert!(admit(large).unwrap().is_some());
    }
}
