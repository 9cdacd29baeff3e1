//! The keys towards providers: the cluster's, or one for a provider alone.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use liqo_auth::{
    crypto::{Answer, BoxError, KeyPair, KeyStore, SigningKey},
    model::ClusterId,
};

use super::{Cluster, keys};
use crate::Error;

/// The keys of a cluster towards its providers: the cluster's own key, or a key that only
/// one provider knows.
///
/// Give it to the consumer as its key store, and to the
/// [`Controller`](crate::ControllerBuilder::provider_keys), which chooses the key before the
/// first signature for a provider
/// ([`Consumer::takes_own_key`](liqo_auth::Consumer::takes_own_key)). A key of a provider's
/// own is kept in the Secret `authentication-keys-<provider>` in Liqo's namespace, where no
/// peer can read. Once it exists, it stays in use.
///
/// # Rights
/// In Liqo's namespace: `get` and `create` Secrets.
///
/// # Examples
/// ```no_run
/// use std::sync::Arc;
/// use liqo_auth::consumer::{Consumer, ConsumerConfig};
/// use liqo_auth_kube::{Cluster, Controller, ControllerBuilder, ProviderKeys};
///
/// fn consuming(cluster: &Cluster) -> ControllerBuilder {
///     let keys = ProviderKeys::of(cluster);
///     let config = ConsumerConfig::new(cluster.id().clone());
///     Controller::builder(cluster)
///         .consumer(Consumer::new(config, Arc::new(keys.clone())))
///         .provider_keys(keys)
/// }
/// ```
#[derive(Clone)]
pub struct ProviderKeys(Arc<Shared>);

struct Shared {
    cluster: Cluster,
    chosen: Mutex<Chosen>,
}

#[derive(Default)]
struct Chosen {
    setting: Setting,
    keys: BTreeMap<ClusterId, Key>,
}

/// Whether new providers get keys of their own. By default, those do that are consumers of
/// this cluster as well.
#[derive(Default, PartialEq, Eq)]
struct Setting {
    of_all: Option<bool>,
    of_peers: BTreeMap<ClusterId, bool>,
}

enum Key {
    OfCluster,
    Own(Arc<KeyPair>),
}

impl ProviderKeys {
    /// The keys of this cluster. The key towards a provider is found when it is needed.
    pub fn of(cluster: &Cluster) -> Self {
        Self(Arc::new(Shared {
            cluster: cluster.clone(),
            chosen: Mutex::default(),
        }))
    }

    /// Sets whether new providers get keys of their own: `of_all` of them, and each peer of
    /// the map. Without a setting, those do that are consumers of this cluster as well. A
    /// running peering keeps its key.
    pub fn set(&self, of_all: Option<bool>, of_peers: BTreeMap<ClusterId, bool>) {
        let setting = Setting { of_all, of_peers };
        let mut chosen = self.chosen();
        if chosen.setting != setting {
            chosen.setting = setting;
            chosen.keys.retain(|_, key| matches!(key, Key::Own(_)));
        }
    }

    /// Finds the key towards a provider, or makes it if `takes_own` says so. `takes_own`
    /// gets the cluster's key and the setting. Returns false if the key is known already.
    pub(crate) async fn choose(
        &self,
        provider: &ClusterId,
        takes_own: impl FnOnce(&Arc<dyn SigningKey>, Option<bool>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let Shared { cluster, .. } = &*self.0;
        if self.chosen().keys.contains_key(provider) {
            return Ok(false);
        }
        let mut key = keys::of_provider(&cluster.client, &cluster.namespace, provider).await?;
        if key.is_none() {
            let of_cluster: Arc<dyn SigningKey> = cluster.key();
            let setting = self.setting(provider);
            if takes_own(&of_cluster, setting)? {
                let algorithm = of_cluster.public_key().algorithm();
                let (client, namespace) = (&cluster.client, &cluster.namespace);
                key = Some(keys::make_for(client, namespace, provider, algorithm).await?);
            }
        }
        let key = key.map_or(Key::OfCluster, |key| Key::Own(Arc::new(key)));
        self.chosen().keys.insert(provider.clone(), key);
        Ok(true)
    }

    fn setting(&self, provider: &ClusterId) -> Option<bool> {
        let chosen = self.chosen();
        let of_peer = chosen.setting.of_peers.get(provider).copied();
        of_peer.or(chosen.setting.of_all)
    }

    fn chosen(&self) -> MutexGuard<'_, Chosen> {
        let chosen = self.0.chosen.lock();
        chosen.unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyStore for ProviderKeys {
    fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        Ok(match self.chosen().keys.get(peer) {
            None => Answer::Pending,
            Some(Key::OfCluster) => Answer::Ready(self.0.cluster.key()),
            Some(Key::Own(key)) => Answer::Ready(key.clone()),
        })
    }
}

impl core::fmt::Debug for ProviderKeys {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("ProviderKeys")
            .field("cluster", &self.0.cluster)
            .finish_non_exhaustive()
    }
}
