//! The keys of a cluster, read from Secrets. A missing key can be made.

use getrandom::SysRng;
use kube::{Client, api::ListParams};
use liqo_auth::{
    crypto::{Algorithm, KeyPair, KeyPairError, RecordKey, SigningKey},
    machine::Effect,
    model::{ClusterId, Kind, Metadata, Object, ObjectRef, Secret, SecretBytes, names},
    policy::Policy,
};

use crate::{Applied, Error, apply, clock::NO_RANDOMNESS, error::succeeds_in_time, object};

/// The treatment of a missing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Made,
    MadeInMemory,
    Refused,
}

/// The Secret of a key.
struct Found {
    secret: Secret,
    /// Whether the cluster has the Secret.
    is_written: bool,
}

impl Found {
    fn unwritten(self) -> Option<Object> {
        (!self.is_written).then(|| self.secret.into())
    }
}

/// The opaque Secrets of a namespace. Keys and records are opaque Secrets. Helm's
/// releases, which are large, have another type.
pub(super) async fn opaque_secrets(client: &Client, namespace: &str) -> Result<Vec<Object>, Error> {
    let api = object::api(client, Kind::Secret, Some(namespace));
    let opaque = ListParams::default().fields(&format!("type={}", names::OPAQUE));
    let request = format!("list Secrets in {namespace}");
    let listed = succeeds_in_time(request, api.list(&opaque)).await?;
    let items = listed.items.into_iter();
    Ok(items.map(|item| object::read(Kind::Secret, item)).collect())
}

/// The cluster's own key pair, in Liqo's Secret. The Secret is read by its name, unless
/// the Secrets are listed. If the cluster does not have the Secret, it is returned as well.
/// A key pair that is made has this algorithm.
pub(super) async fn own_key(
    client: &Client,
    namespace: &str,
    listed: Option<&[Object]>,
    missing: Missing,
    algorithm: Algorithm,
) -> Result<(KeyPair, Option<Object>), Error> {
    let id = ObjectRef::new(Kind::Secret, namespace, names::CLUSTER_KEYS_SECRET);
    let make = || new_pair(&id, algorithm);
    let found = find_or_make(client, &id, listed, missing, make).await?;
    Ok((pair(&id, &found.secret)?, found.unwritten()))
}

/// The key pair that is for this provider alone, if there is one.
pub(super) async fn of_provider(
    client: &Client,
    namespace: &str,
    provider: &ClusterId,
) -> Result<Option<KeyPair>, Error> {
    let id = id_for(namespace, provider);
    let Some(found) = object::get(client, &id).await? else {
        return Ok(None);
    };
    Ok(Some(pair(&id, &written(&id, found)?.secret)?))
}

/// Makes a key pair for this provider alone. If another program makes one first, that one is
/// returned.
pub(super) async fn make_for(
    client: &Client,
    namespace: &str,
    provider: &ClusterId,
    algorithm: Algorithm,
) -> Result<KeyPair, Error> {
    let id = id_for(namespace, provider);
    let make = || new_pair(&id, algorithm);
    let made = find_or_make(client, &id, None, Missing::Made, make).await?;
    pair(&id, &made.secret)
}

/// Whether the Secret has the name of one for a provider alone.
pub(super) fn is_for_provider(secret: &ObjectRef) -> bool {
    secret.name.starts_with(FOR_PROVIDER)
}

fn id_for(namespace: &str, provider: &ClusterId) -> ObjectRef {
    ObjectRef::new(Kind::Secret, namespace, format!("{FOR_PROVIDER}{provider}"))
}

fn new_pair(
    id: &ObjectRef,
    algorithm: Algorithm,
) -> Result<Vec<(&'static str, SecretBytes)>, Error> {
    let key = KeyPair::generate(algorithm, &mut SysRng);
    let key = key.map_err(|error| match error {
        KeyPairError::Random => Error::Machine(NO_RANDOMNESS),
        error => Error::Setup {
            object: id.clone(),
            problem: format!("a key with the algorithm {algorithm} cannot be made: {error}"),
        },
    })?;
    let (private, public) = (key.to_pkcs8_pem(), key.public_key().to_pem());
    Ok(vec![
        (names::PRIVATE_KEY, private.expose().as_bytes().into()),
        (names::PUBLIC_KEY, public.into_bytes().into()),
    ])
}

