//! What a cluster keeps for the library: its ID and its keys.

use kube::api::{ApiResource, DynamicObject, ListParams};
use liqo_auth::crypto::{Algorithm, SigningKey};
use liqo_auth_kube::{Cluster, Error};
use serde_json::json;

use crate::{clusters::names, fake::FakeApiServer};

#[tokio::test(start_paused = true)]
async fn keys_are_made_once() {
    let server = FakeApiServer::with_liqo("milan");
    let first = Cluster::open(server.client()).await.unwrap();
    let second = Cluster::open(server.client()).await.unwrap();
    assert_eq!(first.id().as_str(), "milan");
    assert_eq!(first.key().public_key(), second.key().public_key());
    assert_eq!(
        first.record_key().as_bytes(),
        second.record_key().as_bytes()
    );
    assert_eq!(
        names(&server, "secrets"),
        ["authentication-keys", "liqo-auth-record-key"]
    );
}

#[expect(clippy::unnecessary_wraps, reason = "the caller's decision may fail")]
fn ed25519(_: &[DynamicObject]) -> Result<Algorithm, Error> {
    Ok(Algorithm::Ed25519)
}

#[tokio::test(start_paused = true)]
async fn a_missing_key_has_the_algorithm_that_the_caller_chooses() {
    let server = FakeApiServer::with_liqo("milan");
    // The decision goes by the ConfigMaps. If it fails, no key is made.
    let undecided = |listed: &[DynamicObject]| {
        assert_eq!(listed.len(), 1);
        Err(Error::NotSynchronized)
    };
    let opened = Cluster::open_with_objects(server.client(), "liqo", undecided).await;
    assert!(matches!(opened, Err(Error::NotSynchronized)), "{opened:?}");
    // No build makes such a key.
    let too_short = |_: &[DynamicObject]| Ok(Algorithm::Rsa { bits: 1024 });
    let tried = Cluster::try_with_objects(server.client(), "liqo", too_short).await;
    let opened = Cluster::open_with_objects(server.client(), "liqo", too_short).await;
    for refused in [tried, opened] {
        let error = refused.unwrap_err().to_string();
        let expected = "liqo/authentication-keys: a key with the algorithm RSA-1024 cannot be made";
        assert!(error.contains(expected), "{error}");
    }
    assert!(names(&server, "secrets").is_empty());
    // A key that is there stays.
    Cluster::open(server.client()).await.unwrap();
    let opened = Cluster::open_with_objects(server.client(), "liqo", too_short).await;
    assert_eq!(
        opened.unwrap().cluster.key().public_key().algorithm(),
        Algorithm::Ed25519
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_only_read_gets_no_keys() {
    let server = FakeApiServer::with_liqo("milan");
    let error = Cluster::existing(server.client()).await.unwrap_err();
    assert!(
        error.to_string().contains("liqo/authentication-keys"),
        "{error}"
    );
    assert!(names(&server, "secrets").is_empty());
    let made = Cluster::open(server.client()).await.unwrap();
    let read = Cluster::existing(server.client()).await.unwrap();
    assert_eq!(made.key().public_key(), read.key().public_key());
}

#[tokio::test(start_paused = true)]
async fn a_trial_makes_the_missing_keys_in_memory() {
    let server = FakeApiServer::with_liqo("milan");
    let tried = Cluster::try_with_objects(server.client(), "liqo", ed25519).await;
    let unwritten = tried.unwrap().unwritten_keys.into_iter();
    let unwritten: Vec<String> = unwritten.map(|secret| secret.id().name).collect();
    assert_eq!(unwritten, ["authentication-keys", "liqo-auth-record-key"]);
    assert!(names(&server, "secrets").is_empty());
    let made = Cluster::open(server.client()).await.unwrap();
    let tried = Cluster::try_with_objects(server.client(), "liqo", ed25519).await;
    let tried = tried.unwrap();
    assert!(tried.unwritten_keys.is_empty());
    assert_eq!(tried.cluster.key().public_key(), made.key().public_key());
}

#[tokio::test(start_paused = true)]
async fn a_key_in_a_secret_of_another_type_is_used() {
    let (first, second) = (
        FakeApiServer::with_liqo("milan"),
        FakeApiServer::with_liqo("milan"),
    );
    let made = Cluster::open(first.client()).await.unwrap();
    let mut key = first.all("secrets").remove(0);
    key["type"] = json!("example.com/keys");
    second.put(key);
    let opened = Cluster::open_with_objects(second.client(), "liqo", ed25519).await;
    let opened = opened.unwrap().cluster;
    assert_eq!(opened.key().public_key(), made.key().public_key());
    let read = Cluster::existing_with_objects(second.client(), "liqo").await;
    let read = read.unwrap().cluster;
    assert_eq!(read.key().public_key(), made.key().public_key());
}

#[tokio::test(start_paused = true)]
async fn two_controllers_that_start_together_have_the_same_keys() {
    let server = FakeApiServer::with_liqo("milan");
    let (first, second) = futures::join!(
        Cluster::open(server.client()),
        Cluster::open(server.client()),
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.key().public_key(), second.key().public_key());
    assert_eq!(
        first.record_key().as_bytes(),
        second.record_key().as_bytes()
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_an_id_is_refused() {
    let server = FakeApiServer::with_liqo("milan");
    server.delete(&server.all("configmaps")[0]);
    let error = Cluster::open(server.client()).await.unwrap_err();
    assert!(matches!(error, Error::Setup { .. }), "{error}");
    assert!(names(&server, "secrets").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_malformed_key_is_refused_and_stays() {
    let server = FakeApiServer::with_liqo("milan");
    server.put(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "authentication-keys", "namespace": "liqo" },
        "data": { "privateKey": "bm90IGEga2V5" },
    }));
    let before = server.all("secrets");
    let error = Cluster::open(server.client()).await.unwrap_err();
    assert!(
        error.to_string().contains("liqo/authentication-keys"),
        "{error}"
    );
    assert!(!error.to_string().contains("not a key"), "{error}");
    assert_eq!(server.all("secrets"), before);
}

#[tokio::test(start_paused = true)]
async fn the_addresses_of_services_are_read_where_the_cluster_shows_them() {
    let server = FakeApiServer::with_liqo("rome");
    let cluster = Cluster::open(server.client()).await.unwrap();
    assert_eq!(cluster.service_ranges().await.unwrap(), []);
    server.put(json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": { "name": "kubernetes" },
        "spec": { "cidrs": ["10.96.0.0/12", "fd00:96::/108"] },
    }));
    let ranges = cluster.service_ranges().await.unwrap();
    let shown: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["10.96.0.0/12", "fd00:96::/108"]);
    // Kubernetes before 1.33.
    let older = FakeApiServer::with_liqo("rome").without_resource("servicecidrs");
    let cluster = Cluster::open(older.client()).await.unwrap();
    assert_eq!(cluster.service_ranges().await.unwrap(), []);
}

