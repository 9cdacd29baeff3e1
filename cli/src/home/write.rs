//! Writes a batch of files. Each file is replaced as a whole, and all files are on
//! the disk before the call returns.
//!
//! ```text
//! 1 write every content to a temporary file in the final folder 2 wait until all
//! contents are on the disk 3 rename the files to their final names and remove
//! others, one by one, in order 4 wait until all names are on the disk
//! ```
//!
//! What is left if the tool is killed:
//!
//! - In 1 and 2, the old objects, and temporary files. The next command that writes
//!   removes the temporary files.
//! - In 3, the batch up to some point, and temporary files for the rest.
//! - In 4 and later, the whole batch.
//!
//! What is left if the power fails:
//!
//! - In 1 and 2, the same as above. The content of a temporary file may be
//!   incomplete. A file with a final name is never incomplete.
//! - In 3 and 4, some of the renames. ext4, XFS and Btrfs keep the order of
//!   renames, so that a part of the batch up to some point is left. A file with its
//!   final name has its whole content, because of 2.
//! - Later, the whole batch, because of 4. This includes the names of new folders:
//!   step 4 also waits for the folders above them.
//!
//! So each batch is on the disk before the next batch begins: a pin before a
//! signature, and a decision before its entry in the log. After a crash within a
//! batch, the next run continues from the part that is on the disk, as from any prefix
//! of a step's effects.

use anyhow::{Context, Result};
use zeroize::Zeroizing;

use super::{
    directory::{Access, Directory, Written, shown},
    disk::{Disk, NoWait, SystemDisk},
    layout::ManifestFile,
};
use crate::environment::random;

/// One file of a batch.
pub(crate) struct Change {
    pub(crate) target: Target,
    /// The new content. None removes the file.
    pub(crate) content: Option<Zeroizing<String>>,
}

/// The place of a file.
pub(crate) enum Target {
    /// A manifest.
    Manifest(ManifestFile),
    /// A file in the home itself, for the owner only.
    TopLevel(&'static str),
}

/// Writes a batch into a home.
pub(crate) fn write(root: &Directory, changes: &[Change]) -> Result<()> {
    write_to(&SystemDisk, root, None, changes)
}

/// Writes a batch into a home, and does not wait for the disk. After a power failure, each
/// file is as before, as now, or empty.
pub(crate) fn write_without_wait(root: &Directory, changes: &[Change]) -> Result<()> {
    write_to(&NoWait, root, None, changes)
}

/// Writes the first batch of a home. `above` is the folder above, if the home's
/// own folder was made just now and its name is not on the disk yet.
pub(crate) fn write_first(
    root: &Directory,
    above: Option<&Directory>,
    changes: &[Change],
) -> Result<()> {
    write_to(&SystemDisk, root, above, changes)
}

fn write_to(
    disk: &impl Disk,
    root: &Directory,
    above: Option<&Directory>,
    changes: &[Change],
) -> Result<()> {
    let mut folders = Folders::new(root);
    let mut prepared = Vec::with_capacity(changes.len());
    let result = prepare(&mut folders, changes, &mut prepared)
        .and_then(|()| sync_contents(disk, &prepared))
        .and_then(|()| put_all(&folders, &prepared))
        .and_then(|()| disk.sync_names(&folders.touched(above)));
    if result.is_err() {
        for (folder, prepared) in &prepared {
            if let (Some(folder), Prepared::Write(written)) = (folders.get(*folder), prepared) {
                folder.discard(written);
            }
        }
    }
    result
}

enum Prepared {
    Write(Written),
    Remove(String),
}

/// The folders that a batch touches, each opened once.
struct Folders<'r> {
    root: &'r Directory,
    opened: Vec<(String, Directory)>,
    /// The folders whose entries change. Their names must be on the disk at the end.
    touched: Vec<usize>,
    root_touched: bool,
}

fn prepare(
    folders: &mut Folders<'_>,
    changes: &[Change],
    prepared: &mut Vec<(Option<usize>, Prepared)>,
) -> Result<()> {
    let token = token()?;
    for (number, change) in changes.iter().enumerate() {
        let (folder, name, access) = match &change.target {
            Target::TopLevel(name) => (None, (*name).to_owned(), Access::Owner),
            Target::Manifest(place) => (
                Some(folders.of(place)?),
                place.file.clone(),
                place.area.access(),
            ),
        };
        folders.touch(folder);
        let step = match &change.content {
            None => Prepared::Remove(name),
            Some(content) => {
                let directory = folders.get(folder).context("a folder that was opened")?;
                let token = format!("{token}{number:x}");
                Prepared::Write(directory.write(&name, content.as_bytes(), access, &token)?)
            }
        };
        prepared.push((folder, step));
    }
    Ok(())
}

fn sync_contents(disk: &impl Disk, prepared: &[(Option<usize>, Prepared)]) -> Result<()> {
    let written = prepared.iter().filter_map(|(_, step)| match step {
        Prepared::Write(written) => Some(written),
        Prepared::Remove(_) => None,
    });
    disk.sync_contents(&written.collect::<Vec<_>>())
}

fn put_all(folders: &Folders<'_>, prepared: &[(Option<usize>, Prepared)]) -> Result<()> {
    for (folder, step) in prepared {
        let directory = folders.get(*folder).context("a folder that was opened")?;
        match step {
            Prepared::Write(written) => directory.put(written)?,
            Prepared::Remove(name) => directory.remove(name)?,
        }
    }
    Ok(())
}

impl<'r> Folders<'r> {
    fn new(root: &'r Directory) -> Self {
        Self {
            root,
            opened: Vec::new(),
            touched: Vec::new(),
            root_touched: false,
        }
    }

    fn of(&mut self, place: &ManifestFile) -> Result<usize> {
        let access = place.area.access();
        let area = self.open(None, place.area.folder(), access)?;
        match &place.folder {
            None => Ok(area),
            Some(folder) => self.open(Some(area), folder, access),
        }
    }

    fn open(&mut self, above: Option<usize>, name: &str, access: Access) -> Result<usize> {
        let parent = self.get(above).context("a folder that was opened")?;
        let key = shown(&parent.path().join(name));
        if let Some(found) = self.opened.iter().position(|(opened, _)| *opened == key) {
            return Ok(found);
        }
        let (directory, made) = parent.create(name, access)?;
        if made {
            self.touch(above);
        }
        self.opened.push((key, directory));
        Ok(self.opened.len() - 1)
    }

    fn touch(&mut self, folder: Option<usize>) {
        match folder {
            None => self.root_touched = true,
            Some(folder) if self.touched.contains(&folder) => {}
            Some(folder) => self.touched.push(folder),
        }
    }

    /// The folders whose entries have changed. The home's own folder comes after all
    /// folders in it, so that the settings are on the disk last.
    fn touched<'f>(&'f self, above: Option<&'f Directory>) -> Vec<&'f Directory> {
        let touched = self.touched.iter();
        let touched = touched.filter_map(|folder| self.get(Some(*folder)));
        let root = self.root_touched.then_some(self.root);
        touched.chain(root).chain(above).collect()
    }

    fn get(&self, folder: Option<usize>) -> Option<&Directory> {
        match folder {
            None => Some(self.root),
            Some(folder) => self.opened.get(folder).map(|(_, directory)| directory),
        }
    }
}

/// A random text that distinguishes the temporary files of two batches.
fn token() -> Result<String> {
    let bytes: [u8; 8] = random()?;
    Ok(format!("{:016x}-", u64::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests;
