//! A home that stays in memory while nobody has it locked.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

use anyhow::Context;

use super::{Home, LOCK_FILE, Use};
use crate::{environment::random, failure::Result};

/// A home that is not locked: others may read and change it meanwhile. What
/// is in memory is good again once it is [woken](Self::wake), unless somebody
/// wrote.
pub(crate) struct Resting {
    home: Home,
    generation: Generation,
    is_stale: bool,
}

/// What the lock file holds: another text after each change that the tool
/// made.
pub(super) type Generation = [u8; 16];

impl Home {
    /// Lets others have the home. What was not saved is lost.
    pub(crate) fn rest(self) -> Result<Resting> {
        let is_stale = !self.is_saved();
        let generation = generation(&self.lock)?;
        self.lock.unlock()?;
        Ok(Resting {
            home: self,
            generation,
            is_stale,
        })
    }

    /// Tells those that keep the home in memory that it has changed.
    pub(super) fn mark_changed(&self) -> Result<()> {
        let next = format!("{:016x}", u64::from_be_bytes(random()?));
        self.lock.write_all_at(next.as_bytes(), 0)?;
        Ok(())
    }
}

impl Resting {
    /// Has the home again, for oneself. It is read anew if somebody changed it
    /// by the tool; the second value says so.
    pub(crate) fn wake(self) -> Result<(Home, bool)> {
        self.home.lock.lock().with_context(|| {
            let path = self.home.root.path().join(LOCK_FILE);
            format!("{}: it cannot be locked", path.display())
        })?;
        if !self.is_stale && generation(&self.home.lock)? == self.generation {
            return Ok((self.home, false));
        }
        let Home { root, lock, .. } = self.home;
        Ok((Home::read(root, lock, Use::Write)?, true))
    }

    /// The path by which the home was opened.
    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    /// Has it read anew next time: for changes that were not made by the tool.
    pub(crate) fn forget(&mut self) {
        self.is_stale = true;
    }
}

fn generation(lock: &File) -> Result<Generation> {
    let mut found = Generation::default();
    // A new lock file is empty.
    let _ = lock.read_at(&mut found, 0)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use liqo_auth::{
        machine::{Effect, Version},
        model::{Kind, Namespace, ObjectRef},
    };

    use super::super::{Blueprint, create};
    use super::*;

    #[test]
    fn what_others_changed_meanwhile_is_seen() {
        let path = std::env::temp_dir().join(format!("liqo-auth-resting-{}", std::process::id()));
        let now = "2026-11-20T13:00:00Z".parse().unwrap();
        let blueprint = Blueprint {
            cluster_id: "cl-a".parse().unwrap(),
            algorithm: liqo_auth::crypto::Algorithm::Ed25519,
            api_server: "https://127.0.0.1:6443".parse().unwrap(),
            api_server_ca: None,
            require_approval: false,
            authority: None,
            now,
        };
        create(&path, &blueprint).unwrap();
        let namespace = Namespace::for_tenant(&"cl-b".parse().unwrap());
        let id = ObjectRef::new(Kind::Namespace, "", "liqo-tenant-cl-b");

        let home = Home::open(&path, Use::Write).unwrap();
        let (home, read_anew) = home.rest().unwrap().wake().unwrap();
        assert!(!read_anew);
        let resting = home.rest().unwrap();
        let mut other = Home::open(&path, Use::Write).unwrap();
        other
            .apply(&Effect::Create(namespace.clone().into()), now)
            .unwrap();
        other.save().unwrap();
        drop(other);
        let (mut home, read_anew) = resting.wake().unwrap();
        assert!(read_anew && home.value(&id).is_some());

        // What it changed itself it knows; what it did not save is gone.
        let version = Version {
            uid: String::new(),
            resource_version: String::new(),
        };
        let delete = Effect::Delete {
            id: id.clone(),
            version,
        };
        home.apply(&delete, now).unwrap();
        let (mut home, read_anew) = home.rest().unwrap().wake().unwrap();
        assert!(read_anew && home.value(&id).is_some());
        home.apply(&delete, now).unwrap();
        home.save().unwrap();
        let (home, read_anew) = home.rest().unwrap().wake().unwrap();
        assert!(!read_anew && home.value(&id).is_none());
        std::fs::remove_dir_all(home.path()).unwrap();
    }
}
