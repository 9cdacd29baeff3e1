use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use anyhow::bail;
use liqo_auth::model::{Kind, ObjectRef};

use super::*;

/// A disk that records the files of the home at each wait. A crash would leave the
/// same files.
struct Watched {
    home: PathBuf,
    fails: Option<Wait>,
    waits: RefCell<Vec<(Wait, Left)>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Wait {
    /// The number of files.
    Contents(usize),
    /// The folders, by their paths relative to the home.
    Names(Vec<String>),
}

/// Paths relative to the home, with contents. A temporary file has the name "new".
type Left = BTreeMap<String, Vec<String>>;

impl Watched {
    fn new(home: &Home) -> Self {
        Self {
            home: home.0.clone(),
            fails: None,
            waits: RefCell::default(),
        }
    }

    fn wait(&self, wait: Wait) -> Result<()> {
        let fails = self.fails.as_ref() == Some(&wait);
        self.waits.borrow_mut().push((wait, left(&self.home)));
        if fails {
            bail!("the disk is gone");
        }
        Ok(())
    }
}

impl Disk for Watched {
    fn sync_contents(&self, files: &[&Written]) -> Result<()> {
        self.wait(Wait::Contents(files.len()))
    }

    fn sync_names(&self, folders: &[&Directory]) -> Result<()> {
        let from_home = |folder: &&Directory| match folder.path().strip_prefix(&self.home) {
            Ok(path) => path.display().to_string(),
            Err(_) => "above".to_owned(),
        };
        self.wait(Wait::Names(folders.iter().map(from_home).collect()))
    }
}

struct Home(PathBuf);

impl Home {
    /// With the Namespace `a`, and Tenant `x` in it.
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("liqo-auth-write-{}-{number}", std::process::id());
        let home = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(home.0.join("manifests/_cluster")).unwrap();
        fs::create_dir_all(home.0.join("manifests/a")).unwrap();
        fs::write(home.0.join(NAMESPACE), "old").unwrap();
        fs::write(home.0.join(TENANT), "old").unwrap();
        home
    }

    fn root(&self) -> Directory {
        Directory::open_path(&self.0).unwrap().unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const NAMESPACE: &str = "manifests/_cluster/namespace.a.yaml";
const TENANT: &str = "manifests/a/tenant.x.yaml";
const SECRET: &str = "private/a/secret.s.yaml";

/// Writes a Secret in a new folder, changes the Namespace, and removes the Tenant.
fn batch() -> Vec<Change> {
    vec![
        change(Kind::Secret, "a", "s", Some("new")),
        change(Kind::Namespace, "", "a", Some("new")),
        change(Kind::Tenant, "a", "x", None),
    ]
}

fn change(kind: Kind, namespace: &str, name: &str, content: Option<&str>) -> Change {
    let place = ManifestFile::of(&ObjectRef::new(kind, namespace, name)).unwrap();
    Change {
        target: Target::Manifest(place),
        content: content.map(|content| Zeroizing::new(content.to_owned())),
    }
}

fn settings() -> Change {
    Change {
        target: Target::TopLevel("home.yaml"),
        content: Some(Zeroizing::new("settings".to_owned())),
    }
}

fn left(home: &Path) -> Left {
    let mut left = Left::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            let shown = match name.starts_with(".new-") {
                true => folder.join("new"),
                false => path.clone(),
            };
            let shown = shown.strip_prefix(home).unwrap().display().to_string();
            let content = fs::read_to_string(&path).unwrap();
            left.entry(shown).or_default().push(content);
        }
    }
    left
}

fn files(files: &[(&str, &str)]) -> Left {
    let files = files.iter();
    files
        .map(|(path, content)| ((*path).to_owned(), vec![(*content).to_owned()]))
        .collect()
}

fn names(folders: &[&str]) -> Wait {
    Wait::Names(folders.iter().map(|folder| (*folder).to_owned()).collect())
}

#[test]
fn contents_are_on_the_disk_before_their_names_and_names_before_the_return() {
    let home = Home::new();
    let disk = Watched::new(&home);
    write_to(&disk, &home.root(), None, &batch()).unwrap();
    let before = files(&[
        ("manifests/_cluster/new", "new"),
        (NAMESPACE, "old"),
        (TENANT, "old"),
        ("private/a/new", "new"),
    ]);
    let after = files(&[(NAMESPACE, "new"), (SECRET, "new")]);
    // The home and `private` contain new folders.
    let touched = ["private", "private/a", "manifests/_cluster", "manifests/a"];
    let touched = names(&[&touched[..], &[""]].concat());
    assert_eq!(
        disk.waits.into_inner(),
        [(Wait::Contents(2), before), (touched, after)]
    );
}

#[test]
fn the_settings_of_a_new_home_are_on_the_disk_last() {
    let home = Home::new();
    let disk = Watched::new(&home);
    let above = Directory::open_path(home.0.parent().unwrap())
        .unwrap()
        .unwrap();
    let mut changes = vec![settings()];
    changes.extend(batch());
    write_to(&disk, &home.root(), Some(&above), &changes).unwrap();
    let waits = disk.waits.into_inner();
    let Some((Wait::Names(folders), _)) = waits.last() else {
        panic!("{waits:?}");
    };
    assert!(
        folders.ends_with(&[String::new(), "above".to_owned()]),
        "{folders:?}"
    );
}

#[test]
fn what_does_not_come_to_the_disk_does_not_come_into_its_place() {
    let home = Home::new();
    let before = left(&home.0);
    let disk = Watched {
        fails: Some(Wait::Contents(2)),
        ..Watched::new(&home)
    };
    let error = write_to(&disk, &home.root(), None, &batch()).unwrap_err();
    assert_eq!(error.to_string(), "the disk is gone");
    assert_eq!(left(&home.0), before);
}

#[test]
fn names_that_do_not_come_to_the_disk_are_an_error() {
    let home = Home::new();
    let disk = Watched {
        fails: Some(names(&["manifests/_cluster"])),
        ..Watched::new(&home)
    };
    let changes = [change(Kind::Namespace, "", "a", Some("new"))];
    let error = write_to(&disk, &home.root(), None, &changes).unwrap_err();
    assert_eq!(error.to_string(), "the disk is gone");
}

#[test]
fn a_failure_in_between_leaves_what_came_before_it() {
    let home = Home::new();
    // A file cannot take the place of a folder.
    fs::create_dir(home.0.join("manifests/a/role.r.yaml")).unwrap();
    let mut changes = batch();
    changes.insert(1, change(Kind::Role, "a", "r", Some("new")));
    let disk = Watched::new(&home);
    write_to(&disk, &home.root(), None, &changes).unwrap_err();
    let expected = files(&[(NAMESPACE, "old"), (TENANT, "old"), (SECRET, "new")]);
    assert_eq!(left(&home.0), expected);
}

#[test]
fn few_and_many_files_come_into_their_places() {
    let home = Home::new();
    for number in [1, 3, 4, 40] {
        let name = |file| format!("n{number}-{file}");
        let changes: Vec<_> = (0..number)
            .map(|file| change(Kind::Tenant, "a", &name(file), Some("new")))
            .collect();
        write(&home.root(), &changes).unwrap();
        for file in 0..number {
            let path = home
                .0
                .join(format!("manifests/a/tenant.{}.yaml", name(file)));
            assert_eq!(fs::read_to_string(path).unwrap(), "new");
        }
    }
    assert!(!left(&home.0).keys().any(|path| path.ends_with("/new")));
}
