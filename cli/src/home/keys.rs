//! The keys of a home: the cluster's, and those that are for one provider only.

use std::sync::Arc;

use anyhow::Context;
use getrandom::SysRng;
use liqo_auth::{
    crypto::{Algorithm, CertificateChain, KeyPair, KeysByProvider, PublicKey, SigningKey},
    machine::Effect,
    model::{AuthParams, ClusterId, Identity, Metadata, Resource, Secret, Timestamp, names},
    policy::Policy,
};

use super::Home;
use crate::failure::Result;

/// The key towards one provider.
pub(crate) struct OwnKey {
    pub(crate) provider: ClusterId,
    pub(crate) key: Arc<KeyPair>,
    /// The earlier key, which signs the key until the provider has accepted it.
    pub(crate) predecessor: Option<Arc<KeyPair>>,
}

impl Home {
    /// The keys towards all providers.
    pub(crate) fn keys(&self) -> Result<KeysByProvider> {
        let mut keys = KeysByProvider::new(self.key()?);
        for own in self.own_keys()? {
            let predecessor = own.predecessor.map(|key| -> Arc<dyn SigningKey> { key });
            keys = keys.insert(own.provider, own.key, predecessor);
        }
        Ok(keys)
    }

    /// The keys that are for one provider only.
    pub(crate) fn own_keys(&self) -> Result<Vec<OwnKey>> {
        let mut found = Vec::new();
        for secret in self.all::<Secret>() {
            if let Some(provider) = self.provider_of(secret) {
                found.push(self.read_own(provider, secret)?);
            }
        }
        Ok(found)
    }

    /// The key towards a provider: its own, or the cluster's.
    pub(crate) fn key_towards(&self, provider: &ClusterId) -> Result<Arc<KeyPair>> {
        match self.own_key(provider)? {
            Some(own) => Ok(own.key),
            None => self.key(),
        }
    }

    /// The keys that a provider may know: the present one, and the earlier one.
    pub(crate) fn keys_towards(&self, provider: &ClusterId) -> Result<Vec<Arc<KeyPair>>> {
        Ok(match self.own_key(provider)? {
            Some(own) => [Some(own.key), own.predecessor]
                .into_iter()
                .flatten()
                .collect(),
            None => vec![self.key()?],
        })
    }

    fn own_key(&self, provider: &ClusterId) -> Result<Option<OwnKey>> {
        let secret = self.secret_of(provider);
        secret
            .map(|secret| self.read_own(provider.clone(), secret))
            .transpose()
    }

    /// Whether the certificate from a provider is for an earlier key than the present one.
    pub(crate) fn has_new_key(&self, provider: &ClusterId) -> Result<bool> {
        let key = self.key_towards(provider)?;
        let certified = self.certified_key(provider);
        Ok(certified.is_some_and(|certified| certified != key.public_key().spki_der()))
    }

    /// Whether the present key has signed a nonce for the succession, while no Identity shows yet
    /// which of the two keys the provider knows.
    pub(crate) fn is_in_succession(&self, provider: &ClusterId) -> Result<bool> {
        let Some(own) = self.own_key(provider)? else {
            return Ok(false);
        };
        let key = own.key.public_key();
        let is_certified = self.certified_key(provider).as_deref() == Some(key.spki_der());
        Ok(own.predecessor.is_some() && !is_certified && self.has_signed_nonce(provider, key))
    }

    /// Whether there is a key for this provider only.
    pub(crate) fn has_own_key(&self, provider: &ClusterId) -> bool {
        self.secret_of(provider).is_some()
    }

    /// Whether the certificate from a provider is for the cluster's key.
    pub(crate) fn is_known_by_cluster_key(&self, provider: &ClusterId) -> Result<bool> {
        let key = self.key()?;
        let certified = self.certified_key(provider);
        Ok(certified.as_deref() == Some(key.public_key().spki_der()))
    }

    /// Makes the first key for a provider: in a home in memory, and on a cluster at once.
    pub(crate) fn make_first_key(&mut self, provider: &ClusterId, now: Timestamp) -> Result<()> {
        let algorithm = self.key()?.public_key().algorithm();
        self.put_own_key(provider, algorithm, None, now)?;
        Ok(())
    }

    /// Makes the next key for a provider in memory. The key that the provider knows stays,
    /// and signs the new one.
    pub(crate) fn make_own_key(
        &mut self,
        provider: &ClusterId,
        algorithm: Algorithm,
        now: Timestamp,
    ) -> Result<OwnKey> {
        self.folder("makes a new key in place of another, and only a home's key is replaced")?;
        let predecessor = match self.is_known_to(provider) {
            true => Some(self.known_key(provider)?),
            false => None,
        };
        self.put_own_key(provider, algorithm, predecessor, now)
    }

