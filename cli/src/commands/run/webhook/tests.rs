//! Reviews over TLS, as an API server sends them.

mod clients;
mod lifts;
mod running;
mod slices;

use futures::FutureExt;
use liqo_auth::model::{
    ClusterId, Namespace, Object, Resource, ResourceSlice, RoleBinding, Secret, Tenant,
};
use serde_json::{Value, json};

use self::running::{Running, certificate};
use super::surroundings::{Found, Surroundings};

/// A cluster with the tenant namespace of `rome`, and with these objects.
#[derive(Default)]
struct Fake {
    tenants: Vec<Tenant>,
    slices: Vec<ResourceSlice>,
}

impl Surroundings for Fake {
    fn namespace<'s>(&'s self, name: &'s str) -> Found<'s, Option<Namespace>> {
        let namespace = Namespace::for_tenant(&"rome".parse().unwrap());
        ready(Some(namespace).filter(|namespace| namespace.metadata.name == name))
    }

    fn tenants_beside<'s>(&'s self, _: &'s Tenant) -> Found<'s, Vec<Tenant>> {
        ready(self.tenants.clone())
    }

    fn bindings<'s>(&'s self, _: &'s str) -> Found<'s, Vec<RoleBinding>> {
        ready(Vec::new())
    }

    fn slices_named<'s>(&'s self, _: &'s str) -> Found<'s, Vec<ResourceSlice>> {
        ready(self.slices.clone())
    }
}

/// A cluster that does not answer.
struct Away;

impl Surroundings for Away {
    fn namespace<'s>(&'s self, _: &'s str) -> Found<'s, Option<Namespace>> {
        no_answer()
    }

    fn tenants_beside<'s>(&'s self, _: &'s Tenant) -> Found<'s, Vec<Tenant>> {
        no_answer()
    }

    fn slices_named<'s>(&'s self, _: &'s str) -> Found<'s, Vec<ResourceSlice>> {
        no_answer()
    }

    fn bindings<'s>(&'s self, _: &'s str) -> Found<'s, Vec<RoleBinding>> {
        no_answer()
    }

    fn record<'s>(&'s self, _: &'s ClusterId) -> Found<'s, Option<Secret>> {
        no_answer()
    }

    fn vouch<'s>(
        &'s self,
        _: &'s ClusterId,
        _: Option<&'s Object>,
        _: &'s Object,
    ) -> Found<'s, ()> {
        no_answer()
    }
}

fn no_answer<T: Send + 'static>() -> Found<'static, T> {
    std::future::ready(Err(anyhow::anyhow!("no answer"))).boxed()
}

fn ready<T: Send + 'static>(found: T) -> Found<'static, T> {
    std::future::ready(Ok(found)).boxed()
}

fn request(operation: &str, new: &Value, old: &Value) -> Value {
    let kind = [new, old]
        .into_iter()
        .find_map(|object| object["kind"].as_str());
    json!({
        "uid": "the-uid",
        "kind": {"group": "authentication.liqo.io", "version": "v1beta1", "kind": kind},
        "resource": {"group": "authentication.liqo.io", "version": "v1beta1", "resource": "x"},
        "operation": operation,
        "userInfo": {"username": "rome", "groups": ["liqo.io", "system:authenticated"]},
        "object": new,
        "oldObject": old,
    })
}

/// The review of a request, as it is sent.
fn reviewed(request: &Value) -> String {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request,
    });
    review.to_string()
}

fn tenant(cluster_id: &str) -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": "rome",
            "namespace": "liqo-tenant-rome",
            "uid": "u",
            "labels": {"liqo.io/remote-cluster-id": cluster_id},
        },
        "spec": {"clusterID": cluster_id, "unknown": 1},
    })
}

/// A replica of a slice of `rome`.
fn slice(annotations: &Value) -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {"name": "pool", "namespace": "liqo-tenant-rome", "annotations": annotations,
            "labels": {"liqo.io/replicated": "true"}},
        "spec": {"consumerClusterID": "rome", "class": "default"},
    })
}

