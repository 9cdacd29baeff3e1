//! Creates a home, with the objects that a cluster with Liqo has before its first
//! peering.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use getrandom::SysRng;
use liqo_auth::{
    crypto::{Algorithm, Authority, CaBundle, KeyPair, RecordKey, SigningKey},
    machine::Effect,
    model::{
        ApiServerUrl, ClusterId, ConfigMap, Metadata, Namespace, Object, Secret, SecretBytes,
        Timestamp, names,
    },
    policy::{Addresses, Policy},
};
use zeroize::Zeroizing;

use super::{
    Home, Use,
    audit_head::{self, AUDIT_HEAD_FILE},
    content::SecretValue,
    directory::{Access, Directory, is_temporary},
    folder::{Folder, lock, named},
    key_file::pkcs8,
    layout::{AUTHORITY_SECRET, Area, LOCK_FILE, RECORD_KEY_SECRET, SETTINGS_FILE},
    roles::roles,
    settings::{Settings, Signer},
    store::Store,
    trial::{Trial, difference, of_object},
    write::{Change, Target, write_first},
};
use liqo_auth_inspection::{LOOPBACK, is_loopback};

use crate::{
    environment::entropy,
    failure::{Failure, Result},
    output,
};

/// The properties of a new home.
pub(crate) struct Blueprint {
    pub(crate) cluster_id: ClusterId,
    pub(crate) algorithm: Algorithm,
    pub(crate) api_server: ApiServerUrl,
    /// The CA of the API server's certificate (PEM), if it is not the authority.
    pub(crate) api_server_ca: Option<String>,
    /// Whether a person approves each request before it is signed.
    pub(crate) require_approval: bool,
    /// Who signs for peers.
    pub(crate) signer: Signer,
    /// Whether the home stands for a real cluster.
    pub(crate) for_cluster: bool,
    /// Whether each new provider gets a key of its own.
    pub(crate) key_per_provider: bool,
    /// The authority of a home that signs itself. If it is none, a new one is made.
    pub(crate) authority: Option<GivenAuthority>,
    pub(crate) now: Timestamp,
}

/// An existing authority.
pub(crate) struct GivenAuthority {
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Zeroizing<Vec<u8>>,
}

/// Creates a home. Returns false if the home exists already. Then nothing changes. If it
/// fails, nothing is left of the home.
pub(crate) fn create(path: &Path, blueprint: &Blueprint) -> Result<bool> {
    if let Some(root) = named(path)? {
        if is_home(&root)? {
            let lock = lock(&root, Use::Write)?;
            // Read the home, so that an error in it is reported.
            Home::read(Folder { root, lock }, Use::Write)?;
            return Ok(false);
        }
        refuse_strangers(&root)?;
    }
    // All that may be wrong is found before the folder is made.
    let changes = content(blueprint)?;
    let (root, above) = Directory::create_path(path, Access::World)?;
    let lock = lock(&root, Use::Write)?;
    if is_home(&root)? {
        return Ok(false);
    }
    if let Err(error) = write_first(&root, above.as_ref(), &changes) {
        drop(lock);
        if above.is_some() {
            // The folder is new, and has nothing of anybody else.
            let _ = std::fs::remove_dir_all(path);
        }
        return Err(error.into());
    }
    Ok(true)
}

/// Notes the files of a new home in a trial, and writes nothing. Returns false if the home
/// exists already.
pub(crate) fn try_to_create(path: &Path, blueprint: &Blueprint, trial: &Trial) -> Result<bool> {
    if let Some(root) = named(path)? {
        if is_home(&root)? {
            return Ok(false);
        }
        refuse_strangers(&root)?;
    }
    let (settings, store) = objects_and_settings(blueprint)?;
    let mut differences = Vec::new();
    let place = |file: &str| path.join(file).display().to_string();
    let text = settings.write()?;
    differences.extend(difference(&place(SETTINGS_FILE), None, Some(&text)));
    for id in store.changed() {
        let file = super::ManifestFile::of(id).map(|place| place.path());
        let file = place(&file.unwrap_or_default());
        differences.extend(of_object(&file, id, None, store.value(id).as_ref())?);
    }
    trial.note(trial.begin(output::path(path)), differences);
    Ok(true)
}

