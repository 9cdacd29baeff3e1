//! A condition that a person lifts.

use liqo_auth::model::names;

use super::*;

/// A cluster with the record of `rome`, which is drained.
struct Recorded;

impl Surroundings for Recorded {
    fn namespace<'s>(&'s self, _: &'s str) -> Found<'s, Option<Namespace>> {
        ready(None)
    }

    fn tenants_beside<'s>(&'s self, _: &'s Tenant) -> Found<'s, Vec<Tenant>> {
        ready(Vec::new())
    }

    fn slices_named<'s>(&'s self, _: &'s str) -> Found<'s, Vec<ResourceSlice>> {
        ready(Vec::new())
    }

    fn bindings<'s>(&'s self, _: &'s str) -> Found<'s, Vec<RoleBinding>> {
        ready(Vec::new())
    }

    fn record<'s>(&'s self, peer: &'s ClusterId) -> Found<'s, Option<Secret>> {
        let mut record = Secret::default();
        for (field, token) in [
            (names::LIFT_CONDITION, "to-active"),
            (names::LIFT_CONDITION_TO_CORDONED, "to-cordoned"),
        ] {
            record
                .data
                .insert(field.to_owned(), token.as_bytes().to_vec().into());
        }
        ready(Some(record).filter(|_| peer.as_str() == "rome"))
    }
}

fn in_condition(condition: &str) -> Value {
    let mut tenant = tenant("rome");
    tenant["spec"]["tenantCondition"] = json!(condition);
    tenant["spec"]["authzPolicy"] = json!("KeysExchange");
    tenant
}

/// An administrator's change of the condition.
fn change(before: &str, after: &str) -> Value {
    let mut review = request("UPDATE", &in_condition(after), &in_condition(before));
    review["userInfo"] = json!({"username": "admin", "groups": ["system:masters"]});
    review["options"] = json!({"kind": "UpdateOptions", "fieldManager": "liqoctl"});
    review
}

/// The token in the Tenant that the webhook answers.
async fn token(running: &Running, review: Value) -> Option<String> {
    let mut tenant = review["object"].clone();
    let response = running.review("/mutate/tenants", review).await;
    assert_eq!(response["allowed"], true);
    let patch: Vec<u8> = serde_json::from_value(response["patch"].clone()).unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
    json_patch::patch(&mut tenant, &patch).unwrap();
    let token = &tenant["metadata"]["annotations"][names::LIFT_CONDITION_ANNOTATION];
    token.as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_milder_condition_alone_lifts_the_recorded_one() {
    let running = Running::start("webhook-lifts", Recorded).await;
    for (before, after, expected) in [
        ("Drained", "Active", Some("to-active")),
        ("Drained", "Cordoned", Some("to-cordoned")),
        ("Cordoned", "Active", Some("to-active")),
        ("Active", "Cordoned", None),
        ("Active", "Active", None),
        ("Cordoned", "Drained", None),
    ] {
        let found = token(&running, change(before, after)).await;
        assert_eq!(found.as_deref(), expected, "{before} to {after}");
    }

    let mut more = change("Drained", "Active");
    more["object"]["metadata"]["annotations"] = json!({"a": "b"});
    assert_eq!(
        token(&running, more).await,
        None,
        "another change beside it"
    );
    let mut other = change("Drained", "Active");
    for object in ["object", "oldObject"] {
        other[object]["spec"]["clusterID"] = json!("turin");
    }
    assert_eq!(
        token(&running, other).await,
        None,
        "a peer without a record"
    );
}

#[tokio::test]
async fn neither_a_peer_nor_a_program_lifts_a_condition() {
    let running = Running::start("webhook-lifters", Recorded).await;
    for (user, group) in [
        ("rome", "liqo.io"),
        ("liqo-peer-user-rome-00ff", "liqo.io"),
        (
            "system:serviceaccount:argocd:argocd",
            "system:serviceaccounts",
        ),
        ("system:node:one", "system:nodes"),
    ] {
        let mut review = change("Drained", "Active");
        review["userInfo"] = json!({"username": user, "groups": [group]});
        assert_eq!(token(&running, review).await, None, "{user}");
    }
}

#[tokio::test]
async fn a_file_that_is_applied_lifts_no_condition() {
    let running = Running::start("webhook-files", Recorded).await;
    let mut by_client = change("Drained", "Active");
    by_client["options"]["fieldManager"] = json!("kubectl-client-side-apply");
    assert_eq!(token(&running, by_client).await, None);

    let managed = |operation: &str| {
        let mut review = change("Drained", "Active");
        review["options"]["fieldManager"] = json!("kubectl");
        review["object"]["metadata"]["managedFields"] = json!([
            {"manager": "kubectl", "operation": operation, "apiVersion": "v1"},
            {"manager": "other", "operation": "Apply", "apiVersion": "v1"},
        ]);
        review
    };
    assert_eq!(token(&running, managed("Apply")).await, None);
    let edited = token(&running, managed("Update")).await;
    assert_eq!(edited.as_deref(), Some("to-active"));
}

/// A drain works while the cluster answers nothing else.
#[tokio::test]
async fn a_stricter_condition_needs_no_record() {
    let running = Running::start("webhook-stricter", Away).await;
    for (before, after) in [("Active", "Cordoned"), ("Cordoned", "Drained")] {
        assert_eq!(token(&running, change(before, after)).await, None);
    }
}

/// Anybody who reaches the webhook can send such a review.
#[tokio::test]
async fn without_the_api_servers_certificate_nobody_gets_a_token() {
    let client = kube::Client::new(
        tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, liqo_auth::crypto::BoxError>("asked".into())
        }),
        "default",
    );
    let cluster = super::super::OnCluster {
        client,
        records_in: None,
        controllers: None,
    };
    let record = cluster.record(&"rome".parse().unwrap()).await;
    assert!(record.unwrap().is_none());
}
