//! Compares work with other work, since a test asserts no time.

use std::{sync::mpsc, thread};

/// The result of `work`, if it ends before `other` has run so many times. Both run at the
/// same time.
#[allow(
    clippy::disallowed_methods,
    reason = "the work has a thread of its own, so that the test ends before it"
)]
pub(crate) fn result_within<T: Send + 'static>(
    times: usize,
    mut other: impl FnMut(),
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(work());
    });
    for _ in 0..times {
        other();
        if let Ok(result) = receiver.try_recv() {
            return Some(result);
        }
    }
    None
}
