//! Two clusters with a running controller each, and Kubernetes' signer at the
//! provider.

use std::{sync::Arc, time::Duration};

use futures::future::pending;
use kube::Client;
use liqo_auth::{
    consumer::{Consumer, ConsumerConfig},
    crypto::{Authority, Entropy, OneKey},
    machine::Stage,
    model::{ClusterId, Object, Timestamp},
    provider::{Endpoint, Provider},
};
use liqo_auth_kube::{Cluster, Controller, ControllerBuilder, Handle, Link, ProviderKeys};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fake::FakeApiServer;

/// Configures a controller.
pub type Configure = fn(ControllerBuilder) -> ControllerBuilder;

/// Configures a controller as `deploy/` does.
pub fn as_account(builder: ControllerBuilder) -> ControllerBuilder {
    builder.service_account("liqo-auth")
}

/// A consumer `rome` and a provider `milan`.
pub struct Clusters {
    pub rome: FakeApiServer,
    pub milan: FakeApiServer,
    pub consumer: Handle,
    pub provider: Handle,
    /// The keys of rome.
    pub keys: ProviderKeys,
    pub endpoint: Endpoint,
    /// milan, as its provider's controller knows it.
    pub cluster: Cluster,
    running: JoinSet<()>,
}

impl Clusters {
    pub async fn start() -> Self {
        let (rome, milan) = (
            FakeApiServer::with_liqo("rome"),
            FakeApiServer::with_liqo("milan"),
        );
        Self::start_on(rome, milan).await
    }

    pub async fn start_on(rome: FakeApiServer, milan: FakeApiServer) -> Self {
        Self::start_with(rome, milan, |builder| builder).await
    }

    /// Both controllers are configured in this way.
    pub async fn start_with(
        rome: FakeApiServer,
        milan: FakeApiServer,
        configure: Configure,
    ) -> Self {
        let mut running = JoinSet::new();
        let endpoint = signer(&milan, &mut running);
        let (at_rome, at_milan) = (rome.client(), milan.client());
        let (consumer, (provider, cluster), keys) =
            controllers_with(at_rome, at_milan, &endpoint, &mut running, configure).await;
        Self {
            keys,
            rome,
            milan,
            consumer,
            provider,
            endpoint,
            cluster,
            running,
        }
    }

    /// One more controller at the provider.
    pub async fn another_provider(&mut self) -> Handle {
        let milan = self.milan.client();
        self.another_provider_on(milan).await
    }

    /// One more controller at the provider, with this client.
    pub async fn another_provider_on(&mut self, milan: Client) -> Handle {
        let consumer = &self.consumer;
        let started = provider(milan, &self.endpoint, consumer, &mut self.running, |it| it);
        started.await.0
    }

    /// Waits until both sides have authenticated the other.
    pub async fn authenticated(&self) {
        authenticated(&self.consumer, &self.provider).await;
    }

    /// Waits until no request has been made for a while.
    pub async fn settled(&self) {
        let count = || self.rome.requests().len() + self.milan.requests().len();
        let mut before = count();
        loop {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let after = count();
            if after == before {
                return;
            }
            before = after;
        }
    }
}

