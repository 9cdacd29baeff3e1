//! The replication of slices and renewals, by the controller of the consumer.

mod by_hand;
mod endless;
mod finalizers;
mod kubeconfigs;
mod namespaces;

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::pending;
use http::Request;
use kube::{
    Client,
    api::{Patch, PatchParams},
    client::Body,
};
use liqo_auth::{
    Consumer,
    consumer::{ConsumerConfig, SliceOptions},
    crypto::{BoxError, OneKey},
    model::Kind,
};
use liqo_auth_kube::{Cluster, Controller, Handle};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::timeout};
use tower::service_fn;

use crate::{
    clusters::{Clusters, Configure, as_account, id, name, names},
    fake::{FakeApiServer, Rule},
    least_rights,
    life::{api, until},
};

#[tokio::test(start_paused = true)]
async fn slices_and_renewals_go_to_the_provider_and_their_statuses_come_back() {
    let rights = least_rights::with("replicator", "consumer.yaml");
    let rome = FakeApiServer::with_liqo("rome").with_rights(rights);
    let clusters = authenticated(rome, FakeApiServer::with_liqo("milan"), as_account).await;
    let at_milan = as_rome(&clusters.milan);
    let to_milan = at_milan.client();
    let replicator = Replicator::start_at(clusters.rome.client(), to_milan, as_account).await;
    let mut slice = SliceOptions::named("mypool");
    let ownership = "liqo.io/ownership".to_owned();
    slice.labels.insert(ownership, "shared".to_owned());
    replicator.request(slice).await;
    accepted(&clusters, "mypool").await;
    until("the Renew has a replica", async || {
        names(&clusters.milan, "renews") == ["controlplane-milan"]
    })
    .await;

    for (plural, name) in [
        ("resourceslices", "mypool"),
        ("renews", "controlplane-milan"),
    ] {
        let original = named(&clusters.rome, plural, name);
        let replica = named(&clusters.milan, plural, name);
        assert_eq!(replica["metadata"]["namespace"], "liqo-tenant-rome");
        assert_eq!(replica["spec"], original["spec"]);
        assert_eq!(
            replica["metadata"]["annotations"],
            original["metadata"]["annotations"]
        );
        let mut labels = original["metadata"]["labels"].clone();
        labels.as_object_mut().unwrap().remove("liqo.io/ownership");
        labels["liqo.io/replication"] = json!("false");
        labels["liqo.io/replicated"] = json!("true");
        labels["liqo.io/originID"] = json!("rome");
        labels["liqo.io/remote-cluster-id"] = json!("rome");
        assert_eq!(replica["metadata"]["labels"], labels);
    }

    // Without a change, there is no request but for the watches that are open.
    clusters.settled().await;
    let before = requests(&clusters);
    clusters.settled().await;
    assert_eq!(requests(&clusters), before);

    replicator.delete("mypool").await;
    nowhere(&clusters, "mypool").await;

    // The consumer ends the peering: nothing of it is left at the provider.
    clusters
        .consumer
        .unauthenticate(&id("milan"))
        .await
        .unwrap();
    until("the replica of the Renew is gone", async || {
        names(&clusters.milan, "renews").is_empty()
    })
    .await;
    until("the kubeconfig is gone", async || {
        !has_kubeconfig(&clusters)
    })
    .await;
    clusters.settled().await;
    assert_eq!(clusters.rome.forbidden(), []);
    assert_eq!(at_milan.forbidden(), []);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_carried_after_a_restart() {
    let clusters = authenticated_in_memory().await;
    let replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    let side = replicator.side.clone();
    replicator.stop().await;
    clusters
        .consumer
        .order(&id("milan"), move |view, _| {
            side.delete_slice(view, "mypool")
        })
        .await
        .unwrap();
    until("the slice is gone at the consumer", async || {
        names(&clusters.rome, "resourceslices").is_empty()
    })
    .await;
    assert_eq!(names(&clusters.milan, "resourceslices"), ["mypool"]);
    let _replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    nowhere(&clusters, "mypool").await;
    assert_eq!(names(&clusters.milan, "renews"), ["controlplane-milan"]);
}

#[tokio::test(start_paused = true)]
async fn two_replicators_write_the_same() {
    let clusters = authenticated_in_memory().await;
    let first = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    let _second = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    first.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    clusters.settled().await;
    let before = requests(&clusters);
    let replica = named(&clusters.milan, "resourceslices", "mypool");
    clusters.settled().await;
    assert_eq!(requests(&clusters), before);
    assert_eq!(named(&clusters.milan, "resourceslices", "mypool"), replica);
    first.delete("mypool").await;
    nowhere(&clusters, "mypool").await;
}

#[tokio::test(start_paused = true)]
async fn a_consumer_without_rights_waits_for_them() {
    let clusters = authenticated_in_memory().await;
    let at_milan = as_rome(&clusters.milan);
    let replicator = Replicator::start(&clusters, at_milan.client()).await;
    replicator.request(SliceOptions::named("first")).await;
    accepted(&clusters, "first").await;
    clusters.settled().await;

    at_milan.clone().with_rights(Vec::new());
    clusters.milan.drop_watches();
    replicator.request(SliceOptions::named("second")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let refused = at_milan.forbidden().len();
    assert!(
        (1..=40).contains(&refused),
        "{refused} requests were refused"
    );
    // An original that Liqo's replicator has kept does not wait for rights.
    hold(&clusters.rome, Kind::ResourceSlice, "first").await;
    replicator.delete("first").await;
    until("the first slice is gone at the consumer", async || {
        names(&clusters.rome, "resourceslices") == ["second"]
    })
    .await;

    at_milan.clone().with_rights(remote_control_plane());
    accepted(&clusters, "second").await;
    nowhere(&clusters, "first").await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_away_delays_nothing_at_the_consumer() {
    let clusters = authenticated_in_memory().await;
    let is_away = Arc::new(AtomicBool::new(false));
    let client = reachable(&as_rome(&clusters.milan), &is_away);
    let replicator = Replicator::start(&clusters, client).await;
    replicator.request(SliceOptions::named("first")).await;
    accepted(&clusters, "first").await;

    is_away.store(true, Ordering::Release);
    clusters.milan.drop_watches();
    let second = replicator.request(SliceOptions::named("second"));
    timeout(Duration::from_secs(5), second).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&clusters.milan, "resourceslices"), ["first"]);
    // Not even what Liqo's replicator has kept.
    hold(&clusters.rome, Kind::ResourceSlice, "first").await;
    replicator.delete("first").await;
    until("the first slice is gone at the consumer", async || {
        names(&clusters.rome, "resourceslices") == ["second"]
    })
    .await;

    is_away.store(false, Ordering::Release);
    accepted(&clusters, "second").await;
    nowhere(&clusters, "first").await;
}

#[tokio::test(start_paused = true)]
async fn a_peering_ends_while_the_provider_is_away() {
    let clusters = authenticated_in_memory().await;
    let is_away = Arc::new(AtomicBool::new(false));
    let client = reachable(&as_rome(&clusters.milan), &is_away);
    let _replicator = Replicator::start(&clusters, client).await;
    until("the Renew has a replica", async || {
        names(&clusters.milan, "renews") == ["controlplane-milan"]
    })
    .await;
    hold(&clusters.rome, Kind::Renew, "controlplane-milan").await;
    is_away.store(true, Ordering::Release);
    clusters.milan.drop_watches();
    tokio::time::sleep(Duration::from_millis(200)).await;
    clusters
        .consumer
        .unauthenticate(&id("milan"))
        .await
        .unwrap();
    until("the Renew and the kubeconfig are gone", async || {
        names(&clusters.rome, "renews").is_empty() && !has_kubeconfig(&clusters)
    })
    .await;
}

/// Liqo's replicator sets a finalizer. It may have run before.
#[tokio::test(start_paused = true)]
async fn the_finalizers_of_liqos_replicator_are_removed() {
    let clusters = authenticated_in_memory().await;
    let replicator = Replicator::start(&clusters, as_rome(&clusters.milan).client()).await;
    replicator.request(SliceOptions::named("mypool")).await;
    accepted(&clusters, "mypool").await;
    hold(&clusters.rome, Kind::ResourceSlice, "mypool").await;
    replicator.delete("mypool").await;
    nowhere(&clusters, "mypool").await;

    // The consumer makes a kubeconfig that somebody has deleted anew.
    hold(&clusters.rome, Kind::Secret, KUBECONFIG).await;
    let deleted = named(&clusters.rome, "secrets", KUBECONFIG);
    clusters.rome.delete(&deleted);
    until("the kubeconfig is there again", async || {
        let secrets = clusters.rome.all("secrets");
        let found = secrets.iter().find(|secret| name(secret) == KUBECONFIG);
        found.is_some_and(|found| found["metadata"]["uid"] != deleted["metadata"]["uid"])
    })
    .await;
    replicator.request(SliceOptions::named("another")).await;
    accepted(&clusters, "another").await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_no_replica_stays() {
    let clusters = authenticated_in_memory().await;
    clusters.milan.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": { "name": "mypool", "namespace": "liqo-tenant-rome" },
        "spec": { "class": "somebody-elses" },
    }));
    let at_milan = as_rome(&clusters.milan);
    let replicator = Replicator::start(&clusters, at_milan.client()).await;
    let before = created(&at_milan);
    replicator.request(SliceOptions::named("mypool")).await;
    replicator.request(SliceOptions::named("another")).await;
    accepted(&clusters, "another").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let tried = created(&at_milan) - before;
    assert!((2..=40).contains(&tried), "{tried} slices were created");
    let found = named(&clusters.milan, "resourceslices", "mypool");
    assert_eq!(found["spec"], json!({ "class": "somebody-elses" }));
}

