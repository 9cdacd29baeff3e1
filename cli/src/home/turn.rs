//! Waits for the lock of a home, and says so.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

use super::{LOCK_FILE, Use, directory::Directory};
use crate::output::{self, ColorChoice, Printer};

/// Locks the lock file of a home. If another process holds it for longer than a moment, the
/// person is told which file it is.
pub(super) fn take_turn(root: &Directory, file: &File, purpose: Use) -> Result<()> {
    let path = root.path().join(LOCK_FILE);
    let locked = locked(file, purpose, || {
        Printer::new(ColorChoice::Never).message(&said(&path));
    });
    locked.with_context(|| format!("{}: it cannot be locked", path.display()))
}

fn locked(file: &File, purpose: Use, say: impl FnOnce() + Send) -> io::Result<()> {
    let at_once = match purpose {
        Use::Read | Use::Trial => file.try_lock_shared(),
        Use::Write => file.try_lock(),
    };
    match at_once {
        Ok(()) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error),
        Err(TryLockError::WouldBlock) => {}
    }
    thread::scope(|scope| {
        let (waits, is_over) = mpsc::channel::<()>();
        let speaker = thread::Builder::new().spawn_scoped(scope, move || {
            if is_over.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        // Without a thread, nobody is told, and the lock is waited for as before.
        drop(speaker);
        let locked = match purpose {
            Use::Read | Use::Trial => file.lock_shared(),
            Use::Write => file.lock(),
        };
        drop(waits);
        locked
    })
}

fn said(path: &Path) -> String {
    format!(
        "Waiting for another process that has locked {}",
        output::path(path)
    )
}

/// A command rarely takes longer. One that waits for a person does.
const MOMENT: Duration = Duration::from_secs(1);
