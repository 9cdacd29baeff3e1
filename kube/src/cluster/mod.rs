mod keys;
mod provider_keys;
mod service_ranges;
mod shown;
mod storage_classes;

use std::sync::Arc;

use ipnet::IpNet;
use kube::{
    Client,
    api::{ApiResource, DynamicObject, ListParams},
};
use liqo_auth::{
    crypto::{Algorithm, KeyPair, RecordKey},
    model::{ClusterId, Kind, NamespaceName, Object, ObjectRef, StorageClass, names},
    provider::NameRegistry,
};

pub use self::provider_keys::ProviderKeys;

use self::keys::Missing;
use crate::{Error, bounded::bounded, clock::entropy, error::succeeds_in_time, object};

/// A cluster on whose behalf the library acts: its API server, its ID, and its keys.
///
/// [`open`](Self::open) reads the ID from Liqo's ConfigMap `liqo-clusterid-configmap`,
/// the key pair from Liqo's Secret `authentication-keys`, and the record key from the
/// Secret `liqo-auth-record-key`. It makes missing keys: the key pair in Liqo's own
/// form, and the record key. Two controllers that open a cluster at the same time get
/// the same keys.
///
/// # Rights
/// In Liqo's namespace: `list` ConfigMaps, `get` and `create` Secrets.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) client: Client,
    pub(crate) id: ClusterId,
    pub(crate) namespace: String,
    key: Arc<KeyPair>,
    record_key: RecordKey,
    registry: Arc<NameRegistry>,
}

impl Cluster {
    /// A cluster where Liqo is in its usual namespace, `liqo`.
    ///
    /// # Errors
    /// [`Error::Setup`] if the ConfigMap is missing or a Secret is malformed,
    /// [`Error::Request`] and [`Error::TimedOut`].
    pub async fn open(client: Client) -> Result<Self, Error> {
        Self::open_in(client, names::LIQO_NAMESPACE).await
    }

