//! A home that stays in memory while it is not locked.

use std::{fs::File, os::unix::fs::FileExt};

use super::{Home, Site, Use, turn::take_turn};
use crate::{environment::random, failure::Result};

/// A home in memory that is not locked. Other processes may read and change its
/// files meanwhile. [`wake`](Self::wake) locks it again, and reads it again if it
/// has changed.
pub(crate) struct Resting {
    home: Home,
    generation: Generation,
    is_stale: bool,
}

/// The content of the lock file. Each change by the tool writes another text into
/// it.
pub(super) type Generation = [u8; 16];

impl Home {
    /// Unlocks the home for other processes. Changes that are not saved are lost.
    pub(crate) fn rest(self) -> Result<Resting> {
        let is_stale = !self.is_saved();
        let lock = &self.folder(NEEDS)?.lock;
        let generation = generation(lock)?;
        lock.unlock()?;
        Ok(Resting {
            home: self,
            generation,
            is_stale,
        })
    }

    /// Tells the processes that have the home in memory that it changes.
    pub(super) fn mark_changed(&self) -> Result<()> {
        let next = format!("{:016x}", u64::from_be_bytes(random()?));
        let lock = &self.folder(NEEDS)?.lock;
        lock.write_all_at(next.as_bytes(), 0)?;
        Ok(())
    }
}

impl Resting {
    /// Locks the home again. If another process has changed it with the tool, or if
    /// it is stale, it is read again. The second value says whether it was read
    /// again.
    pub(crate) fn wake(self) -> Result<(Home, bool)> {
        let folder = self.home.folder(NEEDS)?;
        take_turn(&folder.root, &folder.lock, Use::Write)?;
        if !self.is_stale && generation(&folder.lock)? == self.generation {
            return Ok((self.home, false));
        }
        let folder = self.home.into_folder(NEEDS)?;
        Ok((Home::read(folder, Use::Write)?, true))
    }

    /// Where the home is.
    pub(crate) fn site(&self) -> &Site {
        self.home.site()
    }

    /// Makes the next [`wake`](Self::wake) read the home again. This is for changes
    /// that were made without the tool.
    pub(crate) fn forget(&mut self) {
        self.is_stale = true;
    }
}

const NEEDS: &str = "is the server of a home";

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
            signer: crate::home::Signer::Home,
            for_cluster: false,
            key_per_provider: false,
            authority: None,
            now,
        };
        create(&path, &blueprint).unwrap();
        let namespace = Namespace::for_tenant(&"cl-b".parse().unwrap());
        let id = ObjectRef::new(Kind::Namespace, "", "liqo-tenant-cl-b");

        let home = Home::open_folder(&path, Use::Write).unwrap();
        let (home, read_anew) = home.rest().unwrap().wake().unwrap();
        assert!(!read_anew);
        let resting = home.rest().unwrap();
        let mut other = Home::open_folder(&path, Use::Write).unwrap();
        other
            .apply(&Effect::Create(namespace.clone().into()), now)
            .unwrap();
        other.save().unwrap();
        drop(other);
        let (mut home, read_anew) = resting.wake().unwrap();
        assert!(read_anew && home.value(&id).is_some());

        // A change that is not saved is lost, and the home is read again. A saved
        // change of the process itself is known, and the home is not read again.
        let version = Version::default();
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
        drop(home);
        std::fs::remove_dir_all(path).unwrap();
    }
}