/// A second controller of rome's consumer, which replicates.
pub struct Replicator {
    handle: Handle,
    side: Consumer,
    /// The API servers to which it has made clients.
    hosts: Arc<Mutex<Vec<String>>>,
    running: JoinHandle<()>,
}

impl Replicator {
    pub async fn start(clusters: &Clusters, milan: Client) -> Self {
        Self::start_at(clusters.rome.client(), milan, |builder| builder).await
    }

    pub async fn start_at(rome: Client, milan: Client, configure: Configure) -> Self {
        let cluster = Cluster::open(rome).await.unwrap();
        let config = ConsumerConfig::new(cluster.id().clone());
        let side = Consumer::new(config, Arc::new(OneKey(cluster.key())));
        Self::start_side(&cluster, side, milan, configure).await
    }

    async fn start_side(
        cluster: &Cluster,
        side: Consumer,
        milan: Client,
        configure: Configure,
    ) -> Self {
        let hosts = Arc::new(Mutex::new(Vec::new()));
        let connected = hosts.clone();
        let builder = Controller::builder(cluster)
            .consumer(side.clone())
            .replicate(move |config, _| {
                let host = config.cluster_url.host().unwrap_or_default().to_owned();
                connected.lock().unwrap().push(host);
                Ok(milan.clone())
            });
        let (controller, handle) = configure(builder).build();
        let running = tokio::spawn(controller.run(pending()));
        handle.synchronized().await;
        Self {
            handle,
            side,
            hosts,
            running,
        }
    }

