//! The rights of a controller's account in tenant namespaces, and its watches there.

use std::time::Duration;

use liqo_auth_kube::{Error, Handle};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    clusters::{as_account, id, provider_alone},
    fake::{FakeApiServer, Rule},
    least_rights,
    life::until,
};

/// A person makes the namespace and an empty Secret, as `liqoctl` does.
#[tokio::test(start_paused = true)]
async fn a_nonce_is_asked_for_in_a_new_namespace() {
    let milan = Milan::start().await;
    let asked = Instant::now();
    milan.ask_for_a_nonce("rome");
    milan.makes_a_nonce("rome").await;
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert_eq!(milan.bound(), ["liqo-tenant-rome"]);
    assert_eq!(milan.server.forbidden(), []);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_starts_finds_its_bindings_and_asks_for_no_others() {
    let mut milan = Milan::start().await;
    milan.ask_for_a_nonce("rome");
    milan.makes_a_nonce("rome").await;
    milan.restart().await;
    let before = milan.requests_for("rolebindings", "POST");
    milan.ask_for_a_nonce("turin");
    milan.makes_a_nonce("turin").await;
    assert_eq!(milan.requests_for("rolebindings", "POST"), before + 1);
    assert_eq!(milan.server.forbidden(), []);
}

/// The next request is refused, and is made again.
#[tokio::test(start_paused = true)]
async fn a_binding_that_somebody_deletes_is_made_again() {
    let milan = Milan::start().await;
    milan.ask_for_a_nonce("rome");
    milan.makes_a_nonce("rome").await;
    let bindings = milan.server.all("rolebindings");
    milan.server.delete(&bindings[0]);
    milan.server.delete(&milan.nonce("rome").unwrap());
    milan.makes_a_nonce("rome").await;
    assert_eq!(milan.bound(), ["liqo-tenant-rome"]);

    let bindings = milan.server.all("rolebindings");
    milan.server.delete(&bindings[0]);
    milan.server.drop_watches();
    until("the watch has its right again", async || {
        milan.bound() == ["liqo-tenant-rome"]
    })
    .await;
}

/// Somebody else holds the names of bindings, so that the account does not get rights.
#[tokio::test(start_paused = true)]
async fn namespaces_that_refuse_the_account_hold_up_their_own_peers_alone() {
    let mut milan = Milan::start().await;
    let others = (0..100).map(|number| format!("peer-{number}"));
    for peer in others.chain(["rome".to_owned()]) {
        milan.server.put(namespace(&peer));
        milan.server.put(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": { "name": "liqo-auth", "namespace": format!("liqo-tenant-{peer}") },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "another",
            },
        }));
    }
    milan.restart().await;
    let asked = Instant::now();
    milan.ask_for_a_nonce("turin");
    milan.makes_a_nonce("turin").await;
    assert!(asked.elapsed() < Duration::from_secs(5));
    assert!(milan.nonce("rome").is_none());
    // The peer is looked at nevertheless, so that its rights can be withdrawn.
    let rome = id("rome");
    until("the peer is no longer waited for", async || {
        milan.handle.invite(&rome).await.is_err()
    })
    .await;
}

/// Another peer's offloaded namespace has the name.
#[tokio::test(start_paused = true)]
async fn the_name_of_a_tenant_namespace_that_is_held_is_refused_with_its_holder() {
    let milan = Milan::start().await;
    milan.server.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "liqo-tenant-rome",
            "labels": { "liqo.io/remote-cluster-id": "turin" },
        },
    }));
    let refused = milan.handle.invite(&id("rome")).await.unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("another Namespace of \"turin\""),
        "{refused}"
    );
    assert_eq!(milan.bound().len(), 0);
    assert_eq!(milan.server.forbidden(), []);
}

/// It has none of the labels by which records are watched.
#[tokio::test(start_paused = true)]
async fn a_secret_that_holds_the_name_of_a_record_is_refused_and_named() {
    let milan = Milan::start().await;
    milan.server.put(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "liqo-auth-provider-rome", "namespace": "liqo" },
    }));
    let refused = milan.handle.invite(&id("rome")).await.unwrap_err();
    assert!(matches!(refused, Error::Library(_)), "{refused}");
    let refused = refused.to_string();
    assert!(
        refused.contains("liqo/liqo-auth-provider-rome"),
        "{refused}"
    );
    assert_eq!(milan.server.forbidden(), []);
}

/// A provider whose controller has the rights that `deploy/` grants.
struct Milan {
    server: FakeApiServer,
    handle: Handle,
    running: JoinSet<()>,
}

impl Milan {
    async fn start() -> Self {
        let rights: Vec<Rule> = least_rights::of("provider.yaml");
        let server = FakeApiServer::with_liqo("milan").with_rights(rights);
        let (handle, running) = provider_alone(&server, as_account).await;
        Self {
            server,
            handle,
            running,
        }
    }

    async fn restart(&mut self) {
        self.running.shutdown().await;
        let server = self.server.clone();
        (self.handle, self.running) = provider_alone(&server, as_account).await;
    }

    fn ask_for_a_nonce(&self, peer: &str) {
        self.server.put(namespace(peer));
        self.server.put(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "liqo-nonce",
                "namespace": format!("liqo-tenant-{peer}"),
                "labels": {
                    "liqo.io/remote-cluster-id": peer,
                    "liqo.io/nonce": "true",
                },
            },
        }));
    }

    async fn makes_a_nonce(&self, peer: &str) {
        until("the nonce is made", async || {
            let nonce = self.nonce(peer);
            nonce.is_some_and(|nonce| nonce["data"]["nonce"].is_string())
        })
        .await;
    }

    fn nonce(&self, peer: &str) -> Option<Value> {
        let namespace = format!("liqo-tenant-{peer}");
        let secrets = self.server.all("secrets").into_iter();
        let mut secrets = secrets.filter(|it| it["metadata"]["namespace"] == namespace);
        secrets.find(|it| it["metadata"]["name"] == "liqo-nonce")
    }

    /// The namespaces in which the account is bound.
    fn bound(&self) -> Vec<String> {
        let bindings = self.server.all("rolebindings").into_iter();
        let bindings = bindings.filter(|it| it["roleRef"]["name"] == "liqo-auth-tenant");
        let namespace = |it: Value| it["metadata"]["namespace"].as_str().unwrap().to_owned();
        bindings.map(namespace).collect()
    }

    fn requests_for(&self, plural: &str, method: &str) -> usize {
        let requests = self.server.requests();
        let requests = requests.iter().filter(|it| it.starts_with(method));
        requests.filter(|it| it.contains(plural)).count()
    }
}

pub fn namespace(peer: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": format!("liqo-tenant-{peer}"),
            "labels": {
                "liqo.io/remote-cluster-id": peer,
                "liqo.io/tenant-namespace": "true",
            },
        },
    })
}
