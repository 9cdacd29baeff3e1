//! A cluster's home: a folder of Kubernetes manifests, in place of the cluster's
//! API server.

mod audit_log;
mod content;
mod create;
mod directory;
mod disk;
mod index;
mod layout;
mod resting;
mod settings;
mod store;
mod write;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use liqo_auth::{
    audit::Event,
    crypto::{Authority, KeyPair, RecordKey},
    error::Error,
    machine::{Effect, Interest, Step, View},
    model::{ClusterId, Object, ObjectRef, Resource, Secret, Timestamp, names},
    policy::Policy,
};
use zeroize::Zeroizing;

pub(crate) use self::{
    content::SecretValue,
    create::{AUTHORITY_CERTIFICATE, Blueprint, GivenAuthority, create},
    layout::{AUTHORITY_SECRET, LEGACY_TLS_SECRET, RECORD_KEY_SECRET},
    resting::Resting,
    settings::Peer,
};
use self::{
    directory::{Directory, is_temporary},
    layout::{Area, LOCK_FILE, ManifestFile, SETTINGS_FILE},
    settings::Settings,
    store::Store,
    write::{Change, Target, write},
};
use crate::failure::{Failure, Result};

/// An open home. A home that was opened with [`Use::Write`] is locked until this
/// value is dropped, so that no other command changes it.
pub(crate) struct Home {
    root: Directory,
    lock: File,
    pub(crate) settings: Settings,
    store: Store,
    written_settings: Settings,
    /// Decisions that are not in the log yet.
    decisions: Vec<(Timestamp, Event)>,
    /// Refusals that are in the log already, each with its peer.
    logged: Vec<(ClusterId, Error)>,
}

/// What a command does with a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The command only reads. Other commands can read at the same time.
    Read,
    /// The command may write. No other command can open the home meanwhile.
    Write,
}

impl Home {
    /// Opens an existing home.
    pub(crate) fn open(path: &Path, purpose: Use) -> Result<Self> {
        let root = existing(path)?;
        let lock = lock(&root, purpose)?;
        Self::read(root, lock, purpose)
    }

    /// Opens a home and reads only these objects, since it may contain thousands of
    /// others. All other objects appear to be absent.
    pub(crate) fn open_only(path: &Path, wanted: &[ObjectRef]) -> Result<Self> {
        let root = existing(path)?;
        let lock = lock(&root, Use::Read)?;
        let settings = settings(&root)?;
        let mut store = Store::default();
        for id in wanted {
            let place =
                ManifestFile::of(id).with_context(|| format!("{id} cannot be stored in a home"))?;
            if let Some(text) = read(&root, &place)? {
                store.load(id.clone(), text);
            }
        }
        Ok(Self {
            root,
            lock,
            written_settings: settings.clone(),
            settings,
            store,
            decisions: Vec::new(),
            logged: Vec::new(),
        })
    }

    /// Opens two homes. They are locked in a fixed order, so that two commands
    /// cannot block each other.
    pub(crate) fn open_both(one: &Path, other: &Path) -> Result<(Self, Self)> {
        let (one, other) = (existing(one)?, existing(other)?);
        let (first, second) = (one.identity()?, other.identity()?);
        if first == second {
            return Err(Failure::usage(
                "--home and --remote-home are the same folder: a cluster does not peer with itself",
            ));
        }
        let (lock_of_one, lock_of_other) = if first < second {
            let lock_of_one = lock(&one, Use::Write)?;
            (lock_of_one, lock(&other, Use::Write)?)
        } else {
            let lock_of_other = lock(&other, Use::Write)?;
            (lock(&one, Use::Write)?, lock_of_other)
        };
        Ok((
            Self::read(one, lock_of_one, Use::Write)?,
            Self::read(other, lock_of_other, Use::Write)?,
        ))
    }

    pub(crate) fn cluster_id(&self) -> &ClusterId {
        &self.settings.cluster_id
    }

    /// The path by which the home was opened.
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// The file of an object.
    pub(crate) fn file_of(&self, id: &ObjectRef) -> PathBuf {
        let place = ManifestFile::of(id)
            .map(|place| place.path())
            .unwrap_or_default();
        self.root.path().join(place)
    }