/// Waits until both sides have authenticated the other.
pub async fn authenticated(consumer: &Handle, provider: &Handle) {
    let seen = |handle: &Handle, peer: &str| {
        let statuses = handle.status(&id(peer)).unwrap();
        statuses[0].control_plane.clone()
    };
    for _ in 0..3000 {
        let (at_provider, at_consumer) = (seen(provider, "rome"), seen(consumer, "milan"));
        if at_provider.stage == Stage::Authenticated && at_consumer.stage == Stage::Authenticated {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!(
        "not authenticated within half a minute: {:?} and {:?}",
        seen(provider, "rome"),
        seen(consumer, "milan")
    );
}

/// A controller at each cluster: the consumer's at rome, and the provider's at milan.
pub async fn controllers(
    rome: Client,
    milan: Client,
    endpoint: &Endpoint,
    running: &mut JoinSet<()>,
) -> (Handle, Handle) {
    let (consumer, (provider, _), _) =
        controllers_with(rome, milan, endpoint, running, |builder| builder).await;
    (consumer, provider)
}

async fn controllers_with(
    rome: Client,
    milan: Client,
    endpoint: &Endpoint,
    running: &mut JoinSet<()>,
    configure: Configure,
) -> (Handle, (Handle, Cluster), ProviderKeys) {
    let cluster = Cluster::open(rome).await.unwrap();
    let keys = ProviderKeys::of(&cluster);
    // Each side carries messages to the other one, whose handle is needed first.
    let to_provider = Later::default();
    let builder = Controller::builder(&cluster)
        .consumer(consumer_with(&cluster, &keys))
        .provider_keys(keys.clone())
        .transport(to_provider.clone());
    let (controller, consumer) = configure(builder).build();
    running.spawn(controller.run(pending()));
    let provider = provider(milan, endpoint, &consumer, running, configure).await;
    to_provider.set(&provider.0);
    consumer.synchronized().await;
    (consumer, provider, keys)
}

async fn provider(
    milan: Client,
    endpoint: &Endpoint,
    consumer: &Handle,
    running: &mut JoinSet<()>,
    configure: Configure,
) -> (Handle, Cluster) {
    let cluster = Cluster::open(milan).await.unwrap();
    let builder = Controller::builder(&cluster)
        .provider(provider_of(&cluster, endpoint))
        .transport(Link(consumer.clone()));
    let (controller, handle) = configure(builder).build();
    running.spawn(controller.run(pending()));
    handle.synchronized().await;
    (handle, cluster)
}

/// A provider's controller without a consumer, and the tasks that run.
pub async fn provider_alone(server: &FakeApiServer, configure: Configure) -> (Handle, JoinSet<()>) {
    let mut running = JoinSet::new();
    let endpoint = signer(server, &mut running);
    let cluster = Cluster::open(server.client()).await.unwrap();
    let builder = Controller::builder(&cluster).provider(provider_of(&cluster, &endpoint));
    let (controller, handle) = configure(builder).build();
    running.spawn(controller.run(pending()));
    handle.synchronized().await;
    (handle, running)
}

/// The consumer's side of a cluster.
pub fn consumer_of(cluster: &Cluster) -> Consumer {
    let config = on_this_machine(ConsumerConfig::new(cluster.id().clone()));
    Consumer::new(config, Arc::new(OneKey(cluster.key())))
}

/// The configuration of a consumer whose provider may be on the same machine: the clusters that
/// `e2e/run` starts have a loopback address.
pub fn on_this_machine(mut config: ConsumerConfig) -> ConsumerConfig {
    config.policy.addresses.allowed = vec!["127.0.0.0/8".parse().unwrap()];
    config
}

/// The consumer's side of a cluster, with these keys.
pub fn consumer_with(cluster: &Cluster, keys: &ProviderKeys) -> Consumer {
    let config = on_this_machine(ConsumerConfig::new(cluster.id().clone()));
    Consumer::new(config, Arc::new(keys.clone()))
}

/// The provider's side of a cluster, with the cluster's own signer.
pub fn provider_of(cluster: &Cluster, endpoint: &Endpoint) -> Provider {
    let id = cluster.id().clone();
    Provider::builder(id, endpoint.clone(), cluster.record_key())
        .key(cluster.key())
        .principals(cluster.principals())
        .configure(|config| config.kubernetes_signer = true)
        .build()
}

/// A link to a controller that is started later.
#[derive(Clone, Default)]
struct Later(Arc<std::sync::OnceLock<Link>>);

impl Later {
    fn set(&self, handle: &Handle) {
        assert!(self.0.set(Link(handle.clone())).is_ok());
    }
}

impl liqo_auth_kube::Transport for Later {
    fn deliver<'a>(
        &'a self,
        message: &'a liqo_auth::machine::Message,
    ) -> futures::future::BoxFuture<'a, Result<(), liqo_auth::crypto::BoxError>> {
        match self.0.get() {
            Some(link) => link.deliver(message),
            None => Box::pin(async { Err("the provider is not there yet".into()) }),
        }
    }
}

/// Has milan's approved requests signed. Returns milan's address and CA.
pub fn signer(milan: &FakeApiServer, running: &mut JoinSet<()>) -> Endpoint {
    let entropy = Entropy::from_bytes([7; 32]);
    let authority = Authority::new("milan-ca", now(), YEAR, &entropy).unwrap();
    let api_server = "https://api.milan.example:6443".parse().unwrap();
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    running.spawn(sign_approved(milan.clone(), authority));
    endpoint
}

/// Signs approved requests, as the controller manager does.
async fn sign_approved(server: FakeApiServer, authority: Authority) {
    for round in (0..=u8::MAX).cycle() {
        for request in server.all("certificatesigningrequests") {
            let Object::CertificateSigningRequest(open) = Object::from_value(request.clone())
            else {
                panic!("{request}");
            };
            if !open.status.certificate.is_empty() {
                continue;
            }
            let entropy = Entropy::from_bytes([round; 32]);
            if let Some(chain) = authority.sign_approved(&open, now(), &entropy).unwrap() {
                let mut status = request["status"].clone();
                status["certificate"] = json!(encoded(chain.pem()));
                server.patch_status(&request, status).unwrap();
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub fn id(name: &str) -> ClusterId {
    name.parse().unwrap()
}

/// The names of all objects of a kind.
pub fn names(server: &FakeApiServer, plural: &str) -> Vec<String> {
    let objects = server.all(plural);
    objects.iter().map(name).collect()
}

pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

fn encoded(bytes: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(bytes)
}

pub fn now() -> Timestamp {
    liqo_auth_kube::Clock::default().now().unwrap()
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