/// A slice that this cluster requests from `rome`.
fn original() -> Value {
    let mut original = slice(&json!({}));
    original["metadata"]["uid"] = json!("one");
    original["metadata"]["labels"] =
        json!({"liqo.io/replication": "true", "liqo.io/remoteID": "rome"});
    original["spec"] = json!({"class": "default", "resources": {"cpu": 2}});
    original
}

/// The same request by a person.
fn by_a_person(mut request: Value) -> Value {
    request["userInfo"] = json!({"username": "admin", "groups": ["system:masters"]});
    request
}

fn object<K: Resource + Clone>(value: &Value) -> K {
    let object = Object::from_value(value.clone());
    K::from_object(&object).unwrap().clone()
}

#[tokio::test]
async fn tenants_are_judged_as_liqo_judges_them() {
    let running = Running::start("webhook-tenants", Fake::default()).await;
    let validate = "/validate/tenants";
    let review = request("CREATE", &tenant("rome"), &Value::Null);
    assert_eq!(running.review(validate, review).await["allowed"], true);

    let review = request("CREATE", &tenant("turin"), &Value::Null);
    let response = running.review(validate, review).await;
    assert_eq!(
        (&response["allowed"], &response["status"]["code"]),
        (&json!(false), &json!(403))
    );
    let review = request("UPDATE", &tenant("rome"), &tenant("turin"));
    let response = running.review(validate, review).await;
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("ClusterID is immutable"), "{message}");
    let deletion = request("DELETE", &Value::Null, &tenant("turin"));
    assert_eq!(running.review(validate, deletion).await["allowed"], true);

    let tenants = vec![object(&tenant("rome"))];
    let fake = Fake {
        tenants,
        ..Fake::default()
    };
    let running = Running::start("webhook-taken", fake).await;
    let review = request("CREATE", &tenant("rome"), &Value::Null);
    assert_eq!(running.review(validate, review).await["allowed"], false);
    let review = request("UPDATE", &tenant("rome"), &tenant("rome"));
    assert_eq!(running.review(validate, review).await["allowed"], true);
}

#[tokio::test]
async fn a_tenant_gets_its_defaults_and_keeps_the_rest() {
    let running = Running::start("webhook-defaults", Fake::default()).await;
    let mut new = tenant("rome");
    new["metadata"]["labels"] = json!({"other": "1"});
    let response = running
        .review("/mutate/tenants", request("CREATE", &new, &Value::Null))
        .await;
    assert_eq!(response["patchType"], "JSONPatch");
    let patch: Vec<u8> = serde_json::from_value(response["patch"].clone()).unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
    json_patch::patch(&mut new, &patch).unwrap();
    assert_eq!(
        new["metadata"]["labels"],
        json!({"other": "1", "liqo.io/remote-cluster-id": "rome"})
    );
    let spec = json!({"clusterID": "rome", "unknown": 1, "authzPolicy": "KeysExchange", "tenantCondition": "Active"});
    assert_eq!(new["spec"], spec);
}

#[tokio::test]
async fn a_peer_does_not_lift_the_cordon_of_its_slice() {
    let slices = vec![object(&original())];
    let fake = Fake {
        slices,
        ..Fake::default()
    };
    let running = Running::start("webhook-cordons", fake).await;
    let validate = "/validate/resourceslices";
    let cordoned = slice(&json!({"liqo.io/cordon": "true"}));
    let review = request("UPDATE", &slice(&json!({})), &cordoned);
    assert_eq!(running.review(validate, review).await["allowed"], false);
    let review = request("UPDATE", &cordoned, &cordoned);
    assert_eq!(running.review(validate, review).await["allowed"], true);
    let review = by_a_person(request("CREATE", &original(), &Value::Null));
    assert_eq!(
        running.review(validate, review).await["allowed"],
        false,
        "the name is taken"
    );
}

