//! A cluster, as commands see it. It is kept in a home, which is a folder of Kubernetes
//! manifests, or on its own API server.

mod audit_head;
mod audit_log;
mod content;
mod create;
mod deeds;
mod directory;
mod disk;
mod folder;
mod index;
mod key_file;
mod keys;
mod kubeconfig;
mod kubeconfig_check;
mod kubeconfig_file;
mod layout;
mod lifetimes;
mod live;
mod narrowing;
mod represented;
mod resting;
mod roles;
mod settings;
mod site;
mod slices;
mod store;
mod trial;
mod turn;
mod write;

use std::{path::Path, sync::Arc};

use anyhow::Context;
use liqo_auth::{
    audit::Event,
    crypto::{Authority, CaBundle, KeyPair, RecordKey},
    error::Error,
    machine::{Effect, Interest, Step, View},
    model::{
        CertificateSigningRequest, ClusterId, Object, ObjectRef, Resource, Secret, Timestamp, names,
    },
    policy::Policy,
};

pub(crate) use self::{
    audit_head::AUDIT_HEAD_FILE,
    audit_log::{AUDIT_LOG_FILE, repair},
    content::SecretValue,
    create::{AUTHORITY_CERTIFICATE, Blueprint, GivenAuthority, create, try_to_create},
    directory::FILE_LIMIT,
    folder::lock_at_once,
    keys::{certified_spki, has_expired},
    kubeconfig::with_user_agent,
    layout::{AUTHORITY_SECRET, LEGACY_TLS_SECRET, RECORD_KEY_SECRET},
    live::{Distrust, Login, NotTrusted, PeeringUser, ProviderAccess},
    represented::{Report, replace_status},
    resting::Resting,
    settings::{Peer, Settings, Signer},
    site::{Connection, Site},
    trial::Trial,
};
use self::{
    deeds::Told,
    folder::Folder,
    layout::{LOCK_FILE, ManifestFile, SETTINGS_FILE},
    live::{Live, Outcome},
    represented::Represented,
    site::check_distinct,
    store::Store,
    trial::Rehearsed,
    write::{Change, Target, write},
};
use crate::{
    failure::{Failure, Result},
    output,
};

/// An open cluster. A folder that was opened with [`Use::Write`] is locked until this
/// value is dropped, so that no other command changes it. On an API server, each effect
/// names the version that was seen.
pub(crate) struct Home {
    site: Site,
    ground: Ground,
    pub(crate) settings: Settings,
    store: Store,
    written_settings: Settings,
    /// Decisions that are not in the log yet.
    decisions: Vec<(Timestamp, Event)>,
    /// Refusals that are in the log already, each with its peer.
    logged: Vec<(ClusterId, Error)>,
    /// Whether effects on a cluster stay in memory, too.
    is_rehearsal: bool,
    /// What the cluster of a home has to be told. None if nobody asks.
    represented: Option<Represented>,
    /// The trial, if all changes stay in memory until the end.
    rehearsed: Option<Rehearsed>,
    told: Told,
}

/// What holds the objects.
enum Ground {
    Folder(Folder),
    Cluster(Box<Live>),
}

/// What a command does with a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The command only reads. Other commands can read at the same time.
    Read,
    /// The command is tried. It reads, and its changes stay in memory.
    Trial,
    /// The command may write. No other command can open the home meanwhile.
    Write,
}

impl Home {
    /// Opens an existing home, or connects to a cluster.
    pub(crate) fn open(site: &Site, purpose: Use) -> Result<Self> {
        match site {
            Site::Folder(path) => Self::open_folder(path, purpose),
            Site::Cluster(connection) => {
                let connected = Live::connect(connection, purpose);
                let (live, settings) =
                    connected.map_err(|failure| failure.about(&site.to_string()))?;
                let ground = Ground::Cluster(Box::new(live));
                Ok(Self::new(site.clone(), ground, settings, Store::empty()?))
            }
        }
    }

    /// Opens an existing home.
    pub(crate) fn open_folder(path: &Path, purpose: Use) -> Result<Self> {
        Self::read(Folder::open(path, purpose)?, purpose)
    }

    /// Opens a home and reads only these objects, since it may contain thousands of
    /// others. All other objects appear to be absent.
    pub(crate) fn open_only(path: &Path, wanted: &[ObjectRef]) -> Result<Self> {
        let folder = Folder::open(path, Use::Read)?;
        let (settings, store) = (folder.settings()?, folder.some_objects(wanted)?);
        let site = Site::Folder(path.to_owned());
        Ok(Self::new(site, Ground::Folder(folder), settings, store))
    }

