//! A key store with separate keys for some providers.

use std::{collections::BTreeMap, sync::Arc};

use super::{Answer, BoxError, KeyStore, SigningKey};
use crate::model::ClusterId;

/// Separate keys for some providers, and the cluster's key for all others.
///
/// Providers that know the same key can see that they have the same consumer, and
/// the key gives access to all of them if it leaks. If a provider already knows the
/// cluster's key, a succession introduces the separate key: see
/// [`insert`](Self::insert).
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::crypto::{Entropy, KeyPair, KeyStore, KeysByProvider};
///
/// let key = |seed| Arc::new(KeyPair::from_entropy(&Entropy::from_bytes([seed; 32])));
/// let (known, new) = ("cl-known".parse()?, "cl-new".parse()?);
/// let store = KeysByProvider::new(key(1))
///     .insert("cl-new".parse()?, key(2), None)
///     .insert("cl-known".parse()?, key(3), Some(key(1)));
/// assert!(store.predecessor(&new)?.at_once()?.is_none());
/// assert!(store.predecessor(&known)?.at_once()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("KeysByProvider {{ cluster: {:?}, own: {:?} }}", cluster.public_key(), own.keys())]
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
    /// A store with the cluster's key only.
    pub fn new(cluster: Arc<dyn SigningKey>) -> Self {
        Self {
            cluster,
            own: BTreeMap::new(),
        }
    }

    /// The same store with a separate key for this provider. If the provider knows an
    /// earlier key, such as the cluster's, pass the earlier key as the predecessor. The
    /// predecessor signs the new key, and stays in use until the provider has accepted
    /// the new key.
    #[must_use]
    pub fn insert(
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
            .insert(id("own"), key(2), None)
            .insert(id("migrated"), key(3), Some(key(1)))
            .insert(id("rotated"), key(5), Some(key(4)));
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