fn is_home(root: &Directory) -> Result<bool> {
    Ok(root.read(SETTINGS_FILE)?.is_some())
}

/// The files of a new home.
fn content(blueprint: &Blueprint) -> Result<Vec<Change>> {
    let (settings, store) = objects_and_settings(blueprint)?;
    let mut changes = Vec::new();
    for (id, content) in store.changes()? {
        let place = super::ManifestFile::of(&id)
            .with_context(|| format!("{id} cannot be stored in a home"))?;
        changes.push(Change {
            target: Target::Manifest(place),
            content,
        });
    }
    let record_key: Option<&Secret> = store.get(names::LIQO_NAMESPACE, RECORD_KEY_SECRET);
    let record_key = record_key.and_then(|secret| secret.get(RECORD_KEY));
    let record_key = record_key.unwrap_or_default().try_into();
    let record_key: [u8; 32] = record_key.context("the record key")?;
    let record_key = RecordKey::new(record_key).context("the record key")?;
    let head = audit_head::of_empty_log(&blueprint.cluster_id);
    changes.push(audit_head::change(&record_key, head));
    // The settings are last: a folder with settings is a home.
    changes.push(Change {
        target: Target::TopLevel(SETTINGS_FILE),
        content: Some(settings.write()?),
    });
    Ok(changes)
}

/// The addresses of providers. If the own API server is on this machine, they may be there,
/// too.
fn addresses_beside(api_server: &ApiServerUrl) -> Addresses {
    let mut addresses = Addresses::default();
    if is_loopback(api_server.as_str()) {
        addresses.allowed = LOOPBACK.to_vec();
    }
    addresses
}

fn objects_and_settings(blueprint: &Blueprint) -> Result<(Settings, Store)> {
    let settings = Settings {
        cluster_id: blueprint.cluster_id.clone(),
        api_server: blueprint.api_server.clone(),
        api_server_ca: blueprint.api_server_ca.clone(),
        is_internal: false,
        require_approval: blueprint.require_approval,
        peer_again_days: None,
        nonce_lifetime: None,
        certificate_lifetime: None,
        signer: blueprint.signer,
        for_cluster: blueprint.for_cluster,
        key_per_provider: blueprint.key_per_provider.then_some(true),
        addresses: addresses_beside(&blueprint.api_server),
        service_ranges: Vec::new(),
        client_cas: None,
        storage_classes: Vec::new(),
        slices: Default::default(),
        peers: Default::default(),
    };
    if let Some(ca) = &blueprint.api_server_ca {
        CaBundle::from_pem(ca.as_bytes(), &Policy::compatible())
            .map_err(|error| Failure::usage(format!("--api-server-ca: {error}")))?;
    }
    let mut store = Store::empty()?;
    for object in objects(blueprint)? {
        store.apply(&Effect::Create(object), blueprint.now)?;
    }
    for role in roles() {
        store.create(SecretValue::new(role), blueprint.now)?;
    }
    Ok((settings, store))
}

pub(crate) const RECORD_KEY: &str = "key";
pub(crate) use liqo_auth_inspection::own_secrets::AUTHORITY_CERTIFICATE;
pub(crate) const AUTHORITY_KEY: &str = "tls.key";

/// Refuses a folder that contains other files: somebody else uses it. The files of a home
/// may appear meanwhile, by another process that makes it.
fn refuse_strangers(root: &Directory) -> Result<()> {
    let ours = |name: &str| {
        [LOCK_FILE, AUDIT_HEAD_FILE, SETTINGS_FILE].contains(&name)
            || is_temporary(name)
            || Area::ALL.iter().any(|area| area.folder() == name)
    };
    match root.names()?.iter().find(|name| !ours(name)) {
        None => Ok(()),
        Some(stranger) => Err(Failure::usage(format!(
            "{} cannot become a home, since it contains other files, such as {stranger:?}; name a new or an empty folder",
            root.path().display()
        ))),
    }
}

