//! The tool on clusters whose API servers are in memory.

mod addresses;
mod answers;
mod beside_liqo;
mod by_peering_user;
mod client_cas;
mod decisions;
mod declared;
mod deeds;
mod ending;
mod expired_answers;
mod in_band;
mod kubeconfigs;
mod lifetimes;
mod listeners;
mod logins;
mod meanwhile;
mod monitors;
mod own_keys;
mod peering_users;
mod proxies;
mod settings;
mod signer;
mod take_over;
mod trials;
mod unlooked;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Method, Request};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use liqo_auth::crypto::{Authority, Entropy};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, sync::Notify};

use crate::{
    fake::{FakeApiServer, Rule},
    tool::{
        Folder,
        running::{Running, until},
    },
};

/// A cluster with Liqo, with its kubeconfig in a folder.
struct Cluster {
    server: FakeApiServer,
    delay: Arc<Delay>,
    runtime: Runtime,
}

/// Which requests wait.
#[derive(Default)]
struct Delay {
    /// While this is set, the server does not answer requests that create something.
    is_slow: AtomicBool,
    /// Whether the next request that writes waits until it may go on.
    holds_next_write: AtomicBool,
    may_go_on: Notify,
    /// The number of requests that waited for one of these reasons.
    held: AtomicUsize,
}

impl Cluster {
    fn start(folder: &Folder, id: &str) -> Self {
        let server = FakeApiServer::with_liqo(id);
        let cluster = Self {
            server,
            delay: Arc::default(),
            runtime: Runtime::new().unwrap(),
        };
        cluster.listen(folder, id, cluster.server.clone(), cluster.delay.clone());
        cluster.set(&json!({ "apiServer": format!("https://{id}.example:6443") }));
        cluster
    }

    /// Writes the kubeconfig of a user who has these rights only. Returns the server as this
    /// user meets it.
    fn has_a_user(&self, folder: &Folder, name: &str, rights: Vec<Rule>) -> FakeApiServer {
        let server = self.server.administrator().with_rights(rights);
        self.listen(folder, name, server.clone(), Arc::default());
        server
    }

    /// Serves at an address of its own, and writes the kubeconfig with this name.
    fn listen(&self, folder: &Folder, name: &str, server: FakeApiServer, delay: Arc<Delay>) {
        let bound = self.runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = bound.unwrap();
        let address = listener.local_addr().unwrap();
        self.runtime.spawn(serve(listener, server, delay));
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
            "clusters": [{ "name": name, "cluster": { "server": format!("http://{address}") } }],
            "users": [{ "name": name, "user": { "token": "x" } }],
        });
        folder.write(name, &kubeconfig.to_string());
    }

    /// Has an authority sign the approved requests, as the controller manager does. Returns its
    /// certificate, which is the CA of the API server as well.
    fn has_a_signer(&self) -> String {
        let entropy = Entropy::from_bytes([7; 32]);
        let year = Duration::from_secs(31_536_000);
        let authority = Authority::new("milan-ca", signer::now(), year, &entropy).unwrap();
        let ca = String::from_utf8(authority.ca_bundle().pem().to_vec()).unwrap();
        self.set(&json!({ "apiServer": "https://milan.example:6443", "apiServerCA": &ca }));
        self.runtime
            .spawn(signer::sign_approved(self.server.clone(), authority));
        ca
    }

    /// Writes the settings, and makes their ConfigMap anew.
    fn set(&self, settings: &Value) {
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": "liqo-auth-settings", "namespace": "liqo" },
            "data": { "settings.yaml": settings.to_string() },
        });
        if !self.named("configmaps", "liqo-auth-settings").is_empty() {
            self.server.delete(&config_map);
        }
        self.server.put(config_map);
    }

    /// Writes the settings for peers, and makes their Secret anew.
    fn set_peers(&self, peers: &Value) {
        let settings = json!({ "peers": peers });
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "liqo-auth-settings", "namespace": "liqo" },
            "type": "Opaque",
            "data": { "settings.yaml": STANDARD.encode(settings.to_string()) },
        });
        if !self.named("secrets", "liqo-auth-settings").is_empty() {
            self.server.delete(&secret);
        }
        self.server.put(secret);
    }

    fn declare_rome(&self) {
        self.set_peers(&json!({ "rome": { "invite": true } }));
    }

    /// The text of the settings in the ConfigMap, and of those in the Secret.
    fn settings(&self) -> (String, String) {
        let text = |plural: &str| {
            let found = self.named(plural, "liqo-auth-settings");
            let found = found.first().map(|it| &it["data"]["settings.yaml"]);
            found.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let of_peers = STANDARD.decode(text("secrets")).unwrap();
        (text("configmaps"), String::from_utf8(of_peers).unwrap())
    }

    fn named(&self, plural: &str, name: &str) -> Vec<Value> {
        let mut objects = self.server.all(plural);
        objects.retain(|object| object["metadata"]["name"] == name);
        objects
    }

    fn invites(&self) -> bool {
        self.invites_peer("rome")
    }

    fn invites_peer(&self, peer: &str) -> bool {
        let nonces = self.named("secrets", "liqo-nonce");
        nonces.iter().any(|nonce| {
            nonce["metadata"]["namespace"] == format!("liqo-tenant-{peer}")
                && nonce["data"]["nonce"].is_string()
        })
    }

    fn has_record(&self) -> bool {
        !self.named("secrets", "liqo-auth-provider-rome").is_empty()
    }

    /// The requests that write.
    fn writes(&self) -> Vec<String> {
        let mut requests = self.server.requests();
        requests.retain(|request| !request.starts_with("GET "));
        requests
    }
}

