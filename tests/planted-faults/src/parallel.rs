//! Work on many items, some of them at a time.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::Failure;

/// Works on each item, and on at most `jobs` of them at a time. The first failure ends the
/// work.
pub(crate) fn for_each<T: Sync>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let work_on_next = || -> Result<(), Failure> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(failure) = work(item) {
                next.store(items.len(), Ordering::Relaxed);
                return Err(failure);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work_on_next)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?)
    })
}