    async fn request(&self, slice: SliceOptions) {
        let side = self.side.clone();
        self.handle
            .order(&id("milan"), move |view, env| {
                side.request_slice(view, &slice, env)
            })
            .await
            .unwrap();
    }

    async fn delete(&self, slice: &'static str) {
        let side = self.side.clone();
        self.handle
            .order(&id("milan"), move |view, _| side.delete_slice(view, slice))
            .await
            .unwrap();
    }

    async fn stop(self) {
        self.running.abort();
        assert!(self.running.await.unwrap_err().is_cancelled());
    }
}

pub async fn authenticated_in_memory() -> Clusters {
    let (rome, milan) = (
        FakeApiServer::with_liqo("rome"),
        FakeApiServer::with_liqo("milan"),
    );
    authenticated(rome, milan, |builder| builder).await
}

async fn authenticated(
    rome: FakeApiServer,
    milan: FakeApiServer,
    configure: Configure,
) -> Clusters {
    let clusters = Clusters::start_with(rome, milan, configure).await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    clusters
}

/// Milan, as the user rome sees it.
pub fn as_rome(milan: &FakeApiServer) -> FakeApiServer {
    milan.administrator().with_rights(remote_control_plane())
}

/// The rights of Liqo's ClusterRole `liqo-remote-controlplane` on these resources.
pub fn remote_control_plane() -> Vec<Rule> {
    remote_control_plane_in("liqo-tenant-rome")
}

