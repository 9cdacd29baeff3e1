//! The project, and the copy of it in which faults are planted.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Failure;

pub(crate) struct Project {
    /// The folder of the project.
    root: PathBuf,
    /// The folder of the copy, of what is built from it and of the results.
    pub(crate) work: PathBuf,
}

impl Project {
    /// The project of the package that Cargo runs. It is asked for at run time, since
    /// another checkout may have built this program.
    pub(crate) fn locate() -> Result<Self, Failure> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR");
        let package = package.ok_or("CARGO_MANIFEST_DIR is not set: use `run`")?;
        let root = Path::new(&package).join("../..").canonicalize()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| root.join("target"));
        let work = std::path::absolute(target)?.join("planted-faults");
        fs::create_dir_all(&work)?;
        Ok(Self { root, work })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn copied(&self) -> PathBuf {
        self.work.join("project")
    }

    /// Copies the files that Git knows, as they are in the folder now. A file whose
    /// content is the same keeps its time, so that Cargo builds only what changed.
    pub(crate) fn copy(&self) -> Result<(), Failure> {
        let listed = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(&self.root)
            .output()?;
        if !listed.status.success() {
            return Err("git ls-files failed".into());
        }
        let wanted: Vec<&str> = std::str::from_utf8(&listed.stdout)?
            .split_terminator('\0')
            .collect();
        for name in &wanted {
            // A file that is deleted and not yet committed.
            let Ok(content) = fs::read(self.root.join(name)) else {
                continue;
            };
            let there = self.copied().join(name);
            write_if_changed(&there, &content)?;
            let mode = fs::metadata(self.root.join(name))?.permissions();
            fs::set_permissions(&there, mode)?;
        }
        self.delete_the_rest(&wanted)
    }

    /// Deletes sources of the copy that the project has no longer.
    fn delete_the_rest(&self, wanted: &[&str]) -> Result<(), Failure> {
        let copied = self.copied();
        let folders = [
            "src",
            "tests",
            "rehearsal",
            "inspection",
            "jsonpath",
            "kube",
            "cli",
        ];
        let mut folders = folders.map(|folder| copied.join(folder)).to_vec();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if !wanted.iter().any(|name| copied.join(name) == path) {
                    fs::remove_file(path)?;
                }
            }
        }
        Ok(())
    }
}

/// Writes a file unless it has this content already.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content)
}
