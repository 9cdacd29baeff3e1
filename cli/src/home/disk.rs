//! Waits until written data is on the disk.
//!
//! `fdatasync` of a file waits for its content, and `fsync` of a folder for its
//! names. Each of these calls waits for the disk anew. One `syncfs` waits for
//! all that was written to a file system before, by any process.
//!
//! So up to [`FEW`] files are synced one by one, which does not wait for
//! another process's data. More of them are synced by one `syncfs` for each file system
//! that they lie on. Its success counts if it guarantees as much as `fsync` of each
//! file:
//!
//! - Linux 5.8 and later report every write that failed since the handle was
//!   opened. Earlier kernels do not report failed writes.
//! - ext4, XFS and Btrfs commit all that they hold, and flush the disk's cache.
//!   An overlay does not pass on the errors of the file system below it. With
//!   FUSE and network file systems, the data may stay uncommitted on a server.
//!
//! In all other cases, and after an error, each file is synced as well. Little
//! is left to write then, and the result of each call tells whether the error
//! concerns the home or another process's file.

use std::os::fd::AsFd;

use anyhow::{Context, Result};

use super::directory::{Directory, Written};

/// Waits until a batch of files is on the disk.
pub(crate) trait Disk {
    /// Returns once the contents of the files are on the disk. The files are in
    /// the order in which they were opened.
    fn sync_contents(&self, files: &[&Written]) -> Result<()>;

    /// Returns once the names in the folders are on the disk. The folders were
    /// opened before any file got its final name.
    fn sync_names(&self, folders: &[&Directory]) -> Result<()>;
}

/// Waits for nothing.
pub(crate) struct NoWait;

impl Disk for NoWait {
    fn sync_contents(&self, _: &[&Written]) -> Result<()> {
        Ok(())
    }

    fn sync_names(&self, _: &[&Directory]) -> Result<()> {
        Ok(())
    }
}

/// The real disk, through the operating system's calls.
pub(crate) struct SystemDisk;

impl Disk for SystemDisk {
    fn sync_contents(&self, files: &[&Written]) -> Result<()> {
        sync_all(files, |file| {
            file.sync()
                .context("a file of the home cannot be written to the disk")
        })
    }

    fn sync_names(&self, folders: &[&Directory]) -> Result<()> {
        sync_all(folders, Directory::sync)
    }
}

fn sync_all<T: AsFd>(items: &[&T], sync: impl Fn(&T) -> Result<()>) -> Result<()> {
    if items.len() > FEW && sync_file_systems(items) {
        return Ok(());
    }
    items.iter().try_for_each(|item| sync(item))
}

/// Up to this number, files are synced one by one.
const FEW: usize = 3;

/// Syncs the file systems that these files lie on, each one as a whole. Returns
/// whether all of the files are known to be on the disk now.
#[cfg(target_os = "linux")]
fn sync_file_systems<T: AsFd>(items: &[&T]) -> bool {
    use rustix::{fs, system};

    let mut done = Vec::new();
    let mut is_certain = reports_failed_writes(system::uname().release().to_bytes());
    for item in items {
        // A folder of a home may be a mount.
        let Ok(stat) = fs::fstat(item) else {
            return false;
        };
        if done.contains(&stat.st_dev) {
            continue;
        }
        done.push(stat.st_dev);
        // The first file was opened before the others were written, so its
        // handle reports the failed writes of all of them.
        let is_synced = fs::syncfs(item).is_ok();
        is_certain &= is_synced && fs::fstatfs(item).is_ok_and(|stat| commits(&stat));
    }
    is_certain
}

#[cfg(not(target_os = "linux"))]
fn sync_file_systems<T: AsFd>(_: &[&T]) -> bool {
    false
}

/// Whether `syncfs` of this kernel reports writes that failed.
#[cfg(target_os = "linux")]
fn reports_failed_writes(release: &[u8]) -> bool {
    let mut numbers = release
        .split(|byte| !byte.is_ascii_digit())
        .map(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok());
    let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) >= (5, 8)
}

/// Whether `syncfs` on this file system commits all that it holds.
#[cfg(target_os = "linux")]
fn commits(stat: &rustix::fs::StatFs) -> bool {
    const EXT4: u32 = 0xEF53;
    const XFS: u32 = 0x5846_5342;
    const BTRFS: u32 = 0x9123_683E;
    u32::try_from(stat.f_type).is_ok_and(|magic| [EXT4, XFS, BTRFS].contains(&magic))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn kernels_before_5_8_say_nothing_of_failed_writes() {
        for (release, expected) in [
            ("6.18.44-generic", true),
            ("5.8", true),
            ("5.8-rc1", true),
            ("5.10.0-28-amd64", true),
            ("10.0.1", true),
            ("5.7.19", false),
            ("4.18.0-553.el8_10.x86_64", false),
            ("4.4.0", false),
            ("6", false),
            ("", false),
            ("unknown", false),
        ] {
            assert_eq!(
                reports_failed_writes(release.as_bytes()),
                expected,
                "{release}"
            );
        }
    }
}