    /// Opens two clusters. Two folders are locked in a fixed order, so that
    /// two commands cannot block each other.
    pub(crate) fn open_both(one: &Site, other: &Site, purpose: Use) -> Result<(Self, Self)> {
        let (one, other) = match (one, other) {
            (Site::Folder(one), Site::Folder(other)) => {
                let (one, other) = Folder::open_both(one, other, purpose)?;
                (Self::read(one, purpose)?, Self::read(other, purpose)?)
            }
            (one, other) => (Self::open(one, purpose)?, Self::open(other, purpose)?),
        };
        let (id, other_id) = (one.cluster_id(), other.cluster_id());
        check_distinct((&one.site, id), (&other.site, other_id))?;
        Ok((one, other))
    }

    pub(crate) fn cluster_id(&self) -> &ClusterId {
        &self.settings.cluster_id
    }

    /// Where the cluster is kept.
    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// Where an object is kept: its file, or the cluster.
    pub(crate) fn site_of(&self, id: &ObjectRef) -> String {
        match &self.ground {
            Ground::Folder(Folder { root, .. }) => {
                let file = ManifestFile::of(id).map(|place| place.path());
                root.path()
                    .join(file.unwrap_or_default())
                    .display()
                    .to_string()
            }
            Ground::Cluster(_) => self.site.to_string(),
        }
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

    /// Carries out an effect: in memory, from where [`save`](Self::save) writes it to the
    /// disk, or on the cluster.
    pub(crate) fn apply(&mut self, effect: &Effect, now: Timestamp) -> Result<()> {
        if !self.try_to_apply(effect, now)? {
            return Err(overtaken(&effect.id()));
        }
        Ok(())
    }

    /// Like [`apply`](Self::apply). Returns false if another program has changed the
    /// object meanwhile: then nothing is changed, and the object is as it is now after
    /// [`reload`](Self::reload).
    pub(crate) fn try_to_apply(&mut self, effect: &Effect, now: Timestamp) -> Result<bool> {
        tracing::info!(site = %self.site, object = %effect.id(), "{}", deed(effect));
        if let Ground::Cluster(live) = &mut self.ground
            && !self.is_rehearsal
        {
            let id = effect.id();
            return Ok(match live.apply(effect)? {
                Outcome::Done(object) => {
                    self.tell_effect(effect, self.store.contains(&id));
                    self.store.replace(&id, object.map(|object| *object));
                    true
                }
                Outcome::Overtaken => {
                    // Not every object that has the name is in a list.
                    live.meet(id);
                    false
                }
            });
        }
        if ManifestFile::of(&effect.id()).is_none() {
            let id = effect.id();
            return Err(Failure::at_odds(format!(
                "{id} cannot be stored in a home: its name cannot be part of a file name"
            )));
        }
        self.store
            .apply(effect, now)
            .map_err(|error| Failure::at_odds(format!("{}: {error:#}", self.site)))?;
        Ok(true)
    }

    /// Does something in memory alone, also on a cluster, and forgets all changes.
    pub(crate) fn rehearse<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (store, decisions) = (self.store.clone(), self.decisions.len());
        let before = std::mem::replace(&mut self.is_rehearsal, true);
        let done = act(self);
        self.is_rehearsal = before;
        self.store = store;
        self.decisions.truncate(decisions);
        done
    }

    /// Carries out a step, and notes its decisions for the log.
    pub(crate) fn carry_out(&mut self, step: &Step, now: Timestamp) -> Result<()> {
        for effect in &step.effects {
            self.apply(effect, now)?;
        }
        self.note(step, now);
        Ok(())
    }

    /// Deletes an object, as `kubectl delete` would.
    pub(crate) fn delete(&mut self, id: &ObjectRef, now: Timestamp) -> Result<()> {
        let version = self.store.version(id);
        let id = id.clone();
        self.apply(&Effect::Delete { id, version }, now)
    }

