//! The files of a home: their modes, the room for more, and the settings.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use rustix::{
    fs::{CWD, Mode, OFlags, fsync, openat},
    io::Errno,
};

use super::Finding;
use crate::{
    failure::{Code, Failure, Result},
    home::{AUDIT_HEAD_FILE, AUDIT_LOG_FILE, FILE_LIMIT, Site},
    output,
};

/// The files of the log that are a link, a folder or a device. The tool opens none of them, so
/// that nothing else of them is looked at.
pub(super) fn of_log(home: &Path) -> Vec<Finding> {
    let wrong = LOG.into_iter().filter_map(|name| {
        let path = home.join(name);
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        let shown = output::path(&path);
        (!kind.is_file()).then(|| match kind.is_symlink() {
            true => Finding::new(
                format!("{shown} is a symbolic link, and the tool follows none in a home"),
                in_place_of_link(&shown),
            ),
            false => Finding::new(
                format!("{shown} is not a regular file"),
                format!(
                    "Move it away, and put the file back from a copy: mv -- {} DIR. Without a copy, the next decision makes the file, and notes in the log what is missing.",
                    output::quoted(&path)
                ),
            ),
        })
    });
    wrong.collect()
}

fn in_place_of_link(shown: &str) -> String {
    format!("Put the file itself in the place of the link {shown}.")
}

/// Whether an area of a home is a file of the log that is none.
fn is_told(path: &Path) -> bool {
    let is_of_log = LOG.into_iter().any(|name| path.ends_with(name));
    is_of_log && fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

const LOG: [&str; 2] = [AUDIT_LOG_FILE, AUDIT_HEAD_FILE];

/// The private files and folders that others than their owner may open, and the public ones that
/// others may write.
pub(super) fn modes(home: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let areas = ["private", "records", "home.yaml"].into_iter().chain(LOG);
    let areas = areas.map(|area| home.join(area));
    for area in areas.filter(|area| !is_told(area)) {
        for (path, mode) in beyond(&area, 0o077, true)? {
            findings.push(of_mode("open", &path, mode, "go="));
        }
    }
    let public = beyond(home, 0o022, false)?.into_iter();
    for (path, mode) in public.chain(beyond(&home.join("manifests"), 0o022, true)?) {
        findings.push(of_mode("write", &path, mode, "go-w"));
    }
    Ok(findings)
}

fn of_mode(may: &str, path: &Path, mode: u32, change: &str) -> Finding {
    let shown = output::path(path);
    Finding::new(
        format!("others than the owner may {may} {shown}: its mode is {mode:04o}"),
        format!("chmod {change} -- {}", output::quoted(path)),
    )
}

/// What has one of these bits in its mode: the path, and what is in it.
fn beyond(path: &Path, bits: u32, is_deep: bool) -> Result<Vec<(PathBuf, u32)>> {
    let shown = || output::path(path);
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & bits != 0 && !metadata.is_symlink() {
        found.push((path.to_owned(), mode));
    }
    if is_deep && metadata.is_dir() {
        for entry in fs::read_dir(path).with_context(shown)? {
            found.extend(beyond(&entry.with_context(shown)?.path(), bits, true)?);
        }
    }
    Ok(found)
}

/// A home to which nothing can be written: a trial writes a file without a name, of which nothing
/// is left.
pub(super) fn no_room(home: &Path) -> Option<Finding> {
    let areas = ["manifests", "private", "records"].map(|area| home.join(area));
    let folders = [home.to_owned()].into_iter();
    let folders = folders.chain(areas.into_iter().filter(|area| area.is_dir()));
    let mut tried = folders.map(|folder| (write_unnamed(&folder), folder));
    let log = home.join(AUDIT_LOG_FILE);
    // A pipe of that name does not block it.
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(CWD, &log, flags, Mode::empty()).map_err(io::Error::from);
    let of_log = opened
        .err()
        .filter(|error| error.kind() != ErrorKind::NotFound && !is_told(&log));
    let failed = tried.find_map(|(result, folder)| Some((result.err()?, folder)));
    let (error, path) = failed.or_else(|| Some((of_log?, log)))?;
    Some(Finding::new(
        format!("nothing can be written to {}: {error}", output::path(&path)),
        "Let this user write there, or make room on the file system.",
    ))
}

fn write_unnamed(folder: &Path) -> io::Result<()> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = match openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR) {
        // The file system has no files without a name.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => return Ok(()),
        opened => opened?,
    };
    let mut file = fs::File::from(file);
    file.write_all(&[0; ROOM])?;
    fsync(&file)?;
    Ok(())
}

/// The bytes that the files of one exchange take, at most. Each takes a block.
const ROOM: usize = 128 * 1024;

/// A manifest that is too large, and the settings of a home that are a link, or cannot be read as
/// settings.
pub(super) fn of_settings(site: &Site, failure: Failure) -> Result<Finding> {
    let Site::Folder(home) = site else {
        return Err(failure);
    };
    if let Some(file) = too_large(home) {
        let remedy = format!(
            "Move the file away, and put it back from a copy: mv -- {} DIR. Without a copy, the object is missing then: run `doctor` again.",
            output::quoted(&file)
        );
        return Ok(Finding::new(failure.to_string(), remedy));
    }
    let settings = home.join("home.yaml");
    let found = fs::symlink_metadata(&settings);
    let is_link = found.as_ref().is_ok_and(fs::Metadata::is_symlink);
    let settings = output::path(&settings);
    let remedy = match failure.code {
        Code::AtOdds if found.is_err() => {
            format!("Restore {settings} from a backup: no command makes it again.")
        }
        _ if is_link => in_place_of_link(&settings),
        Code::AtOdds => format!(
            "Mend the line of {settings} that the message names, or restore the file from a backup."
        ),
        Code::Internal if found.is_ok() => "Put the file or the folder itself in the place of a link or a device, and let this user read it.".to_owned(),
        _ => return Err(failure),
    };
    Ok(Finding::new(failure.to_string(), remedy))
}

/// A file of a home that is larger than each manifest.
fn too_large(path: &Path) -> Option<PathBuf> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_dir() {
        let mut entries = fs::read_dir(path).ok()?.flatten();
        return entries.find_map(|entry| too_large(&entry.path()));
    }
    let is_manifest = path.extension().is_some_and(|it| it == "yaml");
    (metadata.len() > FILE_LIMIT && is_manifest).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_to_which_nothing_can_be_written_is_found_and_another_one_is_not() {
        let folder = std::env::temp_dir();
        assert!(no_room(&folder).is_none());
        let missing = folder.join("liqo-auth-no-such-folder");
        let found = no_room(&missing).map(|Finding { what, .. }| what);
        let begins = format!("nothing can be written to {}: ", missing.display());
        assert!(found.is_some_and(|what| what.starts_with(&begins)));
    }
}
