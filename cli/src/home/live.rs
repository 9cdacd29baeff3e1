//! A cluster by its API server: objects are read when a command begins, and each
//! effect is a request.

mod beside;
mod client_cas;
mod in_band;
mod login;
mod provider_access;
mod published_ca;
mod service_ranges;
mod settings;
mod signer;
mod storage_classes;
mod stored_settings;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use anyhow::Context;
use ipnet::IpNet;
use kube::{Client, api::DynamicObject};
use liqo_auth::{
    crypto::{KeyPair, RecordKey},
    machine::{Effect, Watch},
    model::{ClusterId, NamespaceName, Object, ObjectRef, StorageClass, names},
};
use liqo_auth_kube::{Applied, Cluster, Opened, apply, client_of, find, get, list};
use tokio::runtime::{Builder, Runtime};

pub(crate) use self::{
    login::{Distrust, Login, NotTrusted},
    provider_access::{PeeringUser, ProviderAccess},
};
use self::{published_ca::OwnCa, stored_settings::StoredSettings};
use super::{
    Ground, Home, Use,
    kubeconfig::{Endpoint, config},
    narrowing::{is_of_peers, is_of_records, narrowed},
    settings::Settings,
    site::Connection,
    store::Store,
};
use crate::failure::{Failure, Result};

/// An open connection to a cluster.
pub(super) struct Live {
    runtime: Runtime,
    cluster: Cluster,
    client: Client,
    /// What the kubeconfig says of the API server. The cluster's own settings count
    /// before it.
    found: Endpoint,
    settings: StoredSettings,
    /// The keys that a trial has made in memory.
    pub(super) unwritten_keys: Vec<Object>,
    watches: Vec<Watch>,
    /// The peer of a command for one peering: what lies in other tenant namespaces is
    /// not read.
    only_peer: Option<ClusterId>,
    /// The records that were read when the cluster was opened. None once they were used.
    first_records: Option<Vec<Object>>,
    /// The keys that are for one provider only, as they were when the cluster was opened.
    provider_keys: Vec<Object>,
    /// Objects that have a name which an effect needed.
    met: BTreeSet<ObjectRef>,
    /// Whether the program runs in the cluster.
    is_inside: bool,
    own_ca: OwnCa,
    /// The addresses of the cluster's Services. Empty until they are read.
    service_ranges: Vec<IpNet>,
    /// The storage classes of the cluster. Empty until they are read.
    storage_classes: Vec<StorageClass>,
    /// How long a command waits for a certificate.
    timeout: Duration,
    /// Liqo's namespace, if it is not the usual one.
    liqo_namespace: Option<NamespaceName>,
}

/// An API server that a kubeconfig names.
struct ApiServer {
    runtime: Runtime,
    client: Client,
    found: Endpoint,
}

impl ApiServer {
    /// Connects to a cluster, and opens it. The inner error is the cluster's.
    fn open(
        connection: &Connection,
        purpose: Use,
    ) -> Result<(Self, Result<Opened, liqo_auth_kube::Error>)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let namespace = connection.liqo_namespace();
        let (client, found, opened) = runtime.block_on(async {
            let config = config(connection).await?;
            let found = Endpoint::of(&config);
            let client = client_of(config).context("the kubeconfig")?;
            let algorithm =
                |listed: &[DynamicObject]| StoredSettings::of(namespace, listed).key_algorithm();
            let opener = client.clone();
            let opened = match purpose {
                Use::Read => Cluster::existing_with_objects(opener, namespace).await,
                Use::Trial => Cluster::try_with_objects(opener, namespace, algorithm).await,
                Use::Write => Cluster::open_with_objects(opener, namespace, algorithm).await,
            };
            Ok::<_, Failure>((client, found, opened))
        })?;
        let server = Self {
            runtime,
            client,
            found,
        };
        Ok((server, opened))
    }
}

/// What became of an effect on a cluster.
pub(super) enum Outcome {
    /// The object as it is now. None if it was deleted.
    Done(Option<Box<Object>>),
    /// Another program was faster.
    Overtaken,
}

impl Live {
    /// Connects to a cluster. Makes missing keys if the command may write.
    pub(super) fn connect(connection: &Connection, purpose: Use) -> Result<(Self, Settings)> {
        let (server, opened) = ApiServer::open(connection, purpose)?;
        Self::of(connection, server, opened.map_err(failure)?)
    }

