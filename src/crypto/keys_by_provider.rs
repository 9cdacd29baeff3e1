//! A key for each provider, beside the cluster's one key.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use super::{Answer, BoxError, KeyStore, SigningKey};
use crate::model::ClusterId;

/// A key for each provider that has one of its own, and the cluster's key for
/// all others.
///
/// With one key, as Liqo has it, every provider can see which other providers
/// this cluster has, by comparing keys, and a key that leaks opens them all. A
/// provider that knows the cluster's key already is told of its own by a
/// succession: [`migrate`](Self::migrate).
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::crypto::{Entropy, KeyPair, KeyStore, KeysByProvider};
///
/// let key = |seed| Arc::new(KeyPair::from_entropy(&Entropy::from_bytes([seed; 32])));
/// let (known, new) = ("cl-known".parse()?, "cl-new".parse()?);
/// let store = KeysByProvider::new(key(1))
///     .insert("cl-new".parse()?, key(2))
///     .migrate("cl-known".parse()?, key(3));
/// assert!(store.predecessor(&new)?.at_once()?.is_none());
/// assert!(store.predecessor(&known)?.at_once()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct KeysByProvider {
    cluster: Arc<dyn SigningKey>,
    own: BTreeMap<ClusterId, OwnKey>,
}

#[derive(Clone)]
struct OwnKey {
    key: Arc<dyn SigningKey>,
    predecessor: Option<Arc<dyn SigningKey>>,
}

impl KeysByProvider {
    /// The cluster's key alone.
    pub fn new(cluster: Arc<dyn SigningKey>) -> Self {
        Self {
            cluster,
            own: BTreeMap::new(),
        }
    }

    /// A key for a provider that knows no other one, or does not any more.
    #[must_use]
    pub fn insert(self, provider: ClusterId, key: Arc<dyn SigningKey>) -> Self {
        self.with(provider, key, None)
    }

    /// A key for a provider that knows the cluster's: the cluster's key signs
    /// it, and serves until the provider has taken it. Then
    /// [`insert`](Self::insert) says so.
    #[must_use]
    pub fn migrate(self, provider: ClusterId, key: Arc<dyn SigningKey>) -> Self {
        let cluster = Arc::clone(&self.cluster);
        self.with(provider, key, Some(cluster))
    }

    /// A key for a provider that knows this earlier one.
    #[must_use]
    pub fn rotate(
        self,
        provider: ClusterId,
        key: Arc<dyn SigningKey>,
        predecessor: Arc<dyn SigningKey>,
    ) -> Self {
        self.with(provider, key, Some(predecessor))
    }

    fn with(
        mut self,
        provider: ClusterId,
        key: Arc<dyn SigningKey>,
        predecessor: Option<Arc<dyn SigningKey>>,
    ) -> Self {
        self.own.insert(provider, OwnKey { key, predecessor });
        self
    }
}

impl KeyStore for KeysByProvider {
    fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        let own = self.own.get(peer).map(|own| &own.key);
        Ok(Answer::Ready(Arc::clone(own.unwrap_or(&self.cluster))))
    }

    fn predecessor(
        &self,
        peer: &ClusterId,
    ) -> Result<Answer<Option<Arc<dyn SigningKey>>>, BoxError> {
        let own = self.own.get(peer);
        Ok(Answer::Ready(own.and_then(|own| own.predecessor.clone())))
    }
}

impl fmt::Debug for KeysByProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeysByProvider")
            .field("cluster", self.cluster.public_key())
            .field("own", &self.own.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair};

    #[test]
    fn each_provider_has_its_own_key_or_the_clusters() {
        let key = |seed| -> Arc<dyn SigningKey> {
            Arc::new(KeyPair::from_entropy(&Entropy::from_bytes([seed; 32])))
        };
        let id = |name: &str| name.parse::<ClusterId>().unwrap();
        let store = KeysByProvider::new(key(1))
            .insert(id("own"), key(2))
            .migrate(id("migrated"), key(3))
            .rotate(id("rotated"), key(5), key(4));
        let public = |key: Arc<dyn SigningKey>| key.public_key().clone();
        for (name, own, predecessor) in [
            ("other", 1, None),
            ("own", 2, None),
            ("migrated", 3, Some(1)),
            ("rotated", 5, Some(4)),
        ] {
            assert_eq!(
                store.find(&id(name)).unwrap().map(public),
                Answer::Ready(public(key(own))),
                "{name}"
            );
            assert_eq!(
                store
                    .predecessor(&id(name))
                    .unwrap()
                    .map(|key| key.map(public)),
                Answer::Ready(predecessor.map(|seed| public(key(seed)))),
                "{name}"
            );
        }
    }
}
