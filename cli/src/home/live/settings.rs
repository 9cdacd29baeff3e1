//! The settings of a cluster: what its objects and its kubeconfig say.

use std::future::ready;

use futures::{StreamExt, stream, stream::LocalBoxStream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, TypeMeta},
};
use liqo_auth::{
    crypto::CaBundle,
    machine::{Effect, Version},
    model::{Kind, Object, ObjectRef, StorageClass},
};
use liqo_auth_kube::{Applied, apply, follow, resource};
use serde_json::json;

use super::{
    Live, client_cas, failure,
    published_ca::{ROOT_CA, root_ca},
    stored_settings::{KEY, NAME, StoredSettings},
};
use crate::{
    failure::{Failure, Result},
    home::{
        Ground, Home, overtaken,
        settings::{OfPeers, Settings, Signer},
    },
};

impl Home {
    /// The place of the settings, for messages.
    pub(crate) fn settings_place(&self) -> String {
        match &self.ground {
            Ground::Cluster(live) => live.settings.config_map_id().to_string(),
            Ground::Folder(_) => format!("home.yaml of {}", self.site),
        }
    }

    /// The ConfigMap of a cluster and the Secret of the same name, if the ConfigMap names
    /// peers. Their place is the Secret.
    pub(crate) fn peers_in_config_map(&self) -> Result<Option<(ObjectRef, ObjectRef)>> {
        let Ground::Cluster(live) = &self.ground else {
            return Ok(None);
        };
        let stored = &live.settings;
        let has_peers = !stored.in_config_map()?.peers.is_empty();
        Ok(has_peers.then(|| (stored.config_map_id(), stored.secret_id())))
    }

    /// The place of the settings for peers, for messages.
    pub(crate) fn peers_place(&self) -> String {
        match &self.ground {
            Ground::Cluster(live) => live.settings.secret_id().to_string(),
            Ground::Folder(_) => self.settings_place(),
        }
    }

    /// The settings of a cluster, as they are now and after each change. What cannot be read
    /// is an error, and the next change may be read again. A provider's contain the storage
    /// classes and the client CAs, and follow the cluster's own CA. A folder has no such stream.
    pub(crate) fn settings_over_time(
        &self,
        is_provider: bool,
    ) -> LocalBoxStream<'_, Result<Settings>> {
        let Ground::Cluster(live) = &self.ground else {
            return stream::empty().boxed_local();
        };
        let place = &live.settings.config_map_id();
        let config_maps = follow(&live.client, place).map(Change::ConfigMap);
        let secrets = follow(&live.client, &live.settings.secret_id());
        let secrets = secrets.map(|sent| Change::Secret(sent.map(secret)));
        let classes = live.storage_classes_over_time().map(Change::StorageClasses);
        let root_ca_id = ObjectRef::new(Kind::ConfigMap, &place.namespace, ROOT_CA);
        let root_cas = follow(&live.client, &root_ca_id);
        let root_cas = root_cas.map(|shown| Change::RootCa(shown.as_ref().and_then(root_ca)));
        let client_cas = client_cas::over_time(&live.client).map(Change::ClientCas);
        let of_providers = match is_provider {
            true => stream::select(stream::select(classes, root_cas), client_cas).boxed_local(),
            false => stream::pending().boxed_local(),
        };
        let mut shown = Shown::nothing(&place.namespace);
        let mut storage_classes = live.storage_classes.clone();
        let mut of_pods = live.own_ca.of_pods.clone();
        let mut client_cas = None;
        stream::select(stream::select(config_maps, secrets), of_providers)
            .filter_map(move |change| {
                match change {
                    Change::ConfigMap(config_map) => shown.config_map(config_map),
                    Change::Secret(secret) => shown.secret(secret),
                    Change::StorageClasses(classes) => storage_classes = classes,
                    // It is made again after a deletion, perhaps with another CA.
                    Change::RootCa(ca) => of_pods = ca.or(of_pods.take()),
                    Change::ClientCas(cas) => client_cas = cas,
                }
                let stored = shown.whole();
                ready(stored.map(|stored| {
                    let settings = live.settings_with(stored, of_pods.as_deref());
                    settings.map(|settings| Settings {
                        storage_classes: storage_classes.clone(),
                        client_cas: client_cas.clone(),
                        ..settings
                    })
                }))
            })
            .boxed_local()
    }

    /// Writes changed settings of a cluster. Its objects are there already.
    pub(in crate::home) fn save_settings(&mut self) -> Result<()> {
        if let Ground::Cluster(live) = &mut self.ground
            && self.settings != self.written_settings
        {
            live.write_settings(&self.settings, &self.written_settings)?;
            self.written_settings = self.settings.clone();
        }
        Ok(())
    }
}

impl Live {
    /// The settings that are stored in these objects.
    pub(super) fn settings(&self, stored: &StoredSettings) -> Result<Settings> {
        self.settings_with(stored, self.own_ca.of_pods.as_deref())
    }

    /// The settings that are stored in these objects, while the cluster gives this CA to its
    /// pods.
    fn settings_with(&self, stored: &StoredSettings, of_pods: Option<&str>) -> Result<Settings> {
        let (said, id) = (stored.all()?, stored.config_map_id());
        let api_server_ca = self.published_ca(&said, &id, of_pods)?;
        let signer = said.signer.unwrap_or(Signer::Kubernetes);
        if signer == Signer::Home {
            return Err(Failure::usage(format!(
                "{id}: signer is `home`, which a cluster does not have. Leave signer out, or set it to kubernetes or aws"
            )));
        }
        let is_internal = self.is_inside && said.api_server.is_none();
        let api_server = match said.api_server {
            Some(said) => said,
            None => self.found.api_server.parse().map_err(|error| {
                Failure::usage(format!(
                    "peers cannot reach the API server at {}: {error}. Set apiServer in {id}",
                    self.found.api_server,
                ))
            })?,
        };
        Ok(Settings {
            cluster_id: self.id().clone(),
            api_server,
            api_server_ca,
            is_internal,
            require_approval: said.require_approval,
            peer_again_days: said.peer_again_days,
            nonce_lifetime: said.nonce_lifetime,
            certificate_lifetime: said.certificate_lifetime,
            signer,
            for_cluster: false,
            key_per_provider: said.key_per_provider,
            addresses: said.addresses,
            service_ranges: self.service_ranges(),
            client_cas: None,
            storage_classes: self.storage_classes.clone(),
            slices: said.slices,
            peers: said.peers,
        })
    }