    /// A cluster where Liqo is in another namespace.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_in(client: Client, namespace: &str) -> Result<Self, Error> {
        let client = bounded(&client);
        let config_maps = config_maps(&client, namespace).await?;
        let missing = (Missing::Made, USUAL_ALGORITHM);
        let opened = Self::with_keys(client, namespace, &config_maps, None, missing);
        Ok(opened.await?.0)
    }

    /// A cluster whose keys exist already, with Liqo in the namespace `liqo`. No key is
    /// made.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::NoKey`] if a key is missing.
    pub async fn existing(client: Client) -> Result<Self, Error> {
        Self::existing_in(client, names::LIQO_NAMESPACE).await
    }

    /// Like [`existing`](Self::existing), where Liqo is in another namespace.
    ///
    /// # Errors
    /// As [`existing`](Self::existing).
    pub async fn existing_in(client: Client, namespace: &str) -> Result<Self, Error> {
        let client = bounded(&client);
        let config_maps = config_maps(&client, namespace).await?;
        let missing = (Missing::Refused, USUAL_ALGORITHM);
        let existing = Self::with_keys(client, namespace, &config_maps, None, missing);
        Ok(existing.await?.0)
    }

    /// Like [`open_in`](Self::open_in), for a tool. The result also contains the
    /// objects that were read, so that the tool need not read them again. All opaque
    /// Secrets of the namespace are listed, which needs the right to `list` Secrets.
    ///
    /// `algorithm` decides on the algorithm of the cluster's key pair, from all ConfigMaps of
    /// the namespace, if the cluster has none yet.
    ///
    /// # Errors
    /// As [`open`](Self::open), and the error of `algorithm`. Then no key is made.
    pub async fn open_with_objects(
        client: Client,
        namespace: &str,
        algorithm: impl FnOnce(&[DynamicObject]) -> Result<Algorithm, Error>,
    ) -> Result<Opened, Error> {
        Self::by_lists(client, namespace, Missing::Made, algorithm).await
    }

    /// Like [`open_with_objects`](Self::open_with_objects), for a trial: nothing is
    /// written. A missing key is made in memory ([`Opened::unwritten_keys`]).
    ///
    /// # Errors
    /// As [`open_with_objects`](Self::open_with_objects).
    pub async fn try_with_objects(
        client: Client,
        namespace: &str,
        algorithm: impl FnOnce(&[DynamicObject]) -> Result<Algorithm, Error>,
    ) -> Result<Opened, Error> {
        Self::by_lists(client, namespace, Missing::MadeInMemory, algorithm).await
    }

    /// Like [`existing_in`](Self::existing_in), with the result and the rights of
    /// [`open_with_objects`](Self::open_with_objects).
    ///
    /// # Errors
    /// As [`existing`](Self::existing).
    pub async fn existing_with_objects(client: Client, namespace: &str) -> Result<Opened, Error> {
        let usual = |_: &[DynamicObject]| Ok(USUAL_ALGORITHM);
        Self::by_lists(client, namespace, Missing::Refused, usual).await
    }

    async fn by_lists(
        client: Client,
        namespace: &str,
        missing: Missing,
        algorithm: impl FnOnce(&[DynamicObject]) -> Result<Algorithm, Error>,
    ) -> Result<Opened, Error> {
        let client = bounded(&client);
        let (config_maps, secrets) = futures::try_join!(
            config_maps(&client, namespace),
            keys::opaque_secrets(&client, namespace),
        )?;
        let missing = (missing, algorithm(&config_maps)?);
        let listed = Some(secrets.as_slice());
        let (cluster, unwritten_keys) =
            Self::with_keys(client, namespace, &config_maps, listed, missing).await?;
        let mut secrets = secrets;
        let settings = secrets
            .extract_if(.., |it| it.id().name == SETTINGS_SECRET)
            .last();
        Ok(Opened {
            cluster,
            unwritten_keys,
            config_maps,
            settings,
            provider_keys: secrets
                .extract_if(.., |it| keys::is_for_provider(&it.id()))
                .collect(),
            records: secrets.into_iter().filter(is_record).collect(),
        })
    }

    async fn with_keys(
        client: Client,
        namespace: &str,
        config_maps: &[DynamicObject],
        secrets: Option<&[Object]>,
        (missing, algorithm): (Missing, Algorithm),
    ) -> Result<(Self, Vec<Object>), Error> {
        let id = find_id(config_maps, namespace)?;
        let (key, unwritten) =
            keys::own_key(&client, namespace, secrets, missing, algorithm).await?;
        let (record_key, other) = keys::record_key(&client, namespace, secrets, missing).await?;
        let unwritten_keys = unwritten.into_iter().chain(other).collect();
        let registry =
            NameRegistry::new(id.clone(), record_key.clone(), &entropy()?).in_namespace(namespace);
        let cluster = Self {
            client,
            id,
            namespace: namespace.to_owned(),
            key: Arc::new(key),
            record_key,
            registry: Arc::new(registry),
        };
        Ok((cluster, unwritten_keys))
    }

    /// The cluster's ID.
    pub fn id(&self) -> &ClusterId {
        &self.id
    }

    /// The cluster's own key, which proves its identity to its peers.
    pub fn key(&self) -> Arc<KeyPair> {
        self.key.clone()
    }

    /// The key with which a provider seals its records.
    pub fn record_key(&self) -> RecordKey {
        self.record_key.clone()
    }

    /// The names of this cluster's users and groups, as its bindings and records show
    /// them. A [`Controller`](crate::Controller) of this cluster fills the registry.
    /// Until then, a look-up has no answer yet.
    pub fn principals(&self) -> Arc<NameRegistry> {
        self.registry.clone()
    }

    /// The addresses of the cluster's Services (ServiceCIDR, since Kubernetes 1.33). Empty if
    /// the cluster does not serve them, or does not show them to this user. No provider is
    /// there: refuse them by [`Addresses::refused`](liqo_auth::policy::Addresses::refused).
    ///
    /// # Rights
    /// To `list` ServiceCIDRs.
    ///
    /// # Errors
    /// [`Error::Request`] and [`Error::TimedOut`].
    pub async fn service_ranges(&self) -> Result<Vec<IpNet>, Error> {
        service_ranges::list(&self.client).await
    }

    /// The cluster's StorageClasses, which Liqo offers to slices: the default class is the
    /// cluster's. Empty if the cluster does not show them to this user. Source: Liqo
    /// `remoteresourceslicecontroller.getStorageClasses`.
    ///
    /// # Rights
    /// To `list` StorageClasses.
    ///
    /// # Errors
    /// [`Error::Request`] and [`Error::TimedOut`].
    pub async fn storage_classes(&self) -> Result<Vec<StorageClass>, Error> {
        storage_classes::list(&self.client).await
    }

    /// The selected objects of a kind that the library does not have, of one namespace or of the
    /// whole cluster. Empty if the cluster does not serve them. An object that exceeds the
    /// library's limits has its metadata alone.
    ///
    /// # Rights
    /// To `list` them. [`Error::is_forbidden`] says that this user has no such right.
    ///
    /// # Errors
    /// [`Error::Request`] and [`Error::TimedOut`].
    pub async fn shown(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        selected: &ListParams,
    ) -> Result<Vec<DynamicObject>, Error> {
        shown::selected(&self.client, resource, namespace, selected).await
    }

    /// The namespace of Liqo and of the library's records.
    ///
    /// # Errors
    /// [`Error::Setup`] if the name is not valid in Kubernetes.
    pub fn namespace(&self) -> Result<NamespaceName, Error> {
        let named = self.namespace.parse();
        named.map_err(|error| Error::Setup {
            object: ObjectRef::new(Kind::Namespace, "", self.namespace.as_str()),
            problem: format!("{error}"),
        })
    }
}

