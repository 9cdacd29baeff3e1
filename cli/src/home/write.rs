//! Writing a batch of files: each one as a whole, all of them on the disk
//! before the call returns.

use std::thread;

use anyhow::{Context, Result, bail};
use zeroize::Zeroizing;

use super::{
    directory::{Access, Directory, Written, shown},
    layout::ManifestFile,
};
use crate::environment::random;

/// One file of a batch.
pub(crate) struct Change {
    pub(crate) target: Target,
    /// What it is to hold; none to take it away.
    pub(crate) content: Option<Zeroizing<String>>,
}

/// Where a file lies.
pub(crate) enum Target {
    /// A manifest.
    Manifest(ManifestFile),
    /// A file in the home itself, for the owner only.
    TopLevel(&'static str),
}

/// Writes a batch. Contents are on the disk before any of them comes into its
/// place; then they do so one by one, in their order. A crash leaves a prefix.
pub(crate) fn write(root: &Directory, changes: &[Change]) -> Result<()> {
    let mut folders = Folders::new(root);
    let mut prepared = Vec::with_capacity(changes.len());
    let result = prepare(&mut folders, changes, &mut prepared);
    let result = result.and_then(|()| put_all(&folders, &prepared));
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
    /// Which of them got a name, and have to be on the disk.
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
    let written = prepared.iter().filter_map(|(_, step)| match step {
        Prepared::Write(written) => Some(written),
        Prepared::Remove(_) => None,
    });
    all_at_once(&written.collect::<Vec<_>>(), |written| {
        written
            .sync()
            .context("a file of the home cannot be written to the disk")
    })
}

fn put_all(folders: &Folders<'_>, prepared: &[(Option<usize>, Prepared)]) -> Result<()> {
    for (folder, step) in prepared {
        let directory = folders.get(*folder).context("a folder that was opened")?;
        match step {
            Prepared::Write(written) => directory.put(written)?,
            Prepared::Remove(name) => directory.remove(name)?,
        }
    }
    let touched = folders
        .touched
        .iter()
        .filter_map(|folder| folders.get(Some(*folder)));
    let root = folders.root_touched.then_some(folders.root);
    all_at_once(&touched.chain(root).collect::<Vec<_>>(), |directory| {
        directory.sync()
    })
}

/// Waits for the disk once instead of each time: a file system joins what
/// comes to it together.
fn all_at_once<T: Sync>(items: &[T], sync: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let share = items.len().div_ceil(MOST_THREADS).max(1);
    let mut shares = items.chunks(share);
    let Some(first) = shares.next() else {
        return Ok(());
    };
    let sync = |items: &[T]| items.iter().try_for_each(&sync);
    let sync = &sync;
    thread::scope(|scope| {
        let threads: Vec<_> = shares
            .map(|items| scope.spawn(move || sync(items)))
            .collect();
        let mut result = sync(first);
        for thread in threads {
            let joined = thread
                .join()
                .unwrap_or_else(|_| bail!("a file of the home cannot be written to the disk"));
            result = result.and(joined);
        }
        result
    })
}

/// Enough to keep a disk busy.
const MOST_THREADS: usize = 16;

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

    fn get(&self, folder: Option<usize>) -> Option<&Directory> {
        match folder {
            None => Some(self.root),
            Some(folder) => self.opened.get(folder).map(|(_, directory)| directory),
        }
    }
}

/// What tells the temporary files of one batch from another's.
fn token() -> Result<String> {
    let bytes: [u8; 8] = random()?;
    Ok(format!("{:016x}-", u64::from_be_bytes(bytes)))
}