    /// Writes the settings for peers into the cluster's Secret, and all others into its
    /// ConfigMap. Peers that a person has written into the ConfigMap leave it.
    fn write_settings(&mut self, settings: &Settings, before: &Settings) -> Result<()> {
        let said = self.settings.in_config_map()?;
        let mut text = said.clone();
        if settings.peers != before.peers {
            let peers = settings.peers.clone();
            self.write_peers(&OfPeers { peers })?;
            text.peers.clear();
        }
        // What follows from the kubeconfig is not written.
        if settings.api_server != before.api_server || settings.is_internal != before.is_internal {
            text.api_server = Some(settings.api_server.clone());
            // The CA belongs to the URL.
            text.api_server_ca.clone_from(&settings.api_server_ca);
        }
        if settings.api_server_ca != before.api_server_ca {
            text.api_server_ca.clone_from(&settings.api_server_ca);
        }
        if text == said {
            return Ok(());
        }
        let (text, id) = (text.write()?, self.settings.config_map_id());
        let api = settings_api(&self.client, &id);
        let data = json!({ KEY: *text });
        let written = self.runtime.block_on(async {
            match &self.settings.config_map {
                Some(present) => {
                    let version = &present.metadata.resource_version;
                    let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
                    let parameters = PatchParams::default();
                    api.patch(NAME, &parameters, &Patch::Merge(patch)).await
                }
                None => {
                    let mut made = DynamicObject::new(NAME, &resource(Kind::ConfigMap));
                    made.data = json!({ "data": data });
                    api.create(&PostParams::default(), &made).await
                }
            }
        });
        self.settings.config_map = Some(written.map_err(|error| {
            if matches!(&error, kube::Error::Api(status) if status.is_conflict() || status.is_already_exists()) {
                return overtaken(&id);
            }
            Failure::from(anyhow::Error::new(error)).about(&id.to_string())
        })?);
        Ok(())
    }

    fn write_peers(&mut self, peers: &OfPeers) -> Result<()> {
        let secret = self.settings.with_peers(peers)?;
        let effect = match self.settings.stored_secret()? {
            None => Effect::Create(secret.into()),
            Some(stored) => Effect::Replace {
                version: Version {
                    uid: stored.metadata.uid.clone(),
                    resource_version: stored.metadata.resource_version.clone(),
                },
                object: secret.into(),
            },
        };
        let applied = self.runtime.block_on(apply(&self.client, &effect));
        match applied.map_err(failure)? {
            Applied::Written(written) => self.settings.secret = Some(*written),
            _ => return Err(overtaken(&effect.id())),
        }
        Ok(())
    }
}

/// The stored settings, as far as the watches have shown them.
struct Shown {
    stored: StoredSettings,
    has_config_map: bool,
    has_secret: bool,
}

impl Shown {
    fn nothing(namespace: &str) -> Self {
        Self {
            stored: StoredSettings::none(namespace),
            has_config_map: false,
            has_secret: false,
        }
    }

    /// Takes the ConfigMap, or that there is none.
    fn config_map(&mut self, config_map: Option<DynamicObject>) {
        (self.stored.config_map, self.has_config_map) = (config_map, true);
    }

    /// Takes the Secret, or that there is none.
    fn secret(&mut self, secret: Option<Object>) {
        (self.stored.secret, self.has_secret) = (secret, true);
    }

    /// The settings, if both are known. One of them alone may say less than what is in force.
    fn whole(&self) -> Option<&StoredSettings> {
        (self.has_config_map && self.has_secret).then_some(&self.stored)
    }
}

/// What has changed of a cluster's settings.
enum Change {
    ConfigMap(Option<DynamicObject>),
    Secret(Option<Object>),
    StorageClasses(Vec<StorageClass>),
    /// The CA that the cluster gives to its pods.
    RootCa(Option<String>),
    ClientCas(Option<CaBundle>),
}

/// A Secret that the API server has sent, as the library reads it.
fn secret(mut sent: DynamicObject) -> Object {
    // The items of a list may have no kind.
    sent.types = Some(TypeMeta {
        api_version: "v1".to_owned(),
        kind: Kind::Secret.to_string(),
    });
    let sent = serde_json::to_value(sent);
    Object::from_value(sent.unwrap_or_default())
}

fn settings_api(client: &Client, id: &ObjectRef) -> Api<DynamicObject> {
    let config_map: ApiResource = resource(Kind::ConfigMap);
    Api::namespaced_with(client.clone(), &id.namespace, &config_map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_in_force_when_both_objects_are_known() {
        let mut by_config_map = Shown::nothing("liqo");
        assert!(by_config_map.whole().is_none());
        by_config_map.config_map(None);
        assert!(by_config_map.whole().is_none());
        by_config_map.secret(None);
        assert!(by_config_map.whole().is_some());

        let mut by_secret = Shown::nothing("liqo");
        by_secret.secret(None);
        assert!(by_secret.whole().is_none());
        by_secret.config_map(None);
        assert!(by_secret.whole().is_some());
    }
}
