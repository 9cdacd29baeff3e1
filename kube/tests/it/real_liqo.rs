//! Unmodified Liqo on the other side, on real API servers, which `e2e/run` starts:
//! `rome` is the consumer and `milan` the provider.

use std::{
    env,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use futures::future::pending;
use kube::api::DeleteParams;
use liqo_auth::{
    Provider,
    consumer::SliceOptions,
    machine::{Machine, Stage},
    model::Kind,
};
use liqo_auth_kube::{Cluster, Controller, Handle, RemoteCluster, Transport};
use tokio::task::JoinSet;

use crate::{
    clusters::{consumer_of, id},
    life::{api, until},
    login::{Administered, may_list, whoami},
};

#[tokio::test]
#[ignore = "needs the clusters that e2e/run starts"]
async fn our_consumer_and_a_provider_of_liqo() {
    let (rome, milan) = both().await;
    let cluster = Cluster::open(rome.client.clone()).await.unwrap();
    let side = consumer_of(&cluster);
    let peering_user = milan.peering_user("rome").await;
    assert_eq!(whoami(&peering_user).await, "peering-user");
    assert!(!may_list(&peering_user, Kind::Secret, "liqo").await);
    let provider = RemoteCluster::new(peering_user, id("milan"), id("rome"));
    let (controller, consumer) = Controller::builder(&cluster)
        .consumer(side.clone())
        .transport(provider.clone())
        .build();
    let mut running = JoinSet::new();
    running.spawn(controller.run(pending()));

    provider.authenticate(&consumer, MINUTE).await.unwrap();
    authenticated(&consumer, "milan").await;
    the_consumer_has_its_rights(&rome).await;

    let asked = side.clone();
    let slice = SliceOptions::named("mypool");
    consumer
        .order(&id("milan"), move |view, env| {
            asked.request_slice(view, &slice, env)
        })
        .await
        .unwrap();
    the_slice_has_its_user(&rome).await;

    // Once more it changes nothing.
    provider.authenticate(&consumer, MINUTE).await.unwrap();
    authenticated(&consumer, "milan").await;

    consumer
        .order(&id("milan"), move |view, _| {
            side.delete_slice(view, "mypool")
        })
        .await
        .unwrap();
    until("the slice is gone from both clusters", async || {
        !exists(&rome, Kind::ResourceSlice, "liqo-tenant-milan", "mypool").await
            && !exists(&milan, Kind::ResourceSlice, "liqo-tenant-rome", "mypool").await
    })
    .await;
    let peer = control_plane(&rome).await;
    // The consumer ends first, as by `liqoctl unauthenticate`: Liqo's replicator removes
    // its finalizers at the consumer only while it has rights at the provider.
    consumer.unauthenticate(&id("milan")).await.unwrap();
    until("the kubeconfig is gone", async || {
        !exists(&rome, Kind::Secret, "liqo-tenant-milan", CONTROL_PLANE).await
    })
    .await;
    let tenants = api(&milan.client, Kind::Tenant, "liqo-tenant-rome");
    tenants
        .delete("rome", &DeleteParams::default())
        .await
        .unwrap();
    until("Liqo has taken the rights back", async || {
        !may_list(&peer, Kind::ResourceSlice, "liqo-tenant-rome").await
    })
    .await;

    // Liqo offers the same nonce again.
    provider.authenticate(&consumer, MINUTE).await.unwrap();
    authenticated(&consumer, "milan").await;
    the_consumer_has_its_rights(&rome).await;
}

#[tokio::test]
#[ignore = "needs the clusters that e2e/run starts"]
async fn our_provider_and_a_consumer_of_liqo() {
    let (rome, milan) = both().await;
    let cluster = Cluster::open(milan.client.clone()).await.unwrap();
    let side = Provider::builder(cluster.id().clone(), milan.endpoint(), cluster.record_key())
        .key(cluster.key())
        .principals(cluster.principals())
        .configure(|config| config.kubernetes_signer = true)
        .build();
    let (controller, provider) = Controller::builder(&cluster).provider(side.clone()).build();
    let mut running = JoinSet::new();
    running.spawn(controller.run(pending()));
    provider.synchronized().await;

    let remote = [
        "--kubeconfig".as_ref(),
        rome.file.as_path(),
        "--remote-kubeconfig".as_ref(),
        milan.file.as_path(),
    ];
    liqoctl(["authenticate"], &remote).await;
    authenticated(&provider, "rome").await;
    the_consumer_has_its_rights(&rome).await;

    let local = ["--kubeconfig".as_ref(), rome.file.as_path()];
    let slice = [
        "create",
        "resourceslice",
        "mypool",
        "--remote-cluster-id",
        "milan",
    ];
    liqoctl(slice, &local).await;
    the_slice_has_its_user(&rome).await;

    // Once more it changes nothing.
    liqoctl(["authenticate"], &remote).await;
    authenticated(&provider, "rome").await;

    let slices = api(&rome.client, Kind::ResourceSlice, "liqo-tenant-milan");
    slices
        .delete("mypool", &DeleteParams::default())
        .await
        .unwrap();
    until("the slice is gone from both clusters", async || {
        !exists(&rome, Kind::ResourceSlice, "liqo-tenant-milan", "mypool").await
            && !exists(&milan, Kind::ResourceSlice, "liqo-tenant-rome", "mypool").await
    })
    .await;
    let peer = control_plane(&rome).await;
    liqoctl(["unauthenticate"], &remote).await;
    // The Tenant goes last.
    until("the Tenant is gone", async || {
        !exists(&milan, Kind::Tenant, "liqo-tenant-rome", "rome").await
    })
    .await;
    assert!(!may_list(&peer, Kind::ResourceSlice, "liqo-tenant-rome").await);

    // Liqo keeps the nonce that it has signed. The new one takes its place, and Liqo
    // signs it.
    let invitation = provider.invite(&id("rome")).await.unwrap();
    let consumer = RemoteCluster::new(rome.client.clone(), id("rome"), id("milan"));
    for message in &invitation.outbox {
        consumer.deliver(message).await.unwrap();
    }
    let secrets = api(&rome.client, Kind::Secret, "liqo-tenant-milan");
    until("Liqo has signed the new nonce", async || {
        let signed = secrets.get("liqo-signed-nonce").await.unwrap();
        signed.data["data"]["signedNonce"].is_string()
    })
    .await;
    liqoctl(["authenticate"], &remote).await;
    authenticated(&provider, "rome").await;
    the_consumer_has_its_rights(&rome).await;

    // The provider's own Identity takes the place of the one by `liqoctl`, and Liqo goes
    // on with it.
    let answer = provider
        .order(&id("rome"), move |view, env| side.reconcile(view, env))
        .await
        .unwrap();
    for message in &answer.outbox {
        consumer.deliver(message).await.unwrap();
    }
    let identities = api(&rome.client, Kind::Identity, "liqo-tenant-milan");
    let identity = identities.get("controlplane-milan").await.unwrap();
    let annotations = identity.metadata.annotations.unwrap();
    assert!(annotations.contains_key("liqo-auth/commitment"));
    the_consumer_has_its_rights(&rome).await;
}

async fn both() -> (Administered, Administered) {
    let rome = Administered::by("LIQO_AUTH_ROME").await;
    let milan = Administered::by("LIQO_AUTH_MILAN").await;
    (rome, milan)
}

/// Waits until this side has authenticated the other.
async fn authenticated(handle: &Handle, peer: &str) {
    until("the sides have authenticated each other", async || {
        let status = handle.status(&id(peer)).unwrap().remove(0);
        status.control_plane.stage == Stage::Authenticated
    })
    .await;
}

/// The consumer logs in by its kubeconfig, and may do what its roles allow.
async fn the_consumer_has_its_rights(rome: &Administered) {
    let peer = control_plane(rome).await;
    assert_eq!(whoami(&peer).await, "rome");
    assert!(may_list(&peer, Kind::ResourceSlice, "liqo-tenant-rome").await);
    assert!(!may_list(&peer, Kind::Secret, "liqo-tenant-rome").await);
    assert!(!may_list(&peer, Kind::Secret, "liqo").await);
    assert!(!may_list(&peer, Kind::ResourceSlice, "default").await);
}

/// The slice is accepted, and its user logs in by a kubeconfig of its own.
async fn the_slice_has_its_user(rome: &Administered) {
    let secret = "kubeconfig-resourceslice-mypool";
    until("the slice's kubeconfig is there", async || {
        exists(rome, Kind::Secret, "liqo-tenant-milan", secret).await
    })
    .await;
    let slices = api(&rome.client, Kind::ResourceSlice, "liqo-tenant-milan");
    let slice = slices.get("mypool").await.unwrap();
    let conditions = slice.data["status"]["conditions"].as_array().unwrap();
    for condition in conditions {
        assert_eq!(condition["status"], "Accepted", "{condition}");
    }
    assert_eq!(conditions.len(), 2);
    let user = rome.log_in("liqo-tenant-milan", secret).await;
    let name = whoami(&user).await;
    assert!(name.starts_with("mypool-"), "{name}");
    assert!(!may_list(&user, Kind::ResourceSlice, "liqo-tenant-rome").await);
    assert!(!may_list(&user, Kind::Secret, "liqo").await);
}

async fn control_plane(rome: &Administered) -> kube::Client {
    until("the kubeconfig is there", async || {
        exists(rome, Kind::Secret, "liqo-tenant-milan", CONTROL_PLANE).await
    })
    .await;
    rome.log_in("liqo-tenant-milan", CONTROL_PLANE).await
}

async fn exists(cluster: &Administered, kind: Kind, namespace: &str, name: &str) -> bool {
    let objects = api(&cluster.client, kind, namespace);
    objects.get_opt(name).await.unwrap().is_some()
}

/// Runs Liqo's own tool. Fails if it does.
async fn liqoctl<const N: usize>(command: [&str; N], flags: &[&Path]) {
    let program = env::var_os("LIQOCTL").expect("LIQOCTL is not set");
    let mut liqoctl = Command::new(program);
    liqoctl.args(command).args(flags).arg("--skip-confirm");
    let ended = tokio::task::spawn_blocking(move || liqoctl.output()).await;
    let Output {
        status,
        stdout,
        stderr,
    } = ended.unwrap().unwrap();
    let said = String::from_utf8([stdout, stderr].concat()).unwrap();
    assert!(status.success(), "liqoctl {command:?}: {status}\n{said}");
}

const CONTROL_PLANE: &str = "kubeconfig-controlplane-milan";
const MINUTE: Duration = Duration::from_secs(60);
