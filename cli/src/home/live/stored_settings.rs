//! The settings of a cluster, as it stores them in Liqo's namespace: those for itself in a
//! ConfigMap, and those for its peers in a Secret.
//!
//! Liqo lets its peering users read each ConfigMap of this namespace. Settings for peers name
//! other peers, their proxies and their keys, and say who is let in without a handshake.

use kube::api::DynamicObject;
use liqo_auth::{
    crypto::Algorithm,
    model::{DocumentError, Kind, Object, ObjectRef, Resource, Secret},
};

use super::super::settings::{OfPeers, OnCluster};
use crate::failure::{Failure, Result};

/// The objects with the settings, as they are stored.
pub(super) struct StoredSettings {
    /// The ConfigMap and the Secret have the same name.
    namespace: String,
    pub(super) config_map: Option<DynamicObject>,
    pub(super) secret: Option<Object>,
}

impl StoredSettings {
    /// The settings of a cluster that has none.
    pub(super) fn none(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            config_map: None,
            secret: None,
        }
    }

    /// What these ConfigMaps of a namespace say.
    pub(super) fn of(namespace: &str, config_maps: &[DynamicObject]) -> Self {
        let is_it = |it: &&DynamicObject| it.metadata.name.as_deref() == Some(NAME);
        Self {
            config_map: config_maps.iter().find(is_it).cloned(),
            ..Self::none(namespace)
        }
    }

    pub(super) fn config_map_id(&self) -> ObjectRef {
        ObjectRef::new(Kind::ConfigMap, self.namespace.as_str(), NAME)
    }

    pub(super) fn secret_id(&self) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace.as_str(), NAME)
    }

    /// What both say. What the Secret says of a peer counts before the ConfigMap: a person
    /// may have left the peers there.
    pub(super) fn all(&self) -> Result<OnCluster> {
        let mut said = self.in_config_map()?;
        said.peers.extend(self.in_secret()?.peers);
        Ok(said)
    }

    /// What the ConfigMap says. Without one, nothing is said.
    pub(super) fn in_config_map(&self) -> Result<OnCluster> {
        self.read_config_map().map_err(|error| {
            Failure::at_odds(format!("{}, {KEY}: {error:#}", self.config_map_id()))
        })
    }

    fn read_config_map(&self) -> Result<OnCluster, DocumentError> {
        let text = self.config_map.as_ref().and_then(|settings| {
            let text = settings.data.pointer(&format!("/data/{KEY}"));
            text.and_then(serde_json::Value::as_str)
        });
        OnCluster::read(text.unwrap_or("{}").as_bytes())
    }

    /// The algorithm of the cluster's key pair, if it is not made yet.
    pub(super) fn key_algorithm(&self) -> Result<Algorithm, liqo_auth_kube::Error> {
        let said = self.read_config_map();
        let said = said.map_err(|error| liqo_auth_kube::Error::Setup {
            object: self.config_map_id(),
            problem: format!("{KEY}: {error:#}"),
        })?;
        Ok(said.key_algorithm.unwrap_or_default().algorithm())
    }

    fn in_secret(&self) -> Result<OfPeers> {
        let stored = self.stored_secret()?;
        let text = stored.and_then(|secret| secret.get(KEY));
        OfPeers::read(text.unwrap_or(b"{}"))
            .map_err(|error| Failure::at_odds(format!("{}, {KEY}: {error:#}", self.secret_id())))
    }

    /// The Secret with these settings for peers in place of those that it has.
    pub(super) fn with_peers(&self, peers: &OfPeers) -> Result<Secret> {
        let mut secret = self.stored_secret()?.cloned().unwrap_or_default();
        let id = self.secret_id();
        secret.metadata.name = id.name;
        secret.metadata.namespace = id.namespace;
        let text = peers.write()?;
        secret.data.insert(KEY.to_owned(), text.as_bytes().into());
        Ok(secret)
    }

    pub(super) fn stored_secret(&self) -> Result<Option<&Secret>> {
        let Some(stored) = &self.secret else {
            return Ok(None);
        };
        let secret = Secret::from_object(stored);
        secret
            .map(Some)
            .ok_or_else(|| Failure::at_odds(format!("{} cannot be read", self.secret_id())))
    }
}

/// The name of the ConfigMap, and of the Secret.
pub(super) const NAME: &str = "liqo-auth-settings";
/// The key of either.
pub(super) const KEY: &str = "settings.yaml";
