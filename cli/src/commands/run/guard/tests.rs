use std::sync::Mutex;

use axum::{
    body::{Body, to_bytes},
    http::Request as HttpRequest,
};
use futures::{FutureExt, future::BoxFuture};
use liqo_auth::verify::claimed_consumer;
use serde_json::json;
use tower::ServiceExt;

use super::*;

/// Gives one verdict on everything, and notes what it is asked.
struct Fake {
    verdict: fn() -> Verdict,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Judge for Fake {
    fn namespace<'s>(&'s self, name: &'s str) -> BoxFuture<'s, anyhow::Result<Option<Namespace>>> {
        let mut found = Namespace::for_tenant(&"rome".parse().unwrap());
        let labels = &mut found.metadata.labels;
        match name {
            "liqo-tenant-rome" => {}
            "former" => {
                labels.insert(names::TENANT_NAMESPACE_LABEL.into(), "false".into());
            }
            _ => return async { Ok(None) }.boxed(),
        }
        async { Ok(Some(found)) }.boxed()
    }

    fn judge<'s>(
        &'s self,
        peer: &'s ClusterId,
        object: &'s Object,
        How { records, adopts }: How,
    ) -> BoxFuture<'s, anyhow::Result<Verdict>> {
        let adopted = if adopts { ", adopted" } else { "" };
        let labels = &object.metadata().labels;
        let nonce = if labels.contains_key(names::NONCE_LABEL) {
            ", a nonce"
        } else {
            ""
        };
        let asked = format!("{peer}: {} {records}{adopted}{nonce}", object.id());
        self.asked.lock().unwrap().push(asked);
        let verdict = (self.verdict)();
        async { Ok(verdict) }.boxed()
    }
}

/// What the guard answers, and what it has asked.
async fn answered(
    verdict: fn() -> Verdict,
    mode: GuardMode,
    request: &Value,
) -> (Value, Vec<String>) {
    let asked = Arc::default();
    let fake = Fake {
        verdict,
        asked: Arc::clone(&asked),
    };
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request,
    });
    let posted = HttpRequest::post("/guard").body(Body::from(review.to_string()));
    let router = router(fake, mode, Some("liqo".to_owned()));
    let answer = router.oneshot(posted.unwrap()).await.unwrap();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    let asked = asked.lock().unwrap().clone();
    (answer["response"].clone(), asked)
}

fn passed() -> Verdict {
    Verdict::Passed
}

fn refused() -> Verdict {
    Verdict::Refused(claimed_consumer(&Tenant::default()).unwrap_err())
}

fn awaited() -> Verdict {
    Verdict::Awaited
}

fn request(operation: &str, new: &Value, old: &Value) -> Value {
    json!({
        "uid": "the-uid",
        "kind": {"group": "authentication.liqo.io", "version": "v1beta1", "kind": "Tenant"},
        "resource": {"group": "authentication.liqo.io", "version": "v1beta1", "resource": "tenants"},
        "operation": operation,
        "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "object": new,
        "oldObject": old,
    })
}

fn tenant() -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {"name": "rome", "namespace": "liqo-tenant-rome",
            "labels": {"liqo.io/remote-cluster-id": "rome"}},
        "spec": {"clusterID": "rome"},
    })
}

/// The object, which a finalizer keeps.
fn deleted(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object
}

const ASKED: &str = "rome: Tenant liqo-tenant-rome/rome true";

#[tokio::test]
async fn the_verdict_is_the_answer() {
    let create = request("CREATE", &tenant(), &Value::Null);
    let (answer, asked) = answered(passed, GuardMode::Enforce, &create).await;
    assert_eq!(
        (&answer["uid"], &answer["allowed"]),
        (&json!("the-uid"), &json!(true))
    );
    assert_eq!(asked, [ASKED]);
    let (answer, _) = answered(refused, GuardMode::Enforce, &create).await;
    assert_eq!(
        (&answer["allowed"], &answer["status"]["code"]),
        (&json!(false), &json!(403))
    );
    let message = answer["status"]["message"].as_str().unwrap();
    let error = claimed_consumer(&Tenant::default()).unwrap_err();
    assert_eq!(message, format!("{error}. {}", error.advice()));
    let (answer, _) = answered(awaited, GuardMode::Enforce, &create).await;
    assert_eq!(
        (&answer["allowed"], &answer["status"]["message"]),
        (&json!(false), &json!(AWAITED))
    );
    assert_eq!(answer["status"]["code"], 503);
}

