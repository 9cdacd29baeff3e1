//! A home in a folder: its lock, its settings and its manifests.

use std::{fs::File, path::Path};

use anyhow::Context;
use liqo_auth::model::ObjectRef;
use zeroize::Zeroizing;

use super::{
    Site, Use,
    audit_log::AUDIT_LOG_FILE,
    directory::{Directory, is_temporary},
    layout::{Area, LOCK_FILE, ManifestFile, SETTINGS_FILE},
    settings::Settings,
    store::Store,
    turn::take_turn,
};
use crate::{
    failure::{Failure, Result},
    output::{program, quoted},
};

/// An existing home's folder. Its lock is held until this value is dropped.
pub(super) struct Folder {
    pub(super) root: Directory,
    pub(super) lock: File,
}

impl Folder {
    pub(super) fn open(path: &Path, purpose: Use) -> Result<Self> {
        let root = existing(path)?;
        let lock = lock(&root, purpose)?;
        Ok(Self { root, lock })
    }

    /// Opens two folders. They are locked in a fixed order, so that two
    /// commands cannot block each other.
    pub(super) fn open_both(one: &Path, other: &Path, purpose: Use) -> Result<(Self, Self)> {
        let (one, other) = (existing(one)?, existing(other)?);
        let (first, second) = (one.identity()?, other.identity()?);
        if first == second {
            return Err(Failure::usage(
                "--home and --remote-home are the same folder: a cluster does not peer with itself",
            ));
        }
        let (lock_of_one, lock_of_other) = if first < second {
            let lock_of_one = lock(&one, purpose)?;
            (lock_of_one, lock(&other, purpose)?)
        } else {
            let lock_of_other = lock(&other, purpose)?;
            (lock(&one, purpose)?, lock_of_other)
        };
        let folder = |root, lock| Self { root, lock };
        Ok((folder(one, lock_of_one), folder(other, lock_of_other)))
    }

    pub(super) fn settings(&self) -> Result<Settings> {
        let text = self.root.read(SETTINGS_FILE)?;
        let text = text.ok_or_else(|| absent(self.root.path()))?;
        Settings::read(&text).map_err(|error| {
            let file = self.root.path().join(SETTINGS_FILE);
            Failure::at_odds(format!("{}: {error:#}", file.display()))
        })
    }

    /// Only these objects, as far as they exist.
    pub(super) fn some_objects(&self, wanted: &[ObjectRef]) -> Result<Store> {
        let mut store = Store::empty()?;
        for id in wanted {
            let place =
                ManifestFile::of(id).with_context(|| format!("{id} cannot be stored in a home"))?;
            if let Some(text) = read(&self.root, &place)? {
                store.load(id.clone(), text);
            }
        }
        Ok(store)
    }

    /// All objects. A folder that is only read is unlocked then.
    pub(super) fn objects(&self, purpose: Use) -> Result<Store> {
        let root = &self.root;
        if purpose == Use::Write {
            sweep(root, &root.names()?)?;
        }
        let mut texts = Vec::new();
        for area in Area::ALL {
            let Some(directory) = root.open(area.folder())? else {
                continue;
            };
            if !area.has_folders() {
                load(&mut texts, &directory, area, None, purpose)?;
                continue;
            }
            // A namespace has no dot. A folder with a dot does not belong to the
            // tool.
            for folder in directory
                .names()?
                .into_iter()
                .filter(|name| !name.contains('.'))
            {
                if let Some(opened) = directory.open(&folder)? {
                    load(&mut texts, &opened, area, Some(folder), purpose)?;
                }
            }
        }
        if purpose != Use::Write {
            // All files were read under the lock. Other commands need not wait any
            // longer.
            self.lock.unlock()?;
        }
        let mut store = Store::empty()?;
        for (id, text) in texts {
            store.load(id, text);
        }
        Ok(store)
    }
}

/// The manifest in a place, if there is one.
fn read(root: &Directory, place: &ManifestFile) -> anyhow::Result<Option<Zeroizing<Vec<u8>>>> {
    let Some(area) = root.open(place.area.folder())? else {
        return Ok(None);
    };
    match &place.folder {
        None => area.read(&place.file),
        Some(folder) => match area.open(folder)? {
            None => Ok(None),
            Some(folder) => folder.read(&place.file),
        },
    }
}

fn load(
    texts: &mut Vec<(ObjectRef, Zeroizing<Vec<u8>>)>,
    directory: &Directory,
    area: Area,
    folder: Option<String>,
    purpose: Use,
) -> Result<()> {
    let names = directory.names()?;
    if purpose == Use::Write {
        sweep(directory, &names)?;
    }
    for file in names {
        let place = ManifestFile {
            area,
            folder: folder.clone(),
            file,
        };
        // A file without the name of an object does not belong to the tool.
        let Some(id) = place.object() else { continue };
        if let Some(text) = directory.read(&place.file)? {
            texts.push((id, text));
        }
    }
    Ok(())
}

/// Removes the temporary files that a crash has left. The home is locked: no other
/// command is writing them.
fn sweep(directory: &Directory, names: &[String]) -> anyhow::Result<()> {
    names
        .iter()
        .filter(|name| is_temporary(name))
        .try_for_each(|name| directory.remove(name))
}

/// The folder that the command line names. None if there is none. Anything else of that
/// name is an error of the command line.
pub(super) fn named(path: &Path) -> Result<Option<Directory>> {
    Directory::open_path(path).map_err(|error| {
        let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let there = std::fs::canonicalize(path).ok().filter(|_| is_link);
        Failure::usage(match there {
            Some(there) => format!("{error:#}. Name the folder itself: {}", quoted(&there)),
            None => format!("{error:#}"),
        })
    })
}

/// The folder of an existing home. In any other folder, nothing is created, not even
/// the lock file.
fn existing(path: &Path) -> Result<Directory> {
    let root = named(path)?.ok_or_else(|| absent(path))?;
    if root.read(SETTINGS_FILE)?.is_some() {
        return Ok(root);
    }
    // Only a home has a log. Its keys must not be made anew.
    match root.names()?.iter().any(|name| name == AUDIT_LOG_FILE) {
        true => Err(Failure::at_odds(format!(
            "{}: {SETTINGS_FILE} is missing, and this is a home, since it has {AUDIT_LOG_FILE}",
            Site::Folder(path.to_owned())
        ))),
        false => Err(absent(path)),
    }
}

fn absent(path: &Path) -> Failure {
    let site = Site::Folder(path.to_owned());
    Failure::usage(format!(
        "{site} is not a home. Make one with: {} init {} --cluster-id ID",
        program(),
        site.options()
    ))
}

/// Locks a home for reading, if nobody is writing it. While this lock is held, a command
/// that reads the home does not wait.
pub(crate) fn lock_at_once(path: &Path) -> Option<File> {
    let file = existing(path).ok()?.lock_file(LOCK_FILE, false).ok()?;
    file.try_lock_shared().ok()?;
    Some(file)
}

/// Locks a home, and waits for the lock.
pub(super) fn lock(root: &Directory, purpose: Use) -> Result<File> {
    let file = root.lock_file(LOCK_FILE, purpose == Use::Write)?;
    take_turn(root, &file, purpose)?;
    Ok(file)
}