/// A slice with more values than the library reads.
fn padded(annotations: &Value) -> Value {
    let mut padded = slice(annotations);
    let pool: Vec<u32> = (0..3000).collect();
    padded["spec"]["padding"] = json!(pool);
    padded
}

#[tokio::test]
async fn a_padded_slice_is_refused_until_it_is_deleted() {
    let running = Running::start("webhook-padded", Fake::default()).await;
    let validate = "/validate/resourceslices";
    let cordon = json!({"liqo.io/cordon": "true"});
    for (operation, new, old) in [
        ("CREATE", padded(&json!({})), Value::Null),
        ("UPDATE", padded(&json!({})), slice(&cordon)),
        ("UPDATE", slice(&json!({})), padded(&cordon)),
    ] {
        let response = running
            .review(validate, request(operation, &new, &old))
            .await;
        assert_eq!(response["allowed"], false, "{operation}");
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains("2048 values"), "{message}");
    }
    // The administrator of the provider makes it small again.
    let mut review = request("UPDATE", &slice(&cordon), &padded(&cordon));
    review["userInfo"]["groups"] = json!(["system:masters"]);
    assert_eq!(running.review(validate, review).await["allowed"], true);

    let deletion = request("DELETE", &Value::Null, &padded(&cordon));
    assert_eq!(running.review(validate, deletion).await["allowed"], true);
    let mut deleted = padded(&cordon);
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    deleted["metadata"]["finalizers"] = json!(["a", "b"]);
    let mut released = deleted.clone();
    released["metadata"]["finalizers"] = json!(["b"]);
    let review = request("UPDATE", &released, &deleted);
    assert_eq!(running.review(validate, review).await["allowed"], true);
    let review = request("UPDATE", &deleted, &released);
    assert_eq!(running.review(validate, review).await["allowed"], false);
    released["metadata"]["annotations"] = json!({});
    let review = request("UPDATE", &released, &deleted);
    assert_eq!(running.review(validate, review).await["allowed"], false);
}

/// The failure policy of the webhook's configuration decides then.
#[tokio::test]
async fn without_an_answer_of_the_cluster_there_is_no_verdict() {
    let webhook = Running::start("webhook-away", Away).await;
    for (path, new) in [
        ("/validate/tenants", tenant("rome")),
        ("/validate/resourceslices", original()),
    ] {
        let review = reviewed(&by_a_person(request("CREATE", &new, &Value::Null)));
        let (status, text) = webhook.post(path, review).await;
        assert_eq!(
            (status, text.as_str()),
            (500, "no verdict: see the log\n"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_fields_that_an_api_server_manages_do_not_count() {
    let running = Running::start("webhook-managed", Fake::default()).await;
    let mut new = slice(&json!({}));
    let fields: serde_json::Map<String, Value> =
        (0..3000).map(|n| (format!("f:{n}"), json!({}))).collect();
    new["metadata"]["managedFields"] = json!([{"manager": "m", "fieldsV1": fields}]);
    let review = request("CREATE", &new, &Value::Null);
    let response = running.review("/validate/resourceslices", review).await;
    assert_eq!(response["allowed"], true);
}

#[tokio::test]
async fn what_is_no_review_is_refused_and_a_new_certificate_counts() {
    let mut running = Running::start("webhook-certificate", Fake::default()).await;
    for body in ["", "{}", "{\"kind\":\"AdmissionReview\"}"] {
        let (status, _) = running.post("/validate/tenants", body.to_owned()).await;
        assert_eq!(status, 400, "{body}");
    }
    let (status, _) = running.post("/elsewhere", "{}".to_owned()).await;
    assert_eq!(status, 404);
    // A later time of change, also on a file system with coarse times.
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    running.roots = certificate(&running.folder);
    let review = request("CREATE", &tenant("rome"), &Value::Null);
    assert_eq!(
        running.review("/validate/tenants", review).await["allowed"],
        true
    );
}
