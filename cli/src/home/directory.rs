//! A folder that is reached without following a symbolic link.
//!
//! Every name is opened relative to its folder, so that nobody can put a link there
//! between the check of a name and its use.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use rustix::{
    fs::{self, AtFlags, CWD, FileType, Mode, OFlags},
    io::Errno,
};
use zeroize::Zeroizing;

use crate::output;

/// An open folder.
pub(crate) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

/// The permissions of a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody: 0644, and 0755 for a folder.
    World,
    /// The owner only: 0600, and 0700 for a folder.
    Owner,
}

/// A new file that still has its temporary name.
pub(crate) struct Written {
    temporary: String,
    name: String,
    file: File,
}

/// The maximum size of a file in bytes. A manifest is always smaller.
pub(crate) const FILE_LIMIT: u64 = 1024 * 1024;

impl Directory {
    /// Opens a folder by a path from the command line. The last part of the path
    /// must not be a symbolic link.
    pub(crate) fn open_path(path: &Path) -> Result<Option<Self>> {
        // A final slash would follow a link.
        let path: PathBuf = path.components().collect();
        let path = if path.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            path
        };
        match fs::openat(CWD, &path, FOLDER, Mode::empty()) {
            Ok(handle) => Ok(Some(Self { handle, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(refusal(errno, &path)),
        }
    }

    /// Like [`open_path`](Self::open_path), but creates the folder if it does not
    /// exist. Then the second value is the folder above. The new name in it is not
    /// on the disk yet.
    pub(crate) fn create_path(path: &Path, access: Access) -> Result<(Self, Option<Self>)> {
        if let Some(found) = Self::open_path(path)? {
            return Ok((found, None));
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| shown(parent))?;
        }
        let above: PathBuf = match path
            .parent()
            .filter(|parent| parent.components().next().is_some())
        {
            Some(parent) => parent.to_owned(),
            None => Component::CurDir.as_os_str().into(),
        };
        let handle = File::open(&above).with_context(|| shown(&above))?;
        let above = Self {
            handle: handle.into(),
            path: above,
        };
        match fs::mkdirat(CWD, path, access.folder_mode()) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(refusal(errno, path)),
        }
        let made =
            Self::open_path(path)?.with_context(|| format!("{}: it has vanished", shown(path)))?;
        Ok((made, Some(above)))
    }