/// A cluster, and the objects of Liqo's namespace that were read to open it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The cluster.
    pub cluster: Cluster,
    /// The Secrets of the keys that the cluster does not have yet, if the keys were made in
    /// memory.
    pub unwritten_keys: Vec<Object>,
    /// All ConfigMaps.
    pub config_maps: Vec<DynamicObject>,
    /// The library's records of all peers.
    pub records: Vec<Object>,
    /// The Secrets with a key for one provider alone ([`ProviderKeys`]).
    pub provider_keys: Vec<Object>,
    /// The Secret `liqo-auth-settings`, in which a program keeps its settings for peers.
    /// Liqo lets peering users read all ConfigMaps, but no Secret.
    pub settings: Option<Object>,
}

/// The algorithm of a key pair that is made, if nothing is said: Liqo's.
const USUAL_ALGORITHM: Algorithm = Algorithm::Ed25519;
const SETTINGS_SECRET: &str = "liqo-auth-settings";

fn is_record(secret: &Object) -> bool {
    let labels = &secret.metadata().labels;
    labels.contains_key(names::RECORD_PEER_LABEL)
}

async fn config_maps(client: &Client, namespace: &str) -> Result<Vec<DynamicObject>, Error> {
    let api = object::api(client, Kind::ConfigMap, Some(namespace));
    let request = format!("list ConfigMaps in {namespace}");
    let listed = succeeds_in_time(request, api.list(&ListParams::default())).await?;
    Ok(listed.items)
}

/// The ID that Liqo's ConfigMap in this namespace says.
pub(crate) async fn read_id(client: &Client, namespace: &str) -> Result<ClusterId, Error> {
    find_id(&config_maps(client, namespace).await?, namespace)
}

fn find_id(config_maps: &[DynamicObject], namespace: &str) -> Result<ClusterId, Error> {
    let place = ObjectRef::new(Kind::ConfigMap, namespace, names::CLUSTER_ID_CONFIG_MAP);
    let (label, app_name) = (names::APP_NAME_LABEL, names::CLUSTER_ID_CONFIG_MAP_APP_NAME);
    let problem = |problem: String| Error::Setup {
        object: place.clone(),
        problem,
    };
    let is_labelled = |item: &&DynamicObject| {
        let value = item.metadata.labels.as_ref().and_then(|it| it.get(label));
        value.map(String::as_str) == Some(app_name)
    };
    let mut ids = config_maps.iter().filter(is_labelled).filter_map(|item| {
        let Object::ConfigMap(config_map) = object::read(Kind::ConfigMap, item.clone()) else {
            return None;
        };
        config_map.cluster_id().map(str::to_owned)
    });
    let (first, second) = (ids.next(), ids.next());
    match (first, second) {
        (Some(id), None) => id.parse().map_err(|error| problem(format!("{error}"))),
        (None, _) => Err(problem(format!(
            "no ConfigMap with the label {label}={app_name} names the cluster; install Liqo, or create such a ConfigMap with the key {}",
            names::CLUSTER_ID_KEY
        ))),
        (Some(_), Some(_)) => Err(problem(format!(
            "more than one ConfigMap has the label {label}={app_name}; delete those that are not Liqo's"
        ))),
    }
}

impl core::fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Cluster")
            .field("id", &self.id)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
