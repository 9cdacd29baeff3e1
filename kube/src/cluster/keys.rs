//! The keys of a cluster, read from Secrets. A missing key can be made.

use getrandom::SysRng;
use kube::Client;
use liqo_auth::{
    crypto::{Algorithm, KeyPair, RecordKey, SigningKey},
    machine::Effect,
    model::{Kind, Metadata, Object, ObjectRef, Secret, SecretBytes, names},
    policy::Policy,
};

use crate::{Applied, Error, apply, clock::NO_RANDOMNESS, object};

/// The treatment of a missing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    IsMade,
    IsAnError,
}

/// The cluster's own key pair, in Liqo's Secret.
pub(super) async fn own_key(
    client: &Client,
    namespace: &str,
    missing: Missing,
) -> Result<KeyPair, Error> {
    let id = ObjectRef::new(Kind::Secret, namespace, names::CLUSTER_KEYS_SECRET);
    let secret = find_or_make(client, &id, missing, || {
        let key = KeyPair::generate(Algorithm::Ed25519, &mut SysRng)
            .map_err(|_| Error::Machine(NO_RANDOMNESS))?;
        let (private, public) = (key.to_pkcs8_pem(), key.public_key().to_pem());
        Ok(vec![
            (names::PRIVATE_KEY, private.expose().as_bytes().into()),
            (names::PUBLIC_KEY, public.into_bytes().into()),
        ])
    })
    .await?;
    let pem = field(&id, &secret, names::PRIVATE_KEY)?;
    KeyPair::from_pkcs8_pem(pem, &Policy::compatible()).map_err(|error| Error::Setup {
        object: id,
        problem: format!("{}: {error}", names::PRIVATE_KEY),
    })
}

/// The key that seals a provider's records.
pub(super) async fn record_key(
    client: &Client,
    namespace: &str,
    missing: Missing,
) -> Result<RecordKey, Error> {
    let id = ObjectRef::new(Kind::Secret, namespace, RECORD_KEY_SECRET);
    let secret = find_or_make(client, &id, missing, || {
        let key = RecordKey::draw(&mut SysRng).map_err(|_| Error::Machine(NO_RANDOMNESS))?;
        Ok(vec![(RECORD_KEY, key.as_bytes().as_slice().into())])
    })
    .await?;
    let bytes: Option<[u8; 32]> = field(&id, &secret, RECORD_KEY)?.try_into().ok();
    let key = bytes.and_then(|bytes| RecordKey::new(bytes).ok());
    key.ok_or_else(|| Error::Setup {
        object: id,
        problem: format!("{RECORD_KEY}: expected 32 random bytes"),
    })
}

/// The Secret with this ID. A missing Secret is created. If another writer creates it
/// first, that Secret is returned.
async fn find_or_make(
    client: &Client,
    id: &ObjectRef,
    missing: Missing,
    make: impl Fn() -> Result<Vec<(&'static str, SecretBytes)>, Error>,
) -> Result<Secret, Error> {
    for _ in 0..2 {
        match object::get(client, id).await? {
            Some(Object::Secret(secret)) => return Ok(secret),
            Some(_) => {
                return Err(Error::Setup {
                    object: id.clone(),
                    problem: "the Secret cannot be read".to_owned(),
                });
            }
            None if missing == Missing::IsAnError => {
                return Err(Error::NoKey(id.clone()));
            }
            None => {}
        }
        let data = make()?.into_iter();
        let secret = Secret {
            metadata: Metadata {
                name: id.name.clone(),
                namespace: id.namespace.clone(),
                ..Metadata::default()
            },
            data: data.map(|(key, value)| (key.to_owned(), value)).collect(),
            secret_type: Some(names::OPAQUE.to_owned()),
            immutable: false,
        };
        match apply(client, &Effect::Create(secret.into())).await? {
            Applied::Written(object) => {
                if let Object::Secret(secret) = *object {
                    return Ok(secret);
                }
            }
            Applied::Missing => {
                return Err(Error::Setup {
                    object: id.clone(),
                    problem: format!("there is no namespace {}; install Liqo", id.namespace),
                });
            }
            _ => {}
        }
    }
    Err(Error::Conflict(id.clone()))
}

fn field<'s>(id: &ObjectRef, secret: &'s Secret, key: &str) -> Result<&'s [u8], Error> {
    let value = secret.data.get(key).map(SecretBytes::expose);
    value.ok_or_else(|| Error::Setup {
        object: id.clone(),
        problem: format!("the key {key} is missing"),
    })
}

const RECORD_KEY_SECRET: &str = "liqo-auth-record-key";
const RECORD_KEY: &str = "key";
