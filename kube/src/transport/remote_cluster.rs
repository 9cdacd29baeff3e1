//! Messages through the peer's API server.
//!
//! ```text
//! consumer's cluster                 RemoteCluster              provider's cluster
//!                                         ── empty liqo-nonce ──▶
//!   Handle::receive ◀────── nonce ──────────────────────────────── liqo-nonce
//!   outbox ───────────────────────────────── Tenant ─────────────▶ Tenant
//!   Handle::receive ◀────── Identity ───────────────────────────── Tenant's status
//!
//! provider's cluster                 RemoteCluster              consumer's cluster
//!   outbox ───────────────────────────────── nonce ──────────────▶ liqo-signed-nonce
//!   outbox ───────────────────────────────── Identity ───────────▶ Identity
//! ```

use std::time::Duration;

use futures::future::BoxFuture;
use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
};
use liqo_auth::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    crypto::{BoxError, Nonce},
    machine::{Effect, Message, MessageBody, Version, drive::MOST_OVERTAKINGS},
    model::{
        ClusterId, Identity, IdentitySpec, IdentityType, Kind, Metadata, Object, ObjectRef, Secret,
        Tenant, names,
    },
    policy::Policy,
};
use serde_json::Value;

use super::{Transport, merging::Merging, wait::Wait};
use crate::{
    Applied, Error, Handle, apply,
    bounded::bounded_for_peer,
    cluster,
    error::{in_time, succeeds_in_time},
    object,
};

/// The cluster of a peer, accessed through its API server, as `liqoctl authenticate`
/// does.
///
/// The peer may run Liqo or this library: a `RemoteCluster` writes the same objects as
/// `liqoctl`. As a [`Transport`], it delivers:
///
/// | message | object that is written at the peer |
/// |---|---|
/// | nonce | the Secret `liqo-signed-nonce`, with the nonce only. A Secret with another nonce is replaced; `liqoctl` instead refuses, and an administrator has to delete the Secret |
/// | Tenant | the Tenant. `tenantCondition` and `authzPolicy` stay as they are: they belong to the provider's administrator |
/// | Identity | the Identity |
///
/// All of them are in the peer's tenant namespace for this cluster. The namespace is
/// created if it does not exist. Source: Liqo `pkg/liqoctl/authenticate`.
///
/// [`authenticate`](Self::authenticate) also fetches the provider's nonce and Identity
/// for this cluster. A program without a [`Controller`](crate::Controller) takes the same
/// steps by [`ask_for_nonce`](Self::ask_for_nonce), [`nonce`](Self::nonce),
/// [`send`](Self::send) and [`identity`](Self::identity).
///
/// # Rights
/// At the provider, the rights of a peering user of Liqo: in the tenant namespace, `get`
/// and `create` Secrets, and `get`, `create`, `update` and `delete` Tenants; and `get` this
/// namespace. [`find`](Self::find) lists the ConfigMaps in Liqo's namespace. At the
/// consumer: `get`, `create` and `update` Secrets and Identities. If
/// the namespace does not have the default name: `list` Namespaces. If the namespace
/// does not exist yet: `create` Namespaces.
///
/// # Examples
/// ```no_run
/// use std::{sync::Arc, time::Duration};
///
/// use liqo_auth::{
///     consumer::{Consumer, ConsumerConfig},
///     crypto::OneKey,
/// };
/// use liqo_auth_kube::{Cluster, Controller, RemoteCluster};
///
/// # async fn run(provider: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = Cluster::open(kube::Client::try_default().await?).await?;
/// let provider = RemoteCluster::new(provider, "cl-provider".parse()?, cluster.id().clone());
/// let keys = Arc::new(OneKey(cluster.key()));
/// let consumer = Consumer::new(ConsumerConfig::new(cluster.id().clone()), keys);
/// let (controller, consumer) = Controller::builder(&cluster)
///     .consumer(consumer)
///     .transport(provider.clone())
///     .build();
/// let running = tokio::spawn(controller.run(std::future::pending()));
/// provider.authenticate(&consumer, Duration::from_secs(120)).await?;
/// # running.await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RemoteCluster {
    pub(super) client: Client,
    pub(super) peer: ClusterId,
    pub(super) own: ClusterId,
}

impl RemoteCluster {
    /// The cluster of `peer`, for the cluster `own`. A client that
    /// [`client_of`](crate::client_of) has made reaches the peer by the proxy of its
    /// kubeconfig.
    pub fn new(client: Client, peer: ClusterId, own: ClusterId) -> Self {
        let client = bounded_for_peer(&client);
        Self { client, peer, own }
    }

