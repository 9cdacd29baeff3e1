//! The VirtualNodes and Quotas that the controllers make from accepted slices.

use std::{sync::Arc, time::Duration};

use futures::join;
use liqo_auth::{
    consumer::{Consumer, ConsumerConfig, SliceOptions},
    crypto::OneKey,
    model::TenantCondition,
};
use liqo_auth_kube::{Cluster, LimitsEnforcement};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    clusters::{Clusters, Configure, as_account, id, names},
    fake::FakeApiServer,
    least_rights,
    life::until,
    replicating::Replicator,
};

#[tokio::test(start_paused = true)]
async fn an_accepted_slice_gets_a_virtual_node_and_a_quota_as_long_as_it_exists() {
    let offloading = Offloading::start().await;
    offloading.request("2").await;
    offloading.has_both("2").await;
    let (rome, milan) = (&offloading.clusters.rome, &offloading.clusters.milan);
    let node = only(rome, "virtualnodes");
    assert_eq!(node["metadata"]["name"], "mypool");
    assert_eq!(node["metadata"]["namespace"], "liqo-tenant-milan");
    assert_eq!(node["spec"]["clusterID"], "milan");
    let secret = node["spec"]["kubeconfigSecretRef"]["name"]
        .as_str()
        .unwrap();
    assert!(names(rome, "secrets").iter().any(|name| name == secret));
    assert_eq!(secret, "kubeconfig-resourceslice-mypool");
    let quota = only(milan, "quotas");
    assert_eq!(quota["metadata"]["name"], USER);
    assert_eq!(quota["metadata"]["namespace"], "liqo-tenant-rome");
    assert_eq!(quota["spec"]["user"], USER);
    assert_eq!(quota["spec"]["limitsEnforcement"], "Soft");
    for (server, made) in [(rome, &node), (milan, &quota)] {
        let slice = only(server, "resourceslices");
        let owner = &made["metadata"]["ownerReferences"][0];
        assert_eq!(owner["uid"], slice["metadata"]["uid"]);
    }

    offloading.request("3").await;
    offloading.has_both("3").await;

    let provider = &offloading.clusters.provider;
    provider
        .order_provider(&id("rome"), |provider, view, _| {
            provider.cordon_slice(view, "mypool")
        })
        .await
        .unwrap();
    let cordoned = || only(milan, "quotas")["spec"]["cordoned"].clone();
    until("the Quota is cordoned", async || cordoned() == true).await;
    provider
        .order_provider(&id("rome"), |provider, view, _| {
            provider.uncordon_slice(view, "mypool")
        })
        .await
        .unwrap();
    until("the Quota is free", async || cordoned().is_null()).await;

    let consumer = offloading.consumer.clone();
    let at_rome = &offloading.clusters.consumer;
    at_rome
        .order(&id("milan"), move |view, _| {
            consumer.delete_slice(view, "mypool")
        })
        .await
        .unwrap();
    until("both are gone with the slice", async || {
        names(rome, "virtualnodes").is_empty() && names(milan, "quotas").is_empty()
    })
    .await;
}

/// The peer writes its replica so often that nobody else gets a write through.
#[tokio::test(start_paused = true)]
async fn a_cordon_reaches_the_quota_however_fast_the_peer_writes() {
    let offloading = Offloading::start().await;
    offloading.request("2").await;
    offloading.has_both("2").await;
    offloading.clusters.settled().await;
    let (provider, milan) = (&offloading.clusters.provider, &offloading.clusters.milan);
    let cordoned = || only(milan, "quotas")["spec"]["cordoned"].clone();
    milan.contest(&["resourceslices"]);
    let begun = Instant::now();
    let peer = id("rome");
    let order = provider.order_provider(&peer, |provider, view, _| {
        provider.cordon_slice(view, "mypool")
    });
    let reached = async {
        until("the Quota is cordoned", async || cordoned() == true).await;
        begun.elapsed()
    };
    let (order, reached) = join!(order, reached);
    assert!(order.is_err(), "the replica has not got its annotation");
    assert!(reached < Duration::from_millis(200), "{reached:?}");

    milan.contest(&[]);
    provider
        .order_provider(&peer, |provider, view, _| {
            provider.uncordon_slice(view, "mypool")
        })
        .await
        .unwrap();
    until("the Quota is free", async || cordoned().is_null()).await;
    milan.contest(&["resourceslices", "tenants"]);
    let _ = provider
        .order_provider(&peer, |provider, view, _| {
            provider.set_condition(view, TenantCondition::Cordoned)
        })
        .await;
    until("the Quota is cordoned", async || cordoned() == true).await;
}