async fn serve(listener: TcpListener, server: FakeApiServer, delay: Arc<Delay>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (server, delay) = (server.clone(), delay.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (client, delay) = (server.client(), delay.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                delay.wait(&head.method).await;
                client
                    .send(Request::from_parts(head, Body::from(body.to_vec())))
                    .await
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

impl Delay {
    async fn wait(&self, method: &Method) {
        if method == Method::POST && self.is_slow.load(Ordering::Relaxed) {
            self.held.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        if method != Method::GET && self.holds_next_write.swap(false, Ordering::Relaxed) {
            self.held.fetch_add(1, Ordering::Relaxed);
            self.may_go_on.notified().await;
        }
    }
}

/// `run --provider` on milan, which logs to the file `log`.
fn start(folder: &Folder) -> Running {
    start_as(folder, "--kubeconfig milan --provider")
}

fn start_as(folder: &Folder, options: &str) -> Running {
    Running::start(folder, "log", options)
}

fn tenant() -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": { "name": "rome", "namespace": "liqo-tenant-rome" },
        "spec": { "clusterID": "rome" },
    })
}

#[test]
fn a_declared_peer_whose_peering_has_ended_waits_for_a_person() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    milan.declare_rome();
    let running = start(&folder);
    until("rome is invited", || milan.invites());
    milan.server.put(tenant());
    folder.ok("unauthenticate --yes --kubeconfig milan --remote-cluster-id rome");
    until("the peering has ended", || {
        milan.server.all("tenants").is_empty() && !milan.invites()
    });
    running.stop();

    // It is still declared. Neither a start nor other settings invite it again.
    let running = start(&folder);
    // The order for rome comes first.
    milan.set(&json!({
        "apiServer": "https://milan.example:6443",
        "requireApproval": true,
    }));
    milan.set_peers(&json!({ "rome": { "invite": true }, "turin": { "invite": true } }));
    until("the next peer is invited", || milan.invites_peer("turin"));
    assert!(milan.has_record() && !milan.invites());
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    until("the person has invited it", || milan.invites());

    // A peer that is not declared any more is forgotten.
    milan.server.put(tenant());
    folder.ok("unauthenticate --yes --kubeconfig milan --remote-cluster-id rome");
    milan.set_peers(&json!({}));
    until("the record is gone", || !milan.has_record());
    // Declared anew, it is a new peer.
    milan.declare_rome();
    until("rome is invited", || milan.invites());
    running.stop();
}

#[test]
fn a_slow_api_server_holds_up_neither_settings_nor_the_stop() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let running = start(&folder);
    milan.delay.is_slow.store(true, Ordering::Relaxed);
    let before = milan.writes().len();
    let changes = || folder.read("log").matches("have changed").count();
    milan.declare_rome();
    until("the settings count", || changes() > 0);
    until("the invitation waits for the API server", || {
        milan.delay.held.load(Ordering::Relaxed) > 0
    });
    assert_eq!(milan.writes().len(), before, "an answer came");
    let so_far = changes();
    milan.set(&json!({ "apiServer": "https://milan.example:7443" }));
    until("the next settings count, too", || changes() > so_far);
    let took = running.stop();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn the_key_of_a_cluster_is_not_rotated() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let error = folder.refused(
        "rotate key --kubeconfig milan --remote-cluster-id rome",
        "",
        2,
    );
    assert!(error.contains("works on a home only"), "{error}");
    assert_eq!(milan.writes(), Vec::<String>::new());
}

/// The Secret of a consumer that has signed a nonce of this provider.
fn signed_nonce(provider: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "liqo-signed-nonce",
            "namespace": format!("liqo-tenant-{provider}"),
            "labels": { "liqo.io/remote-cluster-id": provider },
        },
        "data": {},
    })
}

/// A controller acts on the first part of a command before the tool writes the second.
#[test]
fn a_command_goes_on_if_another_program_was_faster() {
    let folder = Folder::new();
    let (_rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    milan.has_a_signer();
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig milan");
    for (command, condition) in [("cordon", "Cordoned"), ("uncordon", "Active")] {
        milan.server.refuse_writes(1, 409, "Conflict");
        folder.ok(&format!("{command} tenant rome --kubeconfig milan"));
        let tenants = milan.named("tenants", "rome");
        assert_eq!(tenants[0]["spec"]["tenantCondition"], condition);
    }
}
