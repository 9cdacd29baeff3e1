//! A controller in front of Liqo's own module.

use liqo_auth::model::Object;
use liqo_auth_kube::{Cluster, Controller, Error, Handle};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    clusters::{Clusters, consumer_of, id, name, names, provider_of, signer},
    fake::FakeApiServer,
};

const RECORD: &str = "liqo-auth-provider-rome";

/// The objects of an honest exchange: the tenant namespace, the nonce and the Tenant.
async fn exchanged() -> [Value; 3] {
    let clusters = Clusters::start().await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    let one = |plural: &str, wanted: &str| {
        let mut all = clusters.milan.all(plural).into_iter();
        all.find(|object| name(object) == wanted).unwrap()
    };
    [
        one("namespaces", "liqo-tenant-rome"),
        one("secrets", "liqo-nonce"),
        one("tenants", "rome"),
    ]
}

/// The guard of a provider, and what runs.
async fn guard_of(server: &FakeApiServer) -> (Handle, JoinSet<()>) {
    let mut running = JoinSet::new();
    let endpoint = signer(server, &mut running);
    let cluster = Cluster::open(server.client()).await.unwrap();
    let (controller, handle) = Controller::builder(&cluster)
        .provider(provider_of(&cluster, &endpoint))
        .guard()
        .build();
    running.spawn(controller.run(std::future::pending()));
    handle.synchronized().await;
    (handle, running)
}

#[tokio::test(start_paused = true)]
async fn a_guard_writes_its_record_and_nothing_else() {
    let [namespace, nonce, mut tenant] = exchanged().await;
    let server = FakeApiServer::with_liqo("milan");
    server.put(namespace);
    server.put(nonce);
    let (handle, _running) = guard_of(&server).await;
    let judge = async |tenant: &Value, is_dry_run| {
        let tenant = Object::from_value(tenant.clone());
        handle.guard(&id("rome"), &tenant, is_dry_run).await
    };
    let has_record = || names(&server, "secrets").contains(&RECORD.to_owned());

    assert!(judge(&tenant, true).await.unwrap());
    assert!(!has_record());
    assert!(judge(&tenant, false).await.unwrap());
    assert!(has_record());
    // What is let through is for Liqo to carry out.
    server.put(tenant.clone());
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    for plural in ["certificatesigningrequests", "rolebindings"] {
        assert!(names(&server, plural).is_empty(), "{plural}");
    }
    assert!(judge(&tenant, false).await.unwrap());

    tenant["spec"]["csr"] = json!("YQ==");
    let error = judge(&tenant, false).await.unwrap_err();
    assert!(matches!(error, Error::Library(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_is_stored_pins_its_key_for_good() {
    let [namespace, nonce, tenant] = exchanged().await;
    let server = FakeApiServer::with_liqo("milan");
    server.put(namespace);
    server.put(nonce);
    let (handle, _running) = guard_of(&server).await;
    let record = || {
        let mut secrets = server.all("secrets").into_iter();
        secrets.find(|secret| name(secret) == RECORD).unwrap()
    };
    let reviewed = Object::from_value(tenant.clone());
    assert!(handle.guard(&id("rome"), &reviewed, false).await.unwrap());
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let reserved = record();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(record(), reserved);
    server.put(tenant);
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let pinned = record();
    assert_ne!(pinned, reserved);
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(record(), pinned);
}

/// The watch of the nonces may be behind.
#[tokio::test(start_paused = true)]
async fn what_is_refused_is_judged_once_more() {
    let [namespace, nonce, tenant] = exchanged().await;
    let server = FakeApiServer::with_liqo("milan");
    server.put(namespace);
    let (handle, _running) = guard_of(&server).await;
    let tenant = Object::from_value(tenant);
    let rome = id("rome");
    let late = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        server.put(nonce);
    };
    let (verdict, ()) = tokio::join!(handle.guard(&rome, &tenant, false), late);
    assert!(verdict.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_guard_leaves_what_is_gone_for_good_to_liqo() {
    for guards in [false, true] {
        let server = FakeApiServer::with_liqo("rome");
        let cluster = Cluster::open(server.client()).await.unwrap();
        let builder = Controller::builder(&cluster).consumer(consumer_of(&cluster));
        let (controller, handle) = match guards {
            true => builder.guard().build(),
            false => builder.build(),
        };
        let mut running = JoinSet::new();
        running.spawn(controller.run(std::future::pending()));
        handle.synchronized().await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let requests = server.requests();
        let mut asked = requests.iter();
        assert_eq!(asked.any(|it| it.contains("foreignclusters")), !guards);
    }
}
