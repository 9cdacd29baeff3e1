//! How much each client of a listener may take: so many places at once, and so many requests
//! in a time.

mod network;
mod rates;
mod shares;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use self::{
    network::network,
    rates::Rates,
    shares::{Share, Shares},
};

/// Locks a mutex, also after a panic of a thread that held it. Its content is
/// consistent between any two statements.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