    /// Like [`new`](Self::new), with the ID that Liqo's ConfigMap at the peer says.
    /// `namespace` is Liqo's namespace there, usually `liqo`.
    ///
    /// # Errors
    /// [`Error::Setup`] if no ConfigMap names the peer, or several do; [`Error::Request`]
    /// and [`Error::TimedOut`].
    pub async fn find(client: Client, namespace: &str, own: ClusterId) -> Result<Self, Error> {
        let client = bounded_for_peer(&client);
        let peer = cluster::read_id(&client, namespace).await?;
        Ok(Self { client, peer, own })
    }

    /// The ID of this remote cluster.
    pub fn peer(&self) -> &ClusterId {
        &self.peer
    }

    /// Authenticates the consumer with this provider: asks for a nonce, gives the nonce to
    /// the consumer, writes the consumer's Tenant, and gives the provider's answer to the
    /// consumer. A repeated call does no harm.
    ///
    /// If the consumer's key answers later, the consumer's controller delivers the Tenant.
    /// That controller then needs this transport.
    ///
    /// # Errors
    /// [`Error::Unanswered`] if the provider's controllers have not answered in the
    /// given time, or if the consumer refuses the answer; [`Error::Request`],
    /// [`Error::TimedOut`] and [`Error::Setup`]; and the errors of [`Handle::receive`]
    /// for the nonce.
    pub async fn authenticate(&self, consumer: &Handle, within: Duration) -> Result<(), Error> {
        self.ask_for_nonce().await?;
        let mut wait = Wait::new(within);
        let nonce = loop {
            match self.nonce().await? {
                Some(nonce) => break nonce,
                None if wait.is_over() => return Err(self.unanswered("nonce", within, None)),
                None => wait.pause().await,
            }
        };
        let step = consumer.receive(self.message(nonce)).await?;
        // The controller does not repeat a delivered message, but the provider may have
        // deleted this Tenant since. So the Tenant is written here as well.
        for message in &step.outbox {
            self.send(message).await?;
        }
        let mut refusal = None;
        loop {
            if let Some(identity) = self.identity().await? {
                // The answer may still be for an earlier Tenant.
                match consumer.receive(self.message(identity)).await {
                    Ok(_) => return Ok(()),
                    Err(error @ Error::Library(_)) => refusal = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if wait.is_over() {
                return Err(self.unanswered("Identity", within, refusal));
            }
            wait.pause().await;
        }
    }

    /// Creates the empty Secret that the provider's controllers fill with a nonce for this
    /// cluster. Does nothing if the Secret exists.
    ///
    /// # Errors
    /// [`Error::Request`], [`Error::TimedOut`] and [`Error::Setup`].
    pub async fn ask_for_nonce(&self) -> Result<(), Error> {
        let namespace = self.tenant_namespace().await?;
        let secret = self.secret(&namespace, names::NONCE_SECRET, names::NONCE_LABEL);
        let id = ObjectRef::new(Kind::Secret, &namespace, names::NONCE_SECRET);
        if object::get(&self.client, &id).await?.is_some() {
            return Ok(());
        }
        match apply(&self.client, &Effect::Create(secret.into())).await? {
            Applied::Missing => Err(self.no_namespace(&namespace)),
            _ => Ok(()),
        }
    }

    /// The provider's nonce for this cluster, if the provider's controllers have made it.
    /// Nothing is written.
    ///
    /// # Errors
    /// [`Error::Setup`] if the Secret has no valid nonce, or if the tenant namespace cannot
    /// be told; [`Error::Request`] and [`Error::TimedOut`].
    pub async fn nonce(&self) -> Result<Option<Nonce>, Error> {
        let Some(namespace) = self.existing_namespace().await? else {
            return Ok(None);
        };
        let id = ObjectRef::new(Kind::Secret, namespace, names::NONCE_SECRET);
        let Some(Object::Secret(secret)) = object::get(&self.client, &id).await? else {
            return Ok(None);
        };
        let Some(text) = secret.get(names::NONCE).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        // The consumer verifies the nonce by its own policy.
        let nonce = Nonce::parse(text, &Policy::compatible());
        Ok(Some(nonce.map_err(|error| Error::Setup {
            object: id,
            problem: error.to_string(),
        })?))
    }

    /// The provider's answer to this cluster's Tenant, if the provider has given it. The
    /// answer may still be for an earlier Tenant. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Setup`] if the tenant namespace cannot be told; [`Error::Request`] and
    /// [`Error::TimedOut`].
    pub async fn identity(&self) -> Result<Option<Identity>, Error> {
        match self.tenant().await? {
            Some(Object::Tenant(tenant)) if tenant.metadata.deletion_timestamp.is_none() => {
                Ok(self.answer_in(&tenant))
            }
            _ => Ok(None),
        }
    }

    /// Whether the provider has a Tenant of this cluster, also one that is being deleted.
    ///
    /// # Errors
    /// [`Error::Setup`] if the tenant namespace cannot be told; [`Error::Request`] and
    /// [`Error::TimedOut`].
    pub async fn has_tenant(&self) -> Result<bool, Error> {
        Ok(self.tenant().await?.is_some())
    }

    /// Deletes this cluster's Tenant at the provider, as `liqoctl unauthenticate` does.
    /// Returns whether there was one. It may wait for its finalizers.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the provider changes the Tenant again and again;
    /// [`Error::Setup`], [`Error::Request`] and [`Error::TimedOut`].
    pub async fn end(&self) -> Result<bool, Error> {
        let mut was_there = false;
        for _ in 0..MOST_OVERTAKINGS {
            let Some(tenant) = self.tenant().await? else {
                return Ok(was_there);
            };
            was_there = true;
            if tenant.metadata().deletion_timestamp.is_some() {
                return Ok(true);
            }
            let (id, version) = (tenant.id(), version_of(&tenant));
            match apply(&self.client, &Effect::Delete { id, version }).await? {
                Applied::Deleted | Applied::Missing => return Ok(true),
                _ => {}
            }
        }
        let name = self.own.as_str();
        Err(Error::Conflict(ObjectRef::new(Kind::Tenant, "", name)))
    }

    /// This cluster's Tenant at the provider.
    async fn tenant(&self) -> Result<Option<Object>, Error> {
        let Some(namespace) = self.existing_namespace().await? else {
            return Ok(None);
        };
        let id = ObjectRef::new(Kind::Tenant, namespace, self.own.as_str());
        object::get(&self.client, &id).await
    }

    /// The Identity that `liqoctl` makes of a Tenant with a filled status, with the
    /// commitment that a provider with this library adds.
    fn answer_in(&self, tenant: &Tenant) -> Option<Identity> {
        let auth_params = tenant.status.auth_params.clone()?;
        let commitment = tenant.metadata.annotations.get(COMMITMENT_ANNOTATION);
        let commitment = commitment.map(|text| (COMMITMENT_ANNOTATION.to_owned(), text.clone()));
        Some(Identity {
            metadata: Metadata {
                name: names::identity_name(&self.peer),
                labels: [self.label(&self.peer)].into(),
                annotations: commitment.into_iter().collect(),
                ..Metadata::default()
            },
            spec: IdentitySpec {
                cluster_id: self.peer.to_string(),
                identity_type: IdentityType::ControlPlane,
                auth_params,
                namespace: Some(tenant.status.tenant_namespace.clone()),
            },
            ..Identity::default()
        })
    }

    /// Asks the consumer's controllers to sign a nonce.
    async fn write_nonce(&self, nonce: &Nonce) -> Result<(), Error> {
        let namespace = self.tenant_namespace().await?;
        let name = names::SIGNED_NONCE_SECRET;
        let mut secret = self.secret(&namespace, name, names::SIGNED_NONCE_LABEL);
        let text = nonce.as_str().as_bytes();
        secret.data = [(names::NONCE.to_owned(), text.into())].into();
        let id = ObjectRef::new(Kind::Secret, namespace, name);
        let effect = match object::get(&self.client, &id).await? {
            None => Effect::Create(secret.into()),
            Some(Object::Secret(found)) if found.get(names::NONCE) == Some(text) => return Ok(()),
            Some(found) => Effect::Replace {
                version: version_of(&found),
                object: secret.into(),
            },
        };
        match apply(&self.client, &effect).await? {
            Applied::Written(_) => Ok(()),
            Applied::Missing => Err(self.no_namespace(&id.namespace)),
            _ => Err(Error::Conflict(id)),
        }
    }

    /// Writes a message as an object of the peer, as
    /// [`deliver`](Transport::deliver) does.
    ///
    /// # Errors
    /// [`Error::Delivery`] if the message is for another cluster; [`Error::Conflict`] if
    /// the object is being deleted, or if others change it again and again;
    /// [`Error::Setup`], [`Error::Request`] and [`Error::TimedOut`].
    pub async fn send(&self, message: &Message) -> Result<(), Error> {
        if message.to != self.peer {
            let (to, peer) = (&message.to, &self.peer);
            return Err(Error::Delivery {
                message: message.body.name(),
                source: format!("the message is for {to}, and this cluster is {peer}").into(),
            });
        }
        match message.body.clone() {
            MessageBody::Nonce(nonce) => self.write_nonce(&nonce).await,
            MessageBody::Tenant(tenant) => self.write((*tenant).into(), Merging::TENANT).await,
            MessageBody::Identity(identity) => {
                self.write((*identity).into(), Merging::IDENTITY).await
            }
            other => Err(Error::Delivery {
                message: other.name(),
                source: "no object carries such a message".into(),
            }),
        }
    }

    /// Creates an object, or merges it into the existing one.
    async fn write(&self, object: Object, merging: Merging) -> Result<(), Error> {
        let namespace = self.tenant_namespace().await?;
        let ObjectRef { kind, name, .. } = object.id();
        let id = ObjectRef::new(kind, &namespace, name);
        let request = format!("write {id}");
        let mut wanted: DynamicObject = serde_json::from_value(object.to_value())
            .map_err(|error| Error::request(&request, kube::Error::SerdeError(error)))?;
        wanted.metadata.namespace = Some(namespace.clone());
        if let Value::Object(fields) = &mut wanted.data {
            fields.remove("status");
        }
        let api: Api<DynamicObject> = object::api(&self.client, kind, Some(&namespace));
        for _ in 0..MOST_OVERTAKINGS {
            let found = succeeds_in_time(request.clone(), api.get_opt(&id.name)).await?;
            let Some(found) = found else {
                let parameters = PostParams::default();
                let created = api.create(&parameters, &wanted);
                let created = in_time(request.clone(), created).await?;
                let Err(error) = created else { return Ok(()) };
                // Another writer may have created the object first: another instance, or
                // the controller that uses this transport. Liqo's webhook then refuses a
                // second Tenant, before the API server finds that the name is taken.
                let found = succeeds_in_time(request.clone(), api.get_opt(&id.name)).await?;
                if found.is_some() {
                    continue;
                }
                return Err(Error::request(request, error));
            };
            if found.metadata.deletion_timestamp.is_some() {
                return Err(Error::Conflict(id));
            }
            let merged = merging.merge(&found, &wanted);
            if merged == found {
                return Ok(());
            }
            let parameters = PostParams::default();
            let replaced = api.replace(&id.name, &parameters, &merged);
            match in_time(request.clone(), replaced).await? {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == CONFLICT => {}
                Err(error) => return Err(Error::request(request, error)),
            }
        }
        Err(Error::Conflict(id))
    }

    fn secret(&self, namespace: &str, name: &str, label: &str) -> Secret {
        let labels = [
            self.label(&self.own),
            (label.to_owned(), names::TRUE.to_owned()),
        ];
        Secret {
            metadata: Metadata {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                labels: labels.into(),
                ..Metadata::default()
            },
            ..Secret::default()
        }
    }

    /// The label that names the remote cluster of an object.
    pub(super) fn label(&self, cluster: &ClusterId) -> (String, String) {
        (
            names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
            cluster.to_string(),
        )
    }

    fn message(&self, body: impl Into<MessageBody>) -> Message {
        Message::new(&self.peer, &self.own, body)
    }

    fn no_namespace(&self, namespace: &str) -> Error {
        Error::Setup {
            object: ObjectRef::new(Kind::Namespace, "", namespace),
            problem: format!("{} is deleting this namespace; try again", self.peer),
        }
    }

    fn unanswered(&self, message: &'static str, within: Duration, refusal: Option<Error>) -> Error {
        Error::Unanswered {
            peer: self.peer.clone(),
            message,
            seconds: within.as_secs(),
            source: refusal.map(Box::new),
        }
    }
}

impl Transport for RemoteCluster {
    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.send(message).await?) })
    }
}

impl core::fmt::Debug for RemoteCluster {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("RemoteCluster")
            .field("peer", &self.peer)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

fn version_of(object: &Object) -> Version {
    let metadata = object.metadata();
    Version {
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
    }
}

/// The HTTP status of a write with an outdated `resourceVersion`.
const CONFLICT: u16 = 409;