#[tokio::test]
async fn an_audit_lets_everything_pass_and_records_nothing() {
    let create = request("CREATE", &tenant(), &Value::Null);
    let (answer, asked) = answered(refused, GuardMode::Audit, &create).await;
    assert_eq!(answer["allowed"], true);
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("liqo-auth would refuse this: "),
        "{warning}"
    );
    assert_eq!(asked, ["rome: Tenant liqo-tenant-rome/rome false"]);
    let mut dry = create;
    dry["dryRun"] = json!(true);
    let (_, asked) = answered(passed, GuardMode::Enforce, &dry).await;
    assert_eq!(asked, ["rome: Tenant liqo-tenant-rome/rome false"]);
}

#[tokio::test]
async fn what_liqo_reads_is_in_a_tenant_namespace() {
    for namespace in ["default", "former"] {
        let mut elsewhere = tenant();
        elsewhere["metadata"]["namespace"] = json!(namespace);
        let create = request("CREATE", &elsewhere, &Value::Null);
        let (answer, asked) = answered(passed, GuardMode::Enforce, &create).await;
        assert_eq!(answer["status"]["message"], ELSEWHERE);
        assert!(asked.is_empty());
    }
}

#[tokio::test]
async fn what_changes_nothing_for_liqo_is_not_judged() {
    let mut released = tenant();
    released["metadata"]["annotations"] = json!({"a": "b"});
    released["metadata"]["finalizers"] = json!(["a"]);
    for free in [
        request("UPDATE", &released, &tenant()),
        request("UPDATE", &deleted(tenant()), &tenant()),
        request("UPDATE", &deleted(released.clone()), &deleted(tenant())),
        request("DELETE", &Value::Null, &tenant()),
    ] {
        let (answer, asked) = answered(refused, GuardMode::Enforce, &free).await;
        assert_eq!(
            (&answer["allowed"], asked.len()),
            (&json!(true), 0),
            "{free}"
        );
    }
    for (field, value) in [
        ("/spec", json!({"clusterID": "milan"})),
        ("/metadata/labels", json!({})),
        (
            "/metadata",
            json!({"name": "rome", "namespace": "liqo-tenant-rome",
                "labels": tenant()["metadata"]["labels"],
                "annotations": {"liqo.io/remote-tenant-namespace": "a"}}),
        ),
    ] {
        let mut changed = tenant();
        *changed.pointer_mut(field).unwrap() = value;
        let update = request("UPDATE", &changed, &tenant());
        let (answer, _) = answered(refused, GuardMode::Enforce, &update).await;
        assert_eq!(answer["allowed"], false, "{field}");
    }
    let secret = |data: &str, kind: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "namespace": "liqo-tenant-rome"},
            "type": kind,
            "data": {"kubeconfig": data},
        })
    };
    for changed in [secret("YQ==", "Opaque"), secret("", "other")] {
        let update = request("UPDATE", &changed, &secret("", "Opaque"));
        let (answer, _) = answered(refused, GuardMode::Enforce, &update).await;
        assert_eq!(answer["allowed"], false);
    }
}

/// A finalizer keeps what is being deleted, and Liqo acts on what it says.
#[tokio::test]
async fn what_is_being_deleted_is_judged_if_it_says_something_else() {
    for (field, value) in [
        ("/spec", json!({"csr": "YQ=="})),
        ("/metadata/labels", json!({})),
        (
            "/metadata",
            json!({"name": "rome", "namespace": "liqo-tenant-rome",
                "labels": tenant()["metadata"]["labels"],
                "annotations": {"liqo.io/remote-tenant-namespace": "a"}}),
        ),
    ] {
        let mut changed = deleted(tenant());
        *changed.pointer_mut(field).unwrap() = value;
        let update = request("UPDATE", &changed, &deleted(tenant()));
        let (answer, asked) = answered(refused, GuardMode::Enforce, &update).await;
        assert_eq!(answer["allowed"], false, "{field}");
        assert_eq!(asked, [ASKED]);
    }
}