    /// The connection to a cluster that is open.
    fn of(connection: &Connection, server: ApiServer, opened: Opened) -> Result<(Self, Settings)> {
        let ApiServer {
            runtime,
            client,
            found,
        } = server;
        let mut settings = StoredSettings::of(connection.liqo_namespace(), &opened.config_maps);
        settings.secret = opened.settings;
        let mut live = Self {
            runtime,
            cluster: opened.cluster,
            client,
            found,
            settings,
            unwritten_keys: opened.unwritten_keys,
            watches: Vec::new(),
            only_peer: None,
            first_records: Some(opened.records),
            provider_keys: opened.provider_keys,
            met: BTreeSet::new(),
            is_inside: connection.in_cluster,
            own_ca: OwnCa::default(),
            service_ranges: Vec::new(),
            storage_classes: Vec::new(),
            timeout: USUAL_TIMEOUT,
            liqo_namespace: connection.liqo_namespace.clone(),
        };
        live.learn_own_ca(&opened.config_maps)?;
        let settings = live.settings(&live.settings)?;
        Ok((live, settings))
    }

    pub(super) fn key(&self) -> Arc<KeyPair> {
        self.cluster.key()
    }

    pub(super) fn record_key(&self) -> RecordKey {
        self.cluster.record_key()
    }

    pub(super) fn id(&self) -> &ClusterId {
        self.cluster.id()
    }

    /// Runs a future in the runtime of the connection.
    pub(super) fn block_on<F: Future>(&self, run: impl FnOnce(&Cluster) -> F) -> F::Output {
        self.runtime.block_on(run(&self.cluster))
    }

    /// Chooses what [`list`](Self::list) reads.
    pub(super) fn watch(&mut self, watches: impl IntoIterator<Item = Watch>) {
        let is_whole = |watch: &Watch| watch.labels.is_empty() && watch.namespace.is_none();
        let mut watches: Vec<Watch> = watches.into_iter().collect();
        // The list of a whole kind has all that other lists of the kind select.
        watches.sort_by_key(|watch| !is_whole(watch));
        self.watches.clear();
        for watch in watches {
            let has = |known: &Watch| is_whole(known) && known.kind == watch.kind;
            let mut known = self.watches.iter();
            if !known.any(|known| has(known) || *known == watch) {
                self.watches.push(watch);
            }
        }
    }

    /// Reads no objects of other peers than this one where they can be told apart.
    pub(super) fn only(&mut self, peer: &ClusterId) {
        self.only_peer = Some(peer.clone());
    }

    /// Frees what was read when the cluster was opened.
    pub(super) fn forget_opening(&mut self) {
        self.first_records = None;
    }

    /// The objects that the watches select.
    pub(super) fn list(&mut self) -> Result<Vec<Object>> {
        let first_records = self.first_records.take();
        let listed = async {
            let mut watches = self.watches.clone();
            let mut objects = Vec::new();
            if let Some(records) = first_records {
                let namespace = self.settings.config_map_id().namespace;
                watches.retain(|watch| !is_of_records(watch, &namespace));
                objects.extend(records);
            }
            let mut of_peers = Vec::new();
            if self.only_peer.is_some() {
                of_peers = watches.extract_if(.., |watch| is_of_peers(watch)).collect();
            }
            objects.extend(list(&self.client, watches).await?);
            if let Some(peer) = &self.only_peer {
                let narrowed = narrowed(of_peers, peer, &objects);
                objects.extend(list(&self.client, narrowed).await?);
            }
            objects.extend(self.provider_keys.iter().cloned());
            for id in &self.met {
                objects.extend(get(&self.client, id).await?);
            }
            tracing::debug!(objects = objects.len(), "read");
            Ok(objects)
        };
        self.runtime.block_on(listed).map_err(failure)
    }

    /// Reads an object by its name, too, from now on.
    pub(super) fn meet(&mut self, id: ObjectRef) {
        self.met.insert(id);
    }

    /// The object, if the API server has it now.
    pub(super) fn find(&self, id: &ObjectRef) -> Result<Option<Object>> {
        let found = self.runtime.block_on(find(&self.client, id));
        found.map_err(failure)
    }

    /// Sends an effect to the API server.
    pub(super) fn apply(&self, effect: &Effect) -> Result<Outcome> {
        let id = effect.id();
        let outcome = self.runtime.block_on(async {
            Ok::<_, liqo_auth_kube::Error>(match apply(&self.client, effect).await? {
                // Without its last finalizer, a deleted object is gone.
                Applied::Written(object) => {
                    Outcome::Done(Some(object).filter(|object| is_there(object)))
                }
                Applied::Deleted => Outcome::Done(get(&self.client, &id).await?.map(Box::new)),
                Applied::Missing if matches!(effect, Effect::Delete { .. }) => Outcome::Done(None),
                _ => Outcome::Overtaken,
            })
        });
        outcome.map_err(failure)
    }
}