/// As `liqoctl cordon resourceslice` does it, and a peer that removes the annotation.
#[tokio::test(start_paused = true)]
async fn a_cordon_by_the_annotation_stays_until_it_is_lifted_here() {
    let offloading = Offloading::start().await;
    offloading.request("2").await;
    offloading.has_both("2").await;
    let milan = &offloading.clusters.milan;
    let cordoned = || only(milan, "quotas")["spec"]["cordoned"].clone();
    annotate(milan, json!({ "liqo.io/cordon": "true" }));
    until("the Quota is cordoned", async || cordoned() == true).await;
    annotate(milan, json!({}));
    until("the annotation is back", async || {
        only(milan, "resourceslices")["metadata"]["annotations"]["liqo.io/cordon"] == "true"
    })
    .await;
    offloading.clusters.settled().await;
    assert_eq!(cordoned(), true);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_the_peer_writes_gives_it_nothing() {
    let offloading = Offloading::start().await;
    offloading.request("2").await;
    offloading.has_both("2").await;
    let milan = &offloading.clusters.milan;
    offloading.clusters.settled().await;
    milan.contest(&["resourceslices"]);
    let replica = only(milan, "resourceslices");
    let mut status = replica["status"].clone();
    status["resources"] = json!({ "cpu": "4000" });
    milan.patch_status(&replica, status).unwrap();
    // The Quota is made anew while the status says that.
    let before = only(milan, "quotas");
    milan.delete(&before);
    until("it is made again", async || milan.all("quotas").len() == 1).await;
    assert_eq!(only(milan, "quotas")["spec"], before["spec"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_made_is_made_once_and_again_after_its_deletion() {
    let offloading = Offloading::start().await;
    offloading.request("2").await;
    offloading.has_both("2").await;
    let clusters = &offloading.clusters;
    clusters.settled().await;
    for (server, plural) in [
        (&clusters.rome, "virtualnodes"),
        (&clusters.milan, "quotas"),
    ] {
        let before = writes(server);
        assert_eq!(before.len(), 1, "{before:#?}");
        assert!(before[0].starts_with("POST"), "{before:#?}");
        // Another writer is faster once, and then the server is broken once.
        for (code, reason) in [(409, "Conflict"), (500, "InternalError")] {
            let made = only(server, plural);
            server.refuse_writes(1, code, reason);
            server.delete(&made);
            until("it is made again", async || {
                let again = server.all(plural);
                again.len() == 1 && again[0]["metadata"]["uid"] != made["metadata"]["uid"]
            })
            .await;
        }
        // A person changes what Liqo sets.
        let mut changed = only(server, plural);
        changed["spec"]["note"] = json!("kept");
        changed["metadata"]["ownerReferences"] = json!([]);
        server.replace(&changed);
        until("it is set again", async || {
            only(server, plural)["metadata"]["ownerReferences"][0]["name"] == "mypool"
        })
        .await;
        assert_eq!(only(server, plural)["spec"]["note"], "kept");
    }
    clusters.settled().await;
    let requests = || {
        (
            clusters.rome.requests().len(),
            clusters.milan.requests().len(),
        )
    };
    let before = requests();
    clusters.settled().await;
    assert_eq!(requests(), before);
}

#[tokio::test(start_paused = true)]
async fn a_virtual_node_made_by_hand_is_taken_over() {
    let offloading = Offloading::start().await;
    let rome = &offloading.clusters.rome;
    rome.put(by_hand(json!({})));
    offloading.request("2").await;
    offloading.has_both("2").await;
    let node = only(rome, "virtualnodes");
    assert_eq!(node["spec"]["createNode"], false);
    assert_eq!(
        node["metadata"]["labels"]["liqo.io/resourceslice-name"],
        "mypool"
    );
    // The watch shows it from now on.
    offloading.request("3").await;
    offloading.has_both("3").await;
}

#[tokio::test(start_paused = true)]
async fn a_virtual_node_of_another_controller_stays_and_holds_up_nothing() {
    let offloading = Offloading::start().await;
    let rome = &offloading.clusters.rome;
    rome.put(by_hand(json!({ "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": true,
    }] })));
    let before = only(rome, "virtualnodes");
    offloading.request("2").await;
    offloading.slice_has_a_kubeconfig().await;
    until("it is refused", async || {
        offloading.clusters.consumer.counts().failures > 0
    })
    .await;
    assert_eq!(only(rome, "virtualnodes"), before);
    // Once it is gone, the controller makes its own.
    rome.delete(&before);
    offloading.has_both("2").await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_offloading_authenticates_and_gets_both_later() {
    let group = "offloading.liqo.io/v1beta1";
    let offloading = Offloading::start_on(
        FakeApiServer::with_liqo("rome").without_group(group),
        FakeApiServer::with_liqo("milan").without_group(group),
        |builder| builder.offloading(LimitsEnforcement::Soft),
    )
    .await;
    offloading.request("2").await;
    offloading.slice_has_a_kubeconfig().await;
    offloading.clusters.rome.serve_all();
    offloading.clusters.milan.serve_all();
    offloading.has_both("2").await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_unless_it_is_asked_for() {
    let offloading = Offloading::start_on(
        FakeApiServer::with_liqo("rome"),
        FakeApiServer::with_liqo("milan"),
        |builder| builder,
    )
    .await;
    offloading.request("2").await;
    offloading.slice_has_a_kubeconfig().await;
    offloading.clusters.settled().await;
    for server in [&offloading.clusters.rome, &offloading.clusters.milan] {
        let requests = server.requests();
        let is_of_offloading =
            |line: &&String| line.contains("/virtualnodes") || line.contains("/quotas");
        let asked = requests.iter().find(is_of_offloading);
        assert_eq!(asked, None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_granted_rights_are_enough_for_offloading() {
    let of_side = |file| least_rights::with("offloading", file);
    let offloading = Offloading::start_on(
        FakeApiServer::with_liqo("rome").with_rights(of_side("consumer.yaml")),
        FakeApiServer::with_liqo("milan").with_rights(of_side("provider.yaml")),
        |builder| as_account(builder).offloading(LimitsEnforcement::Soft),
    )
    .await;
    let (rome, milan) = (&offloading.clusters.rome, &offloading.clusters.milan);
    rome.put(by_hand(json!({})));
    for cpu in ["2", "3"] {
        offloading.request(cpu).await;
        offloading.has_both(cpu).await;
    }
    assert_eq!(rome.forbidden(), []);
    assert_eq!(milan.forbidden(), []);
}

/// Two clusters that have authenticated each other, and a replicator of slices.
struct Offloading {
    clusters: Clusters,
    /// The consumer's side, for orders.
    consumer: Consumer,
    _replicator: Replicator,
}

impl Offloading {
    async fn start() -> Self {
        Self::start_on(
            FakeApiServer::with_liqo("rome"),
            FakeApiServer::with_liqo("milan"),
            |builder| builder.offloading(LimitsEnforcement::Soft),
        )
        .await
    }

    async fn start_on(rome: FakeApiServer, milan: FakeApiServer, configure: Configure) -> Self {
        let clusters = Clusters::start_with(rome, milan, configure).await;
        clusters.provider.invite(&id("rome")).await.unwrap();
        clusters.authenticated().await;
        let (rome, milan) = (
            clusters.rome.administrator(),
            clusters.milan.administrator(),
        );
        let cluster = Cluster::existing(rome.client()).await.unwrap();
        let config = ConsumerConfig::new(cluster.id().clone());
        Self {
            clusters,
            consumer: Consumer::new(config, Arc::new(OneKey(cluster.key()))),
            _replicator: Replicator::start_at(rome.client(), milan.client(), |it| it).await,
        }
    }

    /// Requests the slice `mypool`, or changes the request.
    async fn request(&self, cpu: &str) {
        let consumer = self.consumer.clone();
        let options = SliceOptions {
            resources: [("cpu".to_owned(), cpu.into())].into(),
            ..SliceOptions::named("mypool")
        };
        let at_rome = &self.clusters.consumer;
        at_rome
            .order(&id("milan"), move |view, env| {
                consumer.request_slice(view, &options, env)
            })
            .await
            .unwrap();
    }

    async fn has_both(&self, cpu: &str) {
        both_have(&self.clusters.rome, &self.clusters.milan, cpu).await;
    }

    async fn slice_has_a_kubeconfig(&self) {
        until("the slice has a kubeconfig", async || {
            let secrets = names(&self.clusters.rome, "secrets");
            secrets.contains(&"kubeconfig-resourceslice-mypool".to_owned())
        })
        .await;
    }
}

/// Waits until the VirtualNode and the Quota of the only slice have this amount.
pub async fn both_have(rome: &FakeApiServer, milan: &FakeApiServer, cpu: &str) {
    until("both have the slice's resources", async || {
        let (nodes, quotas) = (rome.all("virtualnodes"), milan.all("quotas"));
        let amount = |made: &[Value], pointer: &str| {
            let [made] = made else { return false };
            made.pointer(pointer).and_then(Value::as_str) == Some(cpu)
        };
        amount(&nodes, "/spec/resourceQuota/hard/cpu") && amount(&quotas, "/spec/resources/cpu")
    })
    .await;
}

/// A VirtualNode without the labels that Liqo sets.
fn by_hand(metadata: Value) -> Value {
    let mut node = json!({
        "apiVersion": "offloading.liqo.io/v1beta1",
        "kind": "VirtualNode",
        "metadata": metadata,
        "spec": { "clusterID": "milan", "createNode": false },
    });
    node["metadata"]["name"] = json!("mypool");
    node["metadata"]["namespace"] = json!("liqo-tenant-milan");
    node
}

/// The requests so far that have written VirtualNodes or Quotas.
fn writes(server: &FakeApiServer) -> Vec<String> {
    let mut requests = server.requests();
    requests.retain(|line| line.contains("offloading.liqo.io") && !line.starts_with("GET"));
    requests
}

/// Replaces the annotations of the only slice.
fn annotate(server: &FakeApiServer, annotations: Value) {
    let mut slice = only(server, "resourceslices");
    slice["metadata"]["annotations"] = annotations;
    server.replace(&slice);
}

/// The only object of a kind.
fn only(server: &FakeApiServer, plural: &str) -> Value {
    let mut objects = server.all(plural);
    assert_eq!(objects.len(), 1, "{plural}: {objects:#?}");
    objects.remove(0)
}

const USER: &str = "mypool-a8a4c692b93b";