fn pair(id: &ObjectRef, secret: &Secret) -> Result<KeyPair, Error> {
    let pem = field(id, secret, names::PRIVATE_KEY)?;
    let key = KeyPair::from_pkcs8_pem(pem, &Policy::compatible());
    key.map_err(|error| Error::Setup {
        object: id.clone(),
        problem: format!("{}: {error}", names::PRIVATE_KEY),
    })
}

/// The key that seals a provider's records. Its Secret is read by name, unless the
/// Secrets are listed. If the cluster does not have the Secret, it is returned as well.
pub(super) async fn record_key(
    client: &Client,
    namespace: &str,
    listed: Option<&[Object]>,
    missing: Missing,
) -> Result<(RecordKey, Option<Object>), Error> {
    let id = ObjectRef::new(Kind::Secret, namespace, RECORD_KEY_SECRET);
    let found = find_or_make(client, &id, listed, missing, || {
        let key = RecordKey::draw(&mut SysRng).map_err(|_| Error::Machine(NO_RANDOMNESS))?;
        Ok(vec![(RECORD_KEY, key.as_bytes().as_slice().into())])
    })
    .await?;
    let bytes: Option<[u8; 32]> = field(&id, &found.secret, RECORD_KEY)?.try_into().ok();
    let key = bytes.and_then(|bytes| RecordKey::new(bytes).ok());
    let key = key.ok_or_else(|| Error::Setup {
        object: id,
        problem: format!("{RECORD_KEY}: expected 32 random bytes"),
    })?;
    Ok((key, found.unwritten()))
}

/// The Secret with this ID. If the Secret is not found, it is treated as `missing` says.
/// If a Secret of another type has the name, or another writer creates the Secret first,
/// that Secret is returned.
async fn find_or_make(
    client: &Client,
    id: &ObjectRef,
    listed: Option<&[Object]>,
    missing: Missing,
    make: impl Fn() -> Result<Vec<(&'static str, SecretBytes)>, Error>,
) -> Result<Found, Error> {
    let found = match listed {
        Some(listed) => listed.iter().find(|object| object.id() == *id).cloned(),
        None => object::get(client, id).await?,
    };
    if let Some(found) = found {
        return written(id, found);
    }
    // The list contains opaque Secrets only. A Secret of another type is still read by
    // name.
    if missing == Missing::Refused && listed.is_none() {
        return Err(Error::NoKey(id.clone()));
    }
    if missing == Missing::Made {
        let secret = secret_of(id, make()?);
        match apply(client, &Effect::Create(secret.into())).await? {
            Applied::Written(object) => return written(id, *object),
            Applied::Missing => {
                return Err(Error::Setup {
                    object: id.clone(),
                    problem: format!("there is no namespace {}; install Liqo", id.namespace),
                });
            }
            _ => {}
        }
    }
    if let Some(found) = object::get(client, id).await? {
        return written(id, found);
    }
    match missing {
        // The name was taken, but the Secret has been deleted since.
        Missing::Made => Err(Error::Conflict(id.clone())),
        Missing::MadeInMemory => Ok(Found {
            secret: secret_of(id, make()?),
            is_written: false,
        }),
        Missing::Refused => Err(Error::NoKey(id.clone())),
    }
}

fn secret_of(id: &ObjectRef, data: Vec<(&'static str, SecretBytes)>) -> Secret {
    let data = data.into_iter();
    Secret {
        metadata: Metadata {
            name: id.name.clone(),
            namespace: id.namespace.clone(),
            ..Metadata::default()
        },
        data: data.map(|(key, value)| (key.to_owned(), value)).collect(),
        secret_type: Some(names::OPAQUE.to_owned()),
        immutable: false,
    }
}

fn written(id: &ObjectRef, object: Object) -> Result<Found, Error> {
    match object {
        Object::Secret(secret) => Ok(Found {
            secret,
            is_written: true,
        }),
        _ => Err(Error::Setup {
            object: id.clone(),
            problem: "the Secret cannot be read".to_owned(),
        }),
    }
}

fn field<'s>(id: &ObjectRef, secret: &'s Secret, key: &str) -> Result<&'s [u8], Error> {
    let value = secret.data.get(key).map(SecretBytes::expose);
    value.ok_or_else(|| Error::Setup {
        object: id.clone(),
        problem: format!("the key {key} is missing"),
    })
}

/// Liqo's name of a cluster's keys, before the provider's ID. A home uses the same names.
const FOR_PROVIDER: &str = "authentication-keys-";
const RECORD_KEY_SECRET: &str = "liqo-auth-record-key";
const RECORD_KEY: &str = "key";
