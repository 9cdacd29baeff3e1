//! How much each client of a listener may take: so many places at once.

mod network;
mod shares;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use self::{network::network, shares::Shares};

/// Locks a mutex, also after a panic of a thread that held it. Its content is
/// consistent between any two statements.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