    /// Opens a folder in this one.
    pub(crate) fn open(&self, name: &str) -> Result<Option<Self>> {
        let path = self.path.join(name);
        match fs::openat(&self.handle, name, FOLDER, Mode::empty()) {
            Ok(handle) => Ok(Some(Self { handle, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(refusal(errno, &path)),
        }
    }

    /// Like [`open`](Self::open), but creates the folder if it does not exist. The
    /// second value says whether it was created.
    pub(crate) fn create(&self, name: &str, access: Access) -> Result<(Self, bool)> {
        let made = match fs::mkdirat(&self.handle, name, access.folder_mode()) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(refusal(errno, &self.path.join(name))),
        };
        let folder = self
            .open(name)?
            .with_context(|| format!("{}: it has vanished", shown(&self.path.join(name))))?;
        Ok((folder, made))
    }

    /// The names of the folder's entries, sorted.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let entries = fs::Dir::read_from(&self.handle).with_context(|| shown(&self.path))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.with_context(|| shown(&self.path))?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => names.push(name.to_owned()),
                Err(_) => bail!("{}: found a name that is not UTF-8", shown(&self.path)),
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The content of a file. None if it does not exist. Anything but a regular file
    /// is an error.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | NO_WAIT;
        let handle = match fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(refusal(errno, &path)),
        };
        let stat = fs::fstat(&handle).with_context(|| shown(&path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            bail!("{}: it is not a regular file", shown(&path));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > FILE_LIMIT {
            bail!(
                "{}: found {size} bytes, expected at most {FILE_LIMIT}",
                shown(&path)
            );
        }
        // The buffer is so large that it never grows. Growth would leave a copy of
        // the content in memory that is not wiped.
        let capacity = usize::try_from(size).unwrap_or_default().saturating_add(1);
        let mut content = Zeroizing::new(Vec::with_capacity(capacity));
        File::from(handle)
            .take(size)
            .read_to_end(&mut content)
            .with_context(|| shown(&path))?;
        Ok(Some(content))
    }

    /// Opens the lock file, and creates it if it does not exist.
    pub(crate) fn lock_file(&self, name: &str, is_writable: bool) -> Result<File> {
        let access = if is_writable {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        let flags = access | OFlags::CREATE | NO_WAIT;
        let path = self.path.join(name);
        let handle = fs::openat(&self.handle, name, flags, Access::Owner.file_mode())
            .map_err(|errno| refusal(errno, &path))?;
        regular(handle, &path)
    }

    /// Opens a log. With `make`, it can be read and appended to, and is created if
    /// it does not exist. Without `make`, it can only be read. None if it does not
    /// exist.
    pub(crate) fn open_log(&self, name: &str, make: bool) -> Result<Option<File>> {
        let path = self.path.join(name);
        let flags = NO_WAIT
            | if make {
                OFlags::RDWR | OFlags::APPEND | OFlags::CREATE
            } else {
                OFlags::RDONLY
            };
        let handle = match fs::openat(&self.handle, name, flags, Access::Owner.file_mode()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::ISDIR) => bail!("{}: it is not a regular file", shown(&path)),
            Err(errno) => return Err(refusal(errno, &path)),
        };
        regular(handle, &path).map(Some)
    }

    /// Writes a new file under a temporary name. Its content is not on the disk yet.
    pub(crate) fn write(
        &self,
        name: &str,
        content: &[u8],
        access: Access,
        token: &str,
    ) -> Result<Written> {
        let temporary = format!("{TEMPORARY}{token}.{name}");
        let temporary = if temporary.len() > LONGEST_NAME {
            format!("{TEMPORARY}{token}")
        } else {
            temporary
        };
        let path = self.path.join(&temporary);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = fs::openat(&self.handle, temporary.as_str(), flags, access.file_mode())
            .map_err(|errno| refusal(errno, &path))?;
        let mut written = Written {
            temporary,
            name: name.to_owned(),
            file: File::from(handle),
        };
        let result = written.file.write_all(content);
        match result {
            Ok(()) => Ok(written),
            Err(error) => {
                self.discard(&written);
                Err(error).with_context(|| shown(&path))
            }
        }
    }

    /// Renames a written file to its final name. The rename is atomic.
    pub(crate) fn put(&self, written: &Written) -> Result<()> {
        fs::renameat(
            &self.handle,
            &*written.temporary,
            &self.handle,
            &*written.name,
        )
        .with_context(|| shown(&self.path.join(&written.name)))
    }

    /// Removes a written file under its temporary name.
    pub(crate) fn discard(&self, written: &Written) {
        // The file may have its final name already. A temporary file that remains is
        // removed by the next command that writes.
        let _ = fs::unlinkat(&self.handle, &*written.temporary, AtFlags::empty());
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        match fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(refusal(errno, &self.path.join(name))),
        }
    }

    /// Waits until the names in the folder are on the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        fs::fsync(&self.handle).with_context(|| shown(&self.path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Identifies this folder, whatever the path to it.
    pub(crate) fn identity(&self) -> Result<(u64, u64)> {
        let stat = fs::fstat(&self.handle).with_context(|| shown(&self.path))?;
        Ok((stat.st_dev, stat.st_ino))
    }
}

impl Written {
    /// Waits until the content is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl AsFd for Written {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether this is a temporary name.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

impl Access {
    const fn file_mode(self) -> Mode {
        match self {
            Self::World => Mode::from_raw_mode(0o644),
            Self::Owner => Mode::from_raw_mode(0o600),
        }
    }

    const fn folder_mode(self) -> Mode {
        match self {
            Self::World => Mode::from_raw_mode(0o755),
            Self::Owner => Mode::from_raw_mode(0o700),
        }
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const TEMPORARY: &str = ".new-";
/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// The message for an error of the system. The system refuses a symbolic link with
/// one of two errors: then the message says that it is a link.
fn refusal(errno: Errno, path: &Path) -> anyhow::Error {
    let link =
        std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_symlink());
    if matches!(errno, Errno::LOOP | Errno::NOTDIR) && link {
        return anyhow::anyhow!(
            "{}: it is a symbolic link, and the tool does not follow symbolic links in a home",
            shown(path)
        );
    }
    let error = io::Error::from(errno);
    if error.kind() == ErrorKind::NotADirectory {
        return anyhow::anyhow!("{}: it is not a folder", shown(path));
    }
    anyhow::Error::from(error).context(shown(path))
}

pub(crate) fn shown(path: &Path) -> String {
    output::path(path)
}

/// An opened file that is neither a pipe nor a device.
fn regular(handle: OwnedFd, path: &Path) -> Result<File> {
    let stat = fs::fstat(&handle).with_context(|| shown(path))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        bail!("{}: it is not a regular file", shown(path));
    }
    Ok(File::from(handle))
}

/// No link is followed, and no pipe blocks the tool.
const NO_WAIT: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn a_file_has_one_mebibyte_at_most() {
        let path = env::temp_dir().join(format!("liqo-auth-limit-{}", process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Directory::open_path(&path).unwrap().unwrap();
        let largest = vec![b'x'; 1_048_576];
        std::fs::write(path.join("file"), &largest).unwrap();
        assert_eq!(**folder.read("file").unwrap().unwrap(), largest);
        std::fs::write(path.join("file"), [&largest[..], b"x"].concat()).unwrap();
        let refusal = folder.read("file").unwrap_err().to_string();
        std::fs::remove_dir_all(&path).unwrap();
        let expected = "/file: found 1048577 bytes, expected at most 1048576";
        assert!(refusal.ends_with(expected), "{refusal}");
    }
}