fn objects(blueprint: &Blueprint) -> Result<Vec<Object>> {
    let key = KeyPair::generate(blueprint.algorithm, &mut SysRng)
        .context("the cluster's key cannot be made")?;
    let record_key = RecordKey::draw(&mut SysRng).context("the record key cannot be made")?;
    let cluster_id = blueprint.cluster_id.to_string();
    let mut objects = vec![
        Namespace {
            metadata: Metadata {
                name: names::LIQO_NAMESPACE.to_owned(),
                ..Metadata::default()
            },
        }
        .into(),
        ConfigMap {
            metadata: Metadata {
                labels: [(
                    names::APP_NAME_LABEL.to_owned(),
                    names::CLUSTER_ID_CONFIG_MAP_APP_NAME.to_owned(),
                )]
                .into(),
                ..in_liqo(names::CLUSTER_ID_CONFIG_MAP)
            },
            data: [(names::CLUSTER_ID_KEY.to_owned(), cluster_id)].into(),
        }
        .into(),
        secret(
            names::CLUSTER_KEYS_SECRET,
            names::OPAQUE,
            [
                (
                    names::PRIVATE_KEY,
                    key.to_pkcs8_pem().expose().as_bytes().into(),
                ),
                (
                    names::PUBLIC_KEY,
                    key.public_key().to_pem().into_bytes().into(),
                ),
            ],
        ),
        secret(
            RECORD_KEY_SECRET,
            names::OPAQUE,
            [(RECORD_KEY, record_key.as_bytes().as_slice().into())],
        ),
    ];
    if blueprint.signer == Signer::Home {
        let (certificate, key) = authority(blueprint)?;
        objects.push(secret(
            AUTHORITY_SECRET,
            "kubernetes.io/tls",
            [(AUTHORITY_CERTIFICATE, certificate), (AUTHORITY_KEY, key)],
        ));
    }
    Ok(objects)
}

/// The certificate and the key of the authority, in PEM.
fn authority(blueprint: &Blueprint) -> Result<(SecretBytes, SecretBytes)> {
    let Some(given) = &blueprint.authority else {
        let key = KeyPair::generate(Algorithm::Ed25519, &mut SysRng)
            .context("the authority's key cannot be made")?;
        let pem = key.to_pkcs8_pem();
        let name = format!("{}-ca", blueprint.cluster_id);
        let authority =
            Authority::with_key(&name, Arc::new(key), blueprint.now, TEN_YEARS, &entropy()?)
                .context("the authority cannot be made")?;
        return Ok((
            authority.ca_bundle().pem().into(),
            pem.expose().as_bytes().into(),
        ));
    };
    let policy = Policy::compatible();
    let key = pkcs8(&given.key).map_err(|error| Failure::usage(format!("--ca-key: {error:#}")))?;
    let pair = KeyPair::from_pkcs8_pem(&key, &policy)
        .map_err(|error| Failure::usage(format!("--ca-key: {error}")))?;
    let authority = Authority::from_pem(&given.certificate, Arc::new(pair), &policy)
        .map_err(|error| Failure::usage(format!("--ca-cert: {error}")))?;
    Ok((authority.ca_bundle().pem().into(), key.as_slice().into()))
}

fn secret<const N: usize>(name: &str, secret_type: &str, data: [(&str, SecretBytes); N]) -> Object {
    Secret {
        metadata: in_liqo(name),
        data: data.map(|(key, value)| (key.to_owned(), value)).into(),
        secret_type: Some(secret_type.to_owned()),
        ..Secret::default()
    }
    .into()
}

fn in_liqo(name: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: names::LIQO_NAMESPACE.to_owned(),
        ..Metadata::default()
    }
}

const TEN_YEARS: Duration = Duration::from_secs(3650 * 24 * 60 * 60);