    fn put_own_key(
        &mut self,
        provider: &ClusterId,
        algorithm: Algorithm,
        predecessor: Option<Arc<KeyPair>>,
        now: Timestamp,
    ) -> Result<OwnKey> {
        let key = KeyPair::generate(algorithm, &mut SysRng).context("the key cannot be made")?;
        let present = self.secret_of(provider).cloned();
        let mut secret = present.clone().unwrap_or_else(|| Secret {
            metadata: Metadata {
                name: format!("{OWN_KEY}{provider}"),
                namespace: self.liqo_namespace_name().to_owned(),
                ..Metadata::default()
            },
            secret_type: Some(names::OPAQUE.to_owned()),
            ..Secret::default()
        });
        let pem = |key: &KeyPair| key.to_pkcs8_pem().expose().as_bytes().into();
        let public = key.public_key().to_pem().into_bytes().into();
        secret.data = [
            (names::PRIVATE_KEY.to_owned(), pem(&key)),
            (names::PUBLIC_KEY.to_owned(), public),
        ]
        .into();
        if let Some(predecessor) = &predecessor {
            let earlier = EARLIER_PRIVATE_KEY.to_owned();
            secret.data.insert(earlier, pem(predecessor));
        }
        let effect = match present {
            None => Effect::Create(secret.into()),
            Some(present) => Effect::Replace {
                version: self.store.version(&present.id()),
                object: secret.into(),
            },
        };
        self.meet(effect.id());
        self.apply(&effect, now)?;
        Ok(OwnKey {
            provider: provider.clone(),
            key: Arc::new(key),
            predecessor,
        })
    }

    /// The key that the provider knows: the earlier one until the present one is certified.
    fn known_key(&self, provider: &ClusterId) -> Result<Arc<KeyPair>> {
        let present = self.key_towards(provider)?;
        let earlier = self.own_key(provider)?.and_then(|own| own.predecessor);
        let certified = self.certified_key(provider);
        let is_certified = certified.as_deref() == Some(present.public_key().spki_der());
        Ok(earlier.filter(|_| !is_certified).unwrap_or(present))
    }

    /// The SubjectPublicKeyInfo in the certificate of the Identity from a provider.
    fn certified_key(&self, provider: &ClusterId) -> Option<Vec<u8>> {
        let name = names::identity_name(provider);
        let mut identities = self.all::<Identity>();
        let identity = identities.find(|identity| identity.metadata.name == name)?;
        certified_spki(&identity.spec.auth_params)
    }

    /// Whether a provider may know a key of this cluster: a nonce of it was signed.
    pub(crate) fn is_known_to(&self, provider: &ClusterId) -> bool {
        self.signed_nonces(provider).next().is_some()
    }

    fn has_signed_nonce(&self, provider: &ClusterId, key: &PublicKey) -> bool {
        self.signed_nonces(provider).any(|secret| {
            let signed = secret
                .get(names::NONCE)
                .zip(secret.get(names::SIGNED_NONCE));
            signed.is_some_and(|(nonce, signature)| {
                let policy = Policy::compatible();
                key.verify(key.nonce_scheme(), nonce, signature, &policy)
                    .is_ok()
            })
        })
    }

    fn signed_nonces(&self, provider: &ClusterId) -> impl Iterator<Item = &Secret> {
        self.all::<Secret>().filter(move |secret| {
            let peer = secret.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
            secret.metadata.name == names::SIGNED_NONCE_SECRET
                && peer.map(String::as_str) == Some(provider.as_str())
        })
    }

    fn secret_of(&self, provider: &ClusterId) -> Option<&Secret> {
        let name = format!("{OWN_KEY}{provider}");
        self.get(self.liqo_namespace_name(), &name)
    }

    /// The provider of a Secret with such a key.
    fn provider_of(&self, secret: &Secret) -> Option<ClusterId> {
        if secret.metadata.namespace != self.liqo_namespace_name() {
            return None;
        }
        secret.metadata.name.strip_prefix(OWN_KEY)?.parse().ok()
    }

    fn read_own(&self, provider: ClusterId, secret: &Secret) -> Result<OwnKey> {
        let predecessor = secret.get(EARLIER_PRIVATE_KEY);
        Ok(OwnKey {
            key: self.read_key(secret, names::PRIVATE_KEY)?,
            predecessor: predecessor
                .map(|_| self.read_key(secret, EARLIER_PRIVATE_KEY))
                .transpose()?,
            provider,
        })
    }

    fn read_key(&self, secret: &Secret, field: &str) -> Result<Arc<KeyPair>> {
        let odd = |reason: &dyn std::fmt::Display| self.odd(&secret.metadata.name, reason);
        let text = secret
            .get(field)
            .ok_or_else(|| odd(&format!("the field {field} is missing")))?;
        // The tool made this key itself: the policy for peers does not apply.
        let key = KeyPair::from_pkcs8_pem(text, &Policy::compatible());
        key.map(Arc::new).map_err(|error| odd(&error))
    }
}

/// Liqo's name of a cluster's keys, and the provider.
const OWN_KEY: &str = "authentication-keys-";
const EARLIER_PRIVATE_KEY: &str = "earlierPrivateKey";

/// The SubjectPublicKeyInfo in the certificate of an answer. AWS users have none.
pub(crate) fn certified_spki(answer: &AuthParams) -> Option<Vec<u8>> {
    let pem = answer.signed_crt.as_slice();
    let chain = CertificateChain::from_pem(pem, &Policy::compatible()).ok()?;
    Some(chain.leaf().spki_der.clone())
}

/// Whether a certificate has expired. AWS keys do not expire.
pub(crate) fn has_expired(auth_params: &AuthParams, now: Timestamp) -> bool {
    let pem = auth_params.signed_crt.as_slice();
    CertificateChain::from_pem(pem, &Policy::compatible())
        .is_ok_and(|chain| chain.leaf().not_after < now)
}