#[tokio::test]
async fn a_person_waives_the_handshake() {
    let mut waived = tenant();
    waived["spec"]["authzPolicy"] = json!("TolerateNoHandshake");
    let mut create = request("CREATE", &waived, &Value::Null);
    let (answer, _) = answered(refused, GuardMode::Enforce, &create).await;
    assert_eq!(answer["allowed"], true);
    // For everybody else, the settings decide.
    for group in ["system:serviceaccounts", "system:nodes", "liqo.io"] {
        create["userInfo"]["groups"] = json!([group]);
        let (answer, _) = answered(refused, GuardMode::Enforce, &create).await;
        assert_eq!(answer["allowed"], false, "{group}");
        let (answer, asked) = answered(passed, GuardMode::Enforce, &create).await;
        assert_eq!((&answer["allowed"], asked.len()), (&json!(true), 1));
    }
}

#[tokio::test]
async fn a_nonce_is_judged_that_liqo_makes() {
    let secret = |nonce: &str, label: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "liqo-nonce", "namespace": "liqo-tenant-rome",
                "labels": {"liqo.io/nonce": "true", "a": label}},
            "data": {"nonce": nonce},
        })
    };
    let empty = secret("", "");
    let judged = async |user: &str, new: &Value, old: &Value| {
        let mut update = request("UPDATE", new, old);
        update["userInfo"] = json!({"username": user, "groups": ["system:serviceaccounts"]});
        let (_, asked) = answered(passed, GuardMode::Enforce, &update).await;
        // Others may have labels of several kinds.
        assert_eq!(asked.len(), 1);
        asked[0].ends_with(", a nonce")
    };
    let liqo = "system:serviceaccount:liqo:liqo-controller-manager";
    assert!(judged(liqo, &secret("YQ==", ""), &empty).await);
    assert!(judged(liqo, &secret("YQ==", ""), &secret("Yg==", "")).await);
    assert!(judged(liqo, &secret("YQ==", ""), &Value::Null).await);
    // A nonce that was there counts for nobody.
    assert!(!judged(liqo, &secret("YQ==", "a"), &secret("YQ==", "b")).await);
    for other in [
        "admin",
        "system:serviceaccount:default:liqo",
        "system:serviceaccount:liqo",
    ] {
        assert!(!judged(other, &secret("YQ==", ""), &empty).await, "{other}");
    }
}

#[tokio::test]
async fn a_person_adopts_a_stored_tenant_by_a_label_alone() {
    let mut labelled = tenant();
    labelled["metadata"]["labels"]["liqo-auth/adopt"] = json!("true");
    let adopts = async |update: &Value| {
        let (_, asked) = answered(passed, GuardMode::Enforce, update).await;
        asked == [format!("{ASKED}, adopted")]
    };
    assert!(adopts(&request("UPDATE", &labelled, &tenant())).await);
    let mut changed = labelled.clone();
    changed["spec"]["signature"] = json!("YQ==");
    let mut relabelled = labelled.clone();
    relabelled["metadata"]["labels"]["a"] = json!("b");
    let mut no = labelled.clone();
    no["metadata"]["labels"]["liqo-auth/adopt"] = json!("no");
    let mut program = request("UPDATE", &labelled, &tenant());
    program["userInfo"]["groups"] = json!(["system:serviceaccounts"]);
    let mut slice = request("UPDATE", &labelled, &tenant());
    slice["kind"]["kind"] = json!("ResourceSlice");
    let mut peer = request("UPDATE", &labelled, &tenant());
    peer["userInfo"]["groups"] = json!(["liqo.io"]);
    for update in [
        request("CREATE", &labelled, &Value::Null),
        request("UPDATE", &changed, &tenant()),
        request("UPDATE", &relabelled, &labelled),
        request("UPDATE", &no, &tenant()),
        request("UPDATE", &tenant(), &labelled),
        program,
        peer,
        slice,
    ] {
        assert!(!adopts(&update).await, "{update}");
    }
}