/// The parts of a home that only a cluster has.
impl Home {
    /// Like [`load`](Self::load), without the objects of other peers where they can be
    /// told apart.
    pub(crate) fn load_for(
        &mut self,
        peer: &ClusterId,
        watches: impl IntoIterator<Item = Watch>,
    ) -> Result<()> {
        if let Ground::Cluster(live) = &mut self.ground {
            live.only(peer);
        }
        self.load(watches)
    }

    /// Frees the objects of a cluster that were read to open it.
    pub(crate) fn forget_opening(&mut self) {
        if let Ground::Cluster(live) = &mut self.ground {
            live.forget_opening();
        }
    }

    /// Reads from a cluster what these watches select. A folder has been read already.
    pub(crate) fn load(&mut self, watches: impl IntoIterator<Item = Watch>) -> Result<()> {
        if let Ground::Cluster(live) = &mut self.ground {
            live.watch(watches);
        }
        self.reload()
    }

    /// Reads all objects of a cluster again, so that what others did meanwhile is seen as
    /// a whole.
    pub(crate) fn reload(&mut self) -> Result<()> {
        let is_trial = self.is_trial();
        if let Ground::Cluster(live) = &mut self.ground
            && !is_trial
        {
            let objects = live.list()?;
            self.store = Store::empty()?;
            for object in objects {
                self.store.replace(&object.id(), Some(object));
            }
        }
        Ok(())
    }

    /// Whether an object that the home does not show is absent. A folder shows all objects. The
    /// lists of a cluster are read one after the other.
    pub(crate) fn is_absent(&mut self, id: &ObjectRef) -> Result<bool> {
        let Ground::Cluster(live) = &self.ground else {
            return Ok(true);
        };
        if self.is_trial() {
            return Ok(true);
        }
        let found = live.find(id)?;
        let is_absent = found.is_none();
        self.store.replace(id, found);
        Ok(is_absent)
    }

    /// Runs a future with the connection to a cluster.
    pub(crate) fn on_cluster<F: Future>(
        &self,
        run: impl FnOnce(&Cluster) -> F,
    ) -> Result<F::Output> {
        match &self.ground {
            Ground::Cluster(live) => Ok(live.block_on(run)),
            Ground::Folder(_) => Err(Failure::usage(format!(
                "{}: this command works on a cluster only. Name one with --kubeconfig FILE or --context NAME",
                self.site
            ))),
        }
    }

    /// The name of Liqo's namespace.
    pub(crate) fn liqo_namespace_name(&self) -> &str {
        match &self.ground {
            Ground::Cluster(live) => {
                let other = live.liqo_namespace.as_ref();
                other.map_or(names::LIQO_NAMESPACE, NamespaceName::as_str)
            }
            Ground::Folder(_) => names::LIQO_NAMESPACE,
        }
    }

    /// Reads an object of a cluster by its name, too, from now on.
    pub(super) fn meet(&mut self, id: ObjectRef) {
        if let Ground::Cluster(live) = &mut self.ground {
            live.meet(id);
        }
    }

    /// Liqo's namespace, if it is not the usual one.
    pub(crate) fn liqo_namespace(&self) -> Option<NamespaceName> {
        match &self.ground {
            Ground::Cluster(live) => live.liqo_namespace.clone(),
            Ground::Folder(_) => None,
        }
    }

    /// The client of a cluster's API server.
    pub(crate) fn client(&self) -> Result<Client> {
        match &self.ground {
            Ground::Cluster(live) => Ok(live.client.clone()),
            Ground::Folder(_) => Err(Failure::usage(format!(
                "{}: a home has no API server",
                self.site
            ))),
        }
    }

    /// Sets how long a command waits for a cluster's signer.
    pub(crate) fn wait_at_most(&mut self, timeout: Duration) {
        if let Ground::Cluster(live) = &mut self.ground {
            live.timeout = timeout;
        }
    }

    /// Whether this is a cluster, which has its own signer.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.ground, Ground::Cluster(_))
    }
}

fn is_there(object: &Object) -> bool {
    let metadata = object.metadata();
    metadata.deletion_timestamp.is_none() || !metadata.finalizers.is_empty()
}

/// A failure between this tool and the cluster.
fn failure(error: liqo_auth_kube::Error) -> Failure {
    match error {
        liqo_auth_kube::Error::Library(error) => Failure::of("the cluster", &error),
        error @ liqo_auth_kube::Error::Setup { .. } => Failure::at_odds(error.to_string()),
        error @ liqo_auth_kube::Error::NoKey(_) => {
            Failure::waiting(format!("the cluster has no peering of this tool: {error}"))
        }
        liqo_auth_kube::Error::InBand(error) => in_band::failure(&error),
        error => Failure::from(anyhow::Error::new(error)),
    }
}

/// How long a command waits for a certificate.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);