#[tokio::test]
async fn the_storage_classes_are_those_that_the_cluster_shows() {
    let server = FakeApiServer::with_liqo("rome");
    let cluster = Cluster::open(server.client()).await.unwrap();
    assert_eq!(cluster.storage_classes().await.unwrap(), []);
    let annotations = [
        ("slow", json!({})),
        (
            "fast",
            json!({ "storageclass.kubernetes.io/is-default-class": "true" }),
        ),
        (
            "odd",
            json!({ "storageclass.kubernetes.io/is-default-class": "false" }),
        ),
    ];
    for (name, annotations) in annotations {
        server.put(json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": { "name": name, "annotations": annotations },
        }));
    }
    let classes = cluster.storage_classes().await.unwrap();
    let shown = classes.iter();
    let shown: Vec<(&str, bool)> = shown
        .map(|class| (class.storage_class_name.as_str(), class.is_default))
        .collect();
    assert_eq!(shown, [("fast", true), ("odd", false), ("slow", false)]);
}

#[tokio::test]
async fn objects_of_other_kinds_are_shown_as_they_are_selected() {
    let server = FakeApiServer::with_liqo("rome");
    let cluster = Cluster::open(server.client()).await.unwrap();
    server.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": "other" },
    }));
    for (namespace, name, label) in [
        ("liqo", "one", "a"),
        ("liqo", "two", "b"),
        ("other", "three", "a"),
    ] {
        server.put(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": name, "namespace": namespace, "labels": { "of": label } },
        }));
    }
    let deployments = ApiResource {
        group: "apps".to_owned(),
        version: "v1".to_owned(),
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        plural: "deployments".to_owned(),
    };
    let shown = async |cluster: &Cluster, namespace: Option<&str>, labels: &str| {
        let selected = ListParams::default().labels(labels);
        let found = cluster.shown(&deployments, namespace, &selected).await?;
        let names = found.into_iter().filter_map(|it| it.metadata.name);
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok::<_, Error>(names)
    };
    let of_liqo = shown(&cluster, Some("liqo"), "of in (a,c)").await;
    assert_eq!(of_liqo.unwrap(), ["one"]);
    let everywhere = shown(&cluster, None, "of=a").await;
    assert_eq!(everywhere.unwrap(), ["one", "three"]);

    let server = server.without_resource("deployments");
    let none = shown(&cluster, None, "of=a").await;
    assert!(none.unwrap().is_empty());
    server.serve_all();
    let _restricted = server.with_rights(Vec::new());
    let error = shown(&cluster, None, "of=a").await.unwrap_err();
    assert!(error.is_forbidden(), "{error}");
    // Without these, the controllers do.
    assert!(cluster.storage_classes().await.unwrap().is_empty());
    assert!(cluster.service_ranges().await.unwrap().is_empty());
}