    /// A view of all objects, for the peering with `peer`.
    pub(crate) fn view(&self, peer: &ClusterId) -> View<'_> {
        View::of(peer, self.store.objects())
    }

    /// The objects that the interests name, and those that cannot be read.
    pub(crate) fn interesting(&self, interests: &[Interest]) -> Vec<&Object> {
        self.store.interesting(interests)
    }

    /// The RoleBindings and ClusterRoleBindings of a user or group of that name.
    pub(crate) fn bindings_of(&self, principal: &str) -> impl Iterator<Item = &Object> {
        self.store.bindings_of(principal)
    }

    pub(crate) fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<&K> {
        self.store.get(namespace, name)
    }

    pub(crate) fn all<K: Resource + 'static>(&self) -> impl Iterator<Item = &K> {
        self.store.all()
    }

    /// All objects of the home.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.store.objects()
    }

    /// The objects that cannot be read.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = &liqo_auth::model::Unreadable> {
        self.store.objects().filter_map(Object::as_unreadable)
    }

    /// The object with every field that it has.
    pub(crate) fn value(&self, id: &ObjectRef) -> Option<SecretValue> {
        self.store.value(id)
    }

    /// Carries out an effect in memory. [`save`](Self::save) writes it to the disk.
    pub(crate) fn apply(&mut self, effect: &Effect, now: Timestamp) -> Result<()> {
        if ManifestFile::of(&effect.id()).is_none() {
            let id = effect.id();
            return Err(Failure::at_odds(format!(
                "{id} cannot be stored in a home: its name cannot be part of a file name"
            )));
        }
        self.store
            .apply(effect, now)
            .map_err(|error| Failure::at_odds(format!("{}: {error:#}", self.root.path().display())))
    }

    /// Carries out a step in memory, and notes its decisions for the log.
    pub(crate) fn carry_out(&mut self, step: &Step, now: Timestamp) -> Result<()> {
        step.effects
            .iter()
            .try_for_each(|effect| self.apply(effect, now))?;
        self.note(step, now);
        Ok(())
    }

    /// Deletes an object in memory, as `kubectl delete` would.
    pub(crate) fn delete(&mut self, id: &ObjectRef, now: Timestamp) -> Result<()> {
        let version = liqo_auth::machine::Version {
            uid: String::new(),
            resource_version: String::new(),
        };
        let id = id.clone();
        self.apply(&Effect::Delete { id, version }, now)
    }

    /// Writes the changed settings and objects. They are on the disk when this
    /// returns.
    fn save_objects(&mut self) -> Result<()> {
        let mut changes = Vec::new();
        if self.settings != self.written_settings {
            changes.push(Change {
                target: Target::TopLevel(SETTINGS_FILE),
                content: Some(self.settings.write()?),
            });
        }
        for (id, content) in self.store.changes()? {
            let place = ManifestFile::of(&id)
                .with_context(|| format!("{id} cannot be stored in a home"))?;
            changes.push(Change {
                target: Target::Manifest(place),
                content,
            });
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.mark_changed()?;
        write(&self.root, &changes)?;
        self.written_settings = self.settings.clone();
        self.store.settle();
        Ok(())
    }

    /// Whether all changes are on the disk.
    pub(crate) fn is_saved(&self) -> bool {
        self.store.is_settled() && self.settings == self.written_settings
    }

    /// Whether all changes to the objects that the interests name are on the disk.
    pub(crate) fn is_saved_for(&self, interests: &[Interest]) -> bool {
        self.store.is_settled_for(interests)
    }

    /// The settings of a peer, for changes. They are created if they do not exist.
    pub(crate) fn peer_mut(&mut self, peer: &ClusterId) -> &mut Peer {
        self.settings.peers.entry(peer.clone()).or_default()
    }

    /// The cluster's own keys.
    pub(crate) fn key(&self) -> Result<KeyPair> {
        let text = self.secret(names::CLUSTER_KEYS_SECRET, names::PRIVATE_KEY)?;
        // The tool made this key itself: the policy for peers does not apply.
        KeyPair::from_pkcs8_pem(text, &Policy::compatible())
            .map_err(|error| self.odd(names::CLUSTER_KEYS_SECRET, &error))
    }

    /// The key that seals the library's records.
    pub(crate) fn record_key(&self) -> Result<RecordKey> {
        let bytes: [u8; 32] = self
            .secret(RECORD_KEY_SECRET, create::RECORD_KEY)?
            .try_into()
            .map_err(|error| self.odd(RECORD_KEY_SECRET, &error))?;
        RecordKey::new(bytes).map_err(|error| self.odd(RECORD_KEY_SECRET, &error))
    }

    /// The authority that signs for peers.
    pub(crate) fn authority(&self) -> Result<Authority> {
        let certificate = self.secret(AUTHORITY_SECRET, AUTHORITY_CERTIFICATE)?;
        let key = self.secret(AUTHORITY_SECRET, create::AUTHORITY_KEY)?;
        let policy = Policy::compatible();
        let key = KeyPair::from_pkcs8_pem(key, &policy)
            .map_err(|error| self.odd(AUTHORITY_SECRET, &error))?;
        Authority::from_pem(certificate, Arc::new(key), &policy)
            .map_err(|error| self.odd(AUTHORITY_SECRET, &error))
    }

    fn secret(&self, name: &str, field: &str) -> Result<&[u8]> {
        let secret: Option<&Secret> = self.store.get(names::LIQO_NAMESPACE, name);
        secret.and_then(|secret| secret.get(field)).ok_or_else(|| {
            self.odd(
                name,
                &format!("the Secret or its field {field} is missing or unreadable"),
            )
        })
    }

    fn odd(&self, name: &str, reason: &dyn std::fmt::Display) -> Failure {
        let id = ObjectRef::new(liqo_auth::model::Kind::Secret, names::LIQO_NAMESPACE, name);
        Failure::at_odds(format!("{}: {reason}", self.file_of(&id).display()))
    }

    fn read(root: Directory, lock: File, purpose: Use) -> Result<Self> {
        let settings = settings(&root)?;
        if purpose == Use::Write {
            sweep(&root, &root.names()?)?;
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
        if purpose == Use::Read {
            // All files were read under the lock. Other commands need not wait any
            // longer.
            lock.unlock()?;
        }
        let mut store = Store::default();
        for (id, text) in texts {
            store.load(id, text);
        }
        Ok(Self {
            root,
            lock,
            written_settings: settings.clone(),
            settings,
            store,
            decisions: Vec::new(),
            logged: Vec::new(),
        })
    }
}

fn settings(root: &Directory) -> Result<Settings> {
    let text = root
        .read(SETTINGS_FILE)?
        .ok_or_else(|| absent(root.path()))?;
    Settings::read(&text).map_err(|error| {
        Failure::at_odds(format!(
            "{}: {error:#}",
            root.path().join(SETTINGS_FILE).display()
        ))
    })
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

/// The folder of an existing home. In any other folder, nothing is created, not even
/// the lock file.
fn existing(path: &Path) -> Result<Directory> {
    let root = Directory::open_path(path)?.ok_or_else(|| absent(path))?;
    match root.read(SETTINGS_FILE)? {
        Some(_) => Ok(root),
        None => Err(absent(path)),
    }
}

fn absent(path: &Path) -> Failure {
    let path = path.display();
    Failure::usage(format!(
        "{path} is not a home. Make one with: liqo-auth init --home {path} --cluster-id ID"
    ))
}

fn lock(root: &Directory, purpose: Use) -> Result<File> {
    let file = root.lock_file(LOCK_FILE, purpose == Use::Write)?;
    let locked = match purpose {
        Use::Read => file.lock_shared(),
        Use::Write => file.lock(),
    };
    locked.with_context(|| {
        format!(
            "{}: it cannot be locked",
            root.path().join(LOCK_FILE).display()
        )
    })?;
    Ok(file)
}
