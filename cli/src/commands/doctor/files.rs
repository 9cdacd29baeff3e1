//! The modes of a home's files.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::Finding;
use crate::failure::Result;

/// The private files and folders that others than their owner may open.
pub(super) fn modes(home: &Path) -> Result<Vec<Finding>> {
    let mut open = Vec::new();
    for area in ["private", "records", "home.yaml", "audit.log", "audit.head"] {
        walk(&home.join(area), &mut open)?;
    }
    Ok(open
        .into_iter()
        .map(|(path, mode)| {
            let path = path.display();
            Finding::new(
                format!("others than the owner may open {path}: its mode is {mode:04o}"),
                format!("chmod go= '{path}'"),
            )
        })
        .collect())
}

fn walk(path: &Path, open: &mut Vec<(PathBuf, u32)>) -> Result<()> {
    let shown = || path.display().to_string();
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 && !metadata.is_symlink() {
        open.push((path.to_owned(), mode));
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path).with_context(shown)? {
            walk(&entry.with_context(shown)?.path(), open)?;
        }
    }
    Ok(())
}
