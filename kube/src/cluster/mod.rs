mod keys;

use std::sync::Arc;

use kube::{Client, api::ListParams};
use liqo_auth::{
    crypto::{KeyPair, RecordKey},
    model::{ClusterId, Kind, NamespaceName, Object, ObjectRef, names},
    provider::NameRegistry,
};

use self::keys::Missing;
use crate::{Error, clock::entropy, error::succeeds_in_time, object};

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
    namespace: String,
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
        Self::with_keys(client, namespace, Missing::IsMade).await
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
        Self::with_keys(client, namespace, Missing::IsAnError).await
    }

    async fn with_keys(client: Client, namespace: &str, missing: Missing) -> Result<Self, Error> {
        let id = find_id(&client, namespace).await?;
        let key = keys::own_key(&client, namespace, missing).await?;
        let record_key = keys::record_key(&client, namespace, missing).await?;
        let registry =
            NameRegistry::new(id.clone(), record_key.clone(), &entropy()?).in_namespace(namespace);
        Ok(Self {
            client,
            id,
            namespace: namespace.to_owned(),
            key: Arc::new(key),
            record_key,
            registry: Arc::new(registry),
        })
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

async fn find_id(client: &Client, namespace: &str) -> Result<ClusterId, Error> {
    let place = ObjectRef::new(Kind::ConfigMap, namespace, names::CLUSTER_ID_CONFIG_MAP);
    let label = format!(
        "{}={}",
        names::APP_NAME_LABEL,
        names::CLUSTER_ID_CONFIG_MAP_APP_NAME
    );
    let api = object::api(client, Kind::ConfigMap, Some(namespace));
    let labelled = ListParams::default().labels(&label);
    let request = format!("list ConfigMaps in {namespace}");
    let found = succeeds_in_time(request, api.list(&labelled)).await?;
    let problem = |problem: String| Error::Setup {
        object: place.clone(),
        problem,
    };
    let mut ids = found.items.into_iter().filter_map(|item| {
        let Object::ConfigMap(config_map) = object::read(Kind::ConfigMap, item) else {
            return None;
        };
        config_map.cluster_id().map(str::to_owned)
    });
    let (first, second) = (ids.next(), ids.next());
    match (first, second) {
        (Some(id), None) => id.parse().map_err(|error| problem(format!("{error}"))),
        (None, _) => Err(problem(format!(
            "no ConfigMap with the label {label} names the cluster; install Liqo, or create it with the key {}",
            names::CLUSTER_ID_KEY
        ))),
        (Some(_), Some(_)) => Err(problem(format!(
            "more than one ConfigMap has the label {label}; delete those that are not Liqo's"
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
