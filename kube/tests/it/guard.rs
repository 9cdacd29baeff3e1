//! A controller in front of Liqo's own module.

use std::sync::Arc;

use futures::future::join_all;
use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{Algorithm, Entropy, KeyPair, OneKey},
    machine::{Env, MessageBody, View},
    model::{Namespace, Object, Resource, ResourceSlice, Secret},
};
use liqo_auth_kube::{Cluster, Controller, Error, Handle};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    clusters::{Clusters, consumer_of, id, name, names, now, provider_of, signer},
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

/// Liqo stores this nonce behind the guard.
async fn makes_nonce(handle: &Handle, nonce: &Value) {
    let nonce = Object::from_value(nonce.clone());
    assert!(passes(handle, "rome", &nonce).await.unwrap());
}

async fn passes(handle: &Handle, peer: &str, changed: &Object) -> Result<bool, Error> {
    handle.guard(&id(peer), changed, false, false).await
}

#[tokio::test(start_paused = true)]
async fn a_guard_writes_its_record_and_nothing_else() {
    let [namespace, nonce, mut tenant] = exchanged().await;
    let server = FakeApiServer::with_liqo("milan");
    server.put(namespace);
    server.put(nonce);
    let (handle, _running) = guard_of(&server).await;
    let judge = async |tenant: &Value, is_dry_run, adopts| {
        let tenant = Object::from_value(tenant.clone());
        let rome = id("rome");
        handle.guard(&rome, &tenant, is_dry_run, adopts).await
    };
    let has_record = || names(&server, "secrets").contains(&RECORD.to_owned());

    // The nonce is older than the guard.
    let refused = judge(&tenant, false, false).await.unwrap_err();
    assert!(refused.to_string().contains("not on record"), "{refused}");
    assert!(judge(&tenant, true, true).await.unwrap());
    assert!(!has_record());
    assert!(judge(&tenant, false, true).await.unwrap());
    assert!(has_record());
    // What is let through is for Liqo to carry out.
    server.put(tenant.clone());
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    for plural in ["certificatesigningrequests", "rolebindings"] {
        assert!(names(&server, plural).is_empty(), "{plural}");
    }
    assert!(judge(&tenant, false, false).await.unwrap());

    tenant["spec"]["csr"] = json!("YQ==");
    let error = judge(&tenant, false, false).await.unwrap_err();
    assert!(matches!(error, Error::Library(_)), "{error}");
}

/// The record of rome.
fn record(server: &FakeApiServer) -> Value {
    let mut secrets = server.all("secrets").into_iter();
    secrets.find(|secret| name(secret) == RECORD).unwrap()
}

/// Reviews the Tenant as the next one that the server stores.
async fn reviews(handle: &Handle, server: &FakeApiServer, tenant: &Value) {
    // The review writes the record, and then the Tenant gets the next UID.
    let version = record(server)["metadata"]["resourceVersion"].clone();
    let version: u64 = version.as_str().unwrap().parse().unwrap();
    let mut reviewed = Object::from_value(tenant.clone());
    reviewed.metadata_mut().uid = format!("uid-{}", version + 2);
    assert!(passes(handle, "rome", &reviewed).await.unwrap());
}