    /// Writes the changed settings and objects. They are on the disk when this
    /// returns.
    fn save_objects(&mut self) -> Result<()> {
        if let Some(rehearsed) = &self.rehearsed {
            return self.note_trial(rehearsed);
        }
        let mut changes = Vec::new();
        let Ground::Folder(Folder { root, .. }) = &self.ground else {
            return self.save_settings();
        };
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
        write(root, &changes)?;
        self.tell_saved();
        tracing::info!(home = %self.site, files = changes.len(), "saved");
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
    pub(crate) fn key(&self) -> Result<Arc<KeyPair>> {
        if let Ground::Cluster(live) = &self.ground {
            return Ok(live.key());
        }
        let text = self.secret(names::CLUSTER_KEYS_SECRET, names::PRIVATE_KEY)?;
        // The tool made this key itself: the policy for peers does not apply.
        KeyPair::from_pkcs8_pem(text, &Policy::compatible())
            .map(Arc::new)
            .map_err(|error| self.odd(names::CLUSTER_KEYS_SECRET, &error))
    }

    /// The key that seals the library's records.
    pub(crate) fn record_key(&self) -> Result<RecordKey> {
        if let Ground::Cluster(live) = &self.ground {
            return Ok(live.record_key());
        }
        let bytes: [u8; 32] = self
            .secret(RECORD_KEY_SECRET, create::RECORD_KEY)?
            .try_into()
            .map_err(|error| self.odd(RECORD_KEY_SECRET, &error))?;
        RecordKey::new(bytes).map_err(|error| self.odd(RECORD_KEY_SECRET, &error))
    }

    /// The authority that signs for peers: a home's own. A cluster's signer is its
    /// controller manager, which alone has the key.
    pub(crate) fn authority(&self) -> Result<Authority> {
        self.folder("signs with a key that only a home has")?;
        let no_key = match self.settings.signer {
            Signer::Home => None,
            Signer::Kubernetes => {
                Some("the signer of this home is its cluster (`signer: kubernetes`)")
            }
            Signer::Aws => Some("this home gives AWS users to its peers (`signer: aws`)"),
        };
        if let Some(reason) = no_key {
            return Err(Failure::usage(format!(
                "{}: {reason}, and this command needs the key of the CA",
                self.site
            )));
        }
        let certificate = self.secret(AUTHORITY_SECRET, AUTHORITY_CERTIFICATE)?;
        let key = self.secret(AUTHORITY_SECRET, create::AUTHORITY_KEY)?;
        let policy = Policy::compatible();
        let key = KeyPair::from_pkcs8_pem(key, &policy)
            .map_err(|error| self.odd(AUTHORITY_SECRET, &error))?;
        Authority::from_pem(certificate, Arc::new(key), &policy)
            .map_err(|error| self.odd(AUTHORITY_SECRET, &error))
    }

    /// The CA of the API server, for peers, with these settings. None if it is a public one.
    pub(crate) fn ca_bundle(&self, settings: &Settings) -> Result<Option<CaBundle>> {
        match (&settings.api_server_ca, &self.ground) {
            (Some(ca), _) => {
                let bundle = CaBundle::from_pem(ca.as_bytes(), &Policy::compatible());
                Ok(Some(bundle.map_err(|error| {
                    Failure::at_odds(format!("{}, apiServerCA: {error}", self.site))
                })?))
            }
            (None, Ground::Folder(_)) if self.settings.signer != Signer::Home => Ok(None),
            (None, Ground::Folder(_)) => Ok(Some(self.authority()?.ca_bundle().clone())),
            (None, Ground::Cluster(_)) => Ok(None),
        }
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
        Failure::at_odds(format!("{}: {reason}", self.site_of(&id))).for_want_of(id)
    }

    /// The folder. On a cluster, the command fails: it `needs` a home.
    fn folder(&self, needs: &str) -> Result<&Folder> {
        match &self.ground {
            Ground::Folder(folder) => Ok(folder),
            Ground::Cluster(_) => Err(Failure::usage(format!(
                "{}: this command {needs}. Use it with --home DIR",
                self.site
            ))),
        }
    }

    fn into_folder(self, needs: &str) -> Result<Folder> {
        self.folder(needs)?;
        match self.ground {
            Ground::Folder(folder) => Ok(folder),
            Ground::Cluster(_) => Err(Failure::at_odds(needs)),
        }
    }

    fn new(site: Site, ground: Ground, settings: Settings, store: Store) -> Self {
        Self {
            site,
            ground,
            written_settings: settings.clone(),
            settings,
            store,
            decisions: Vec::new(),
            logged: Vec::new(),
            is_rehearsal: false,
            represented: None,
            rehearsed: None,
            told: Told::default(),
        }
    }

    fn read(folder: Folder, purpose: Use) -> Result<Self> {
        let (settings, store) = (folder.settings()?, folder.objects(purpose)?);
        let count = store.objects().count();
        tracing::debug!(home = %output::path(folder.root.path()), objects = count, "read");
        let site = Site::Folder(folder.root.path().to_owned());
        Ok(Self::new(site, Ground::Folder(folder), settings, store))
    }
}

/// What an effect does, in a word.
const fn deed(effect: &Effect) -> &'static str {
    match effect {
        Effect::Delete { .. } => "deletes",
        _ => "writes",
    }
}

/// The failure if another program keeps changing an object.
pub(crate) fn overtaken(id: &ObjectRef) -> Failure {
    Failure::waiting(format!(
        "another program changed {id} meanwhile: run the command again"
    ))
}

/// Whether a request is approved, and its signer has not answered yet.
pub(crate) fn awaits_signature(request: &CertificateSigningRequest) -> bool {
    let has = |kind: &str| {
        let mut conditions = request.status.conditions.iter();
        conditions.any(|condition| condition.condition_type == kind)
    };
    request.status.certificate.is_empty() && has("Approved") && !has("Denied") && !has("Failed")
}