fn remote_control_plane_in(namespace: &str) -> Vec<Rule> {
    Rule::of_role(&json!({
        "kind": "Role",
        "metadata": { "namespace": namespace },
        "rules": [{
            "apiGroups": ["authentication.liqo.io"],
            "resources": ["renews", "renews/status", "resourceslices", "resourceslices/status"],
            "verbs": [
                "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
            ],
        }],
    }))
}

/// A client whose requests fail while the server is away.
fn reachable(server: &FakeApiServer, is_away: &Arc<AtomicBool>) -> Client {
    let (client, is_away) = (server.client(), is_away.clone());
    let service = service_fn(move |request: Request<Body>| {
        let (client, is_away) = (client.clone(), is_away.clone());
        async move {
            if is_away.load(Ordering::Acquire) {
                return Err(BoxError::from(io::Error::from(
                    io::ErrorKind::ConnectionRefused,
                )));
            }
            client.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, "default")
}

/// Waits until the provider has accepted a slice, and the consumer has its kubeconfig.
async fn accepted(clusters: &Clusters, slice: &str) {
    let kubeconfig = format!("kubeconfig-resourceslice-{slice}");
    until("the slice is accepted", async || {
        let slices = clusters.rome.all("resourceslices");
        let found = slices.iter().find(|found| name(found) == slice);
        let conditions = found.and_then(|found| found["status"]["conditions"].as_array());
        conditions.is_some_and(|conditions| {
            conditions.len() == 2
                && conditions
                    .iter()
                    .all(|condition| condition["status"] == "Accepted")
        }) && names(&clusters.rome, "secrets").contains(&kubeconfig)
    })
    .await;
}

/// Waits until neither cluster has a slice of this name.
async fn nowhere(clusters: &Clusters, slice: &str) {
    until("the slice is gone from both clusters", async || {
        [&clusters.rome, &clusters.milan]
            .iter()
            .all(|cluster| !names(cluster, "resourceslices").contains(&slice.to_owned()))
    })
    .await;
}

/// Sets the finalizer of Liqo's replicator.
async fn hold(rome: &FakeApiServer, kind: Kind, name: &str) {
    let finalizer = match kind {
        Kind::Secret => "crdreplicator.liqo.io/operator",
        _ => "crdreplicator.liqo.io/resource",
    };
    let patch = json!({ "metadata": { "finalizers": [finalizer] } });
    let objects = api(&rome.administrator().client(), kind, "liqo-tenant-milan");
    let parameters = PatchParams::default();
    let patch = Patch::Merge(patch);
    objects.patch(name, &parameters, &patch).await.unwrap();
}

fn has_kubeconfig(clusters: &Clusters) -> bool {
    names(&clusters.rome, "secrets").contains(&KUBECONFIG.to_owned())
}

pub fn named(server: &FakeApiServer, plural: &str, wanted: &str) -> Value {
    let objects = server.all(plural);
    let found = objects.iter().find(|object| name(object) == wanted);
    found.unwrap_or_else(|| panic!("no {wanted}")).clone()
}

/// The number of requests to both clusters.
fn requests(clusters: &Clusters) -> usize {
    clusters.rome.requests().len() + clusters.milan.requests().len()
}

/// The number of requests to create a slice.
fn created(milan: &FakeApiServer) -> usize {
    let requests = milan.requests();
    let posts = requests
        .iter()
        .filter(|request| request.starts_with("POST "));
    posts
        .filter(|request| request.contains("/resourceslices"))
        .count()
}

fn encoded(bytes: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(bytes)
}

fn decoded(text: &str) -> Vec<u8> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.decode(text).unwrap()
}

const KUBECONFIG: &str = "kubeconfig-controlplane-milan";