async fn five_seconds() {
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_is_stored_pins_its_key_for_good() {
    let [namespace, nonce, tenant] = exchanged().await;
    let server = FakeApiServer::with_liqo("milan");
    server.put(namespace);
    server.put(nonce.clone());
    let (handle, _running) = guard_of(&server).await;
    makes_nonce(&handle, &nonce).await;
    reviews(&handle, &server, &tenant).await;
    five_seconds().await;
    let reserved = record(&server);
    five_seconds().await;
    assert_eq!(record(&server), reserved);
    server.put(tenant);
    five_seconds().await;
    let pinned = record(&server);
    assert_ne!(pinned, reserved);
    five_seconds().await;
    assert_eq!(record(&server), pinned);
}

/// The next process knows from the record what the one before has let through.
#[tokio::test(start_paused = true)]
async fn a_guard_that_is_killed_after_its_review_pins_one_key() {
    let [namespace, nonce, tenant] = exchanged().await;
    for is_stored in [false, true] {
        let server = FakeApiServer::with_liqo("milan");
        server.put(namespace.clone());
        server.put(nonce.clone());
        let (handle, running) = guard_of(&server).await;
        makes_nonce(&handle, &nonce).await;
        reviews(&handle, &server, &tenant).await;
        drop(running);
        let reserved = record(&server);
        if is_stored {
            server.put(tenant.clone());
        }

        let (handle, _running) = guard_of(&server).await;
        let other = tenant_by_new_key(&nonce, "another".into());
        let error = passes(&handle, "rome", &other).await.unwrap_err();
        assert!(
            matches!(&error, Error::Library(error) if error.code() == "key-changed"),
            "{error}"
        );
        five_seconds().await;
        assert_eq!(record(&server) != reserved, is_stored);
        if !is_stored {
            // Its writer tries again.
            reviews(&handle, &server, &tenant).await;
            server.put(tenant.clone());
            five_seconds().await;
            assert_ne!(record(&server), reserved);
        }
        let stored = server.all("tenants").remove(0);
        assert!(
            passes(&handle, "rome", &Object::from_value(stored))
                .await
                .unwrap()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_identity_that_is_stored_pins_its_provider_for_good() {
    let clusters = Clusters::start().await;
    clusters.provider.invite(&id("rome")).await.unwrap();
    clusters.authenticated().await;
    let server = FakeApiServer::with_liqo("rome");
    let of_rome = |plural: &str, wanted: &str| {
        let mut all = clusters.rome.all(plural).into_iter();
        all.find(|object| name(object) == wanted).unwrap()
    };
    server.put(of_rome("namespaces", "liqo-tenant-milan"));
    server.put(of_rome("secrets", "authentication-keys"));
    server.put(of_rome("secrets", "liqo-signed-nonce"));
    let cluster = Cluster::open(server.client()).await.unwrap();
    let (controller, handle) = Controller::builder(&cluster)
        .consumer(consumer_of(&cluster))
        .guard()
        .build();
    let mut running = JoinSet::new();
    running.spawn(controller.run(std::future::pending()));
    handle.synchronized().await;
    let identity = of_rome("identities", "controlplane-milan");
    let reviewed = Object::from_value(identity.clone());
    assert!(passes(&handle, "milan", &reviewed).await.unwrap());
    assert!(content(&server)["reserved"].is_object());
    server.put(identity);
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let pinned = content(&server);
    assert_eq!(pinned["reserved"], Value::Null);
    assert!(pinned["endpoint"].is_object());
}

/// The consumer's record of `milan`.
fn content(server: &FakeApiServer) -> Value {
    let mut secrets = server.all("secrets").into_iter();
    let record = secrets.find(|secret| name(secret) == "liqo-auth-consumer-milan");
    let Some(record) = record.map(Object::from_value) else {
        return Value::Null;
    };
    let secret = Secret::from_object(&record).unwrap();
    serde_json::from_slice(secret.get("record").unwrap()).unwrap()
}

/// The Tenant by which a new key says that it is rome, over this nonce.
fn tenant_by_new_key(nonce: &Value, uid: String) -> Object {
    let key = KeyPair::generate(Algorithm::Ed25519, &mut getrandom::SysRng).unwrap();
    let consumer = Consumer::new(
        ConsumerConfig::new(id("rome")),
        Arc::new(OneKey(Arc::new(key))),
    );
    let to_sign = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "liqo-signed-nonce", "namespace": "liqo-tenant-milan"},
        "data": nonce["data"],
    });
    let objects = [Object::from_value(to_sign)];
    let env = Env {
        now: now(),
        entropy: Entropy::draw(&mut getrandom::SysRng).unwrap(),
    };
    let step = consumer.reconcile(&View::of(&id("milan"), &objects), env);
    let MessageBody::Tenant(tenant) = &step.unwrap().outbox[0].body else {
        panic!("no Tenant");
    };
    let mut tenant = Object::from((**tenant).clone());
    let metadata = tenant.metadata_mut();
    metadata.namespace = "liqo-tenant-rome".into();
    metadata.uid = uid;
    tenant
}

#[tokio::test(start_paused = true)]
async fn of_a_hundred_at_once_one_is_rome() {
    let [namespace, nonce, _] = exchanged().await;
    let server = FakeApiServer::with_liqo("milan");
    server.put(namespace);
    server.put(nonce.clone());
    let (handle, _running) = guard_of(&server).await;
    makes_nonce(&handle, &nonce).await;
    let tenants = (0..100).map(|number| tenant_by_new_key(&nonce, number.to_string()));
    let tenants: Vec<Object> = tenants.collect();
    let verdicts = join_all(tenants.iter().map(|it| passes(&handle, "rome", it))).await;
    let passed = verdicts.iter().filter(|it| matches!(it, Ok(true))).count();
    assert_eq!(passed, 1);
    let refused = |it: &&Result<bool, Error>| matches!(it, Err(Error::Library(error)) if error.code() == "key-changed");
    assert_eq!(verdicts.iter().filter(refused).count(), 99);
}

/// The watch of the nonces may be behind.
#[tokio::test(start_paused = true)]
async fn what_is_refused_is_judged_once_more() {
    let [namespace, nonce, tenant] = exchanged().await;
    let server = FakeApiServer::with_liqo("milan");
    server.put(namespace);
    let (handle, _running) = guard_of(&server).await;
    makes_nonce(&handle, &nonce).await;
    let tenant = Object::from_value(tenant);
    let late = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        server.put(nonce);
    };
    let (verdict, ()) = tokio::join!(passes(&handle, "rome", &tenant), late);
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

/// The accepted slices on the record of `milan`.
fn known(server: &FakeApiServer) -> Value {
    content(server)["known"]["mypool"].clone()
}

/// A slice of `rome` for `milan`, which is a consumer of `rome` as well: so it may write in its tenant
/// namespace at `rome`.
pub fn put_slice_beside_a_tenant(rome: &FakeApiServer) {
    let of_liqo = "authentication.liqo.io/v1beta1";
    rome.put(Object::from(Namespace::for_tenant(&id("milan"))).to_value());
    rome.put(json!({
        "apiVersion": of_liqo, "kind": "Tenant",
        "metadata": {"name": "milan", "namespace": "liqo-tenant-milan"},
        "spec": {"clusterID": "milan"},
    }));
    rome.put(json!({
        "apiVersion": of_liqo, "kind": "ResourceSlice",
        "metadata": {"name": "mypool", "namespace": "liqo-tenant-milan", "labels": {
            "liqo.io/replication": "true", "liqo.io/remoteID": "milan",
            "liqo.io/remote-cluster-id": "milan"}},
        "spec": {"class": "default", "resources": {"cpu": 2}},
    }));
}

#[tokio::test(start_paused = true)]
async fn a_slice_is_accepted_before_it_is_stored() {
    let server = FakeApiServer::with_liqo("rome").with_late_watches(&["resourceslices"]);
    put_slice_beside_a_tenant(&server);
    let asking = |cpu: u32| {
        let mut slice = server.all("resourceslices").remove(0);
        slice["spec"]["resources"]["cpu"] = json!(cpu);
        Object::from_value(slice)
    };
    let cluster = Cluster::open(server.client()).await.unwrap();
    let builder = Controller::builder(&cluster).consumer(consumer_of(&cluster));
    let (controller, handle) = builder.build();
    let mut running = JoinSet::new();
    running.spawn(controller.run(std::future::pending()));
    handle.synchronized().await;
    let milan = id("milan");
    let two = asking(2);
    // A guard stands in front of Liqo, which signs what it sees.
    assert!(passes(&handle, "milan", &two).await.unwrap());
    assert_eq!(known(&server), Value::Null);
    assert_eq!(server.all("resourceslices")[0]["spec"].get("csr"), None);

    handle.vouch(&milan, None, &two).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let accepted = known(&server);
    assert_eq!(accepted[0]["uid"], json!(two.metadata().uid));
    assert!(server.all("resourceslices")[0]["spec"]["csr"].is_string());

    // Milan has changed it, and the watch does not show that.
    handle
        .vouch(&milan, Some(&asking(100)), &asking(101))
        .await
        .unwrap();
    assert_eq!(known(&server), accepted);
    handle
        .vouch(&milan, Some(&asking(2)), &asking(3))
        .await
        .unwrap();
    assert_eq!(known(&server).as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_provider_alone_accepts_no_slice() {
    let server = FakeApiServer::with_liqo("milan");
    let (handle, _running) = guard_of(&server).await;
    let slice = Object::from(ResourceSlice::default());
    handle.vouch(&id("rome"), None, &slice).await.unwrap();
    assert!(!names(&server, "secrets").contains(&RECORD.to_owned()));
}
