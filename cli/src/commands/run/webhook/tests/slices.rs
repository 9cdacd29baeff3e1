//! Who writes the slices that this cluster requests.

use std::sync::{Arc, Mutex};

use super::*;

const VALIDATE: &str = "/validate/resourceslices";

/// A cluster that notes what is vouched for.
#[derive(Default)]
struct Noting {
    vouched: Arc<Mutex<Vec<String>>>,
    bindings: Vec<RoleBinding>,
    has_no_record: bool,
}

impl Surroundings for Noting {
    fn namespace<'s>(&'s self, _: &'s str) -> Found<'s, Option<Namespace>> {
        ready(None)
    }

    fn tenants_beside<'s>(&'s self, _: &'s Tenant) -> Found<'s, Vec<Tenant>> {
        ready(Vec::new())
    }

    fn slices_named<'s>(&'s self, name: &'s str) -> Found<'s, Vec<ResourceSlice>> {
        let taken = (name == "taken").then(|| {
            let mut taken = original();
            taken["metadata"]["name"] = json!("taken");
            object(&taken)
        });
        ready(taken.into_iter().collect())
    }

    fn bindings<'s>(&'s self, namespace: &'s str) -> Found<'s, Vec<RoleBinding>> {
        let is_here = namespace == "liqo-tenant-rome";
        ready(self.bindings.iter().filter(|_| is_here).cloned().collect())
    }

    fn vouch<'s>(
        &'s self,
        provider: &'s ClusterId,
        before: Option<&'s Object>,
        slice: &'s Object,
    ) -> Found<'s, ()> {
        let of = |object: &Object| object.to_value()["spec"]["resources"]["cpu"].clone();
        if self.has_no_record {
            return no_answer();
        }
        let noted = format!("{provider} {:?} {}", before.map(of), of(slice));
        self.vouched.lock().unwrap().push(noted);
        ready(())
    }
}

fn asking(cpu: u32) -> Value {
    let mut asking = original();
    asking["spec"]["resources"]["cpu"] = json!(cpu);
    asking
}

#[tokio::test]
async fn a_peer_writes_no_slice_of_this_cluster() {
    let running = Running::start("webhook-originals", Noting::default()).await;
    let replica = slice(&json!({}));
    let mut relabelled = replica.clone();
    relabelled["metadata"]["labels"] = original()["metadata"]["labels"].clone();
    let mut unlabelled = replica.clone();
    unlabelled["metadata"]["labels"] = Value::Null;
    let mut half = original();
    half["metadata"]["labels"]["liqo.io/replicated"] = json!("false");
    let nothing = Value::Null;
    let users = [("rome", "liqo.io"), ("liqo-peer-user-rome-00ff", "liqo.io")];
    for (operation, new, old, allowed) in [
        ("CREATE", &original(), &nothing, false),
        ("CREATE", &unlabelled, &nothing, false),
        ("CREATE", &half, &nothing, false),
        ("CREATE", &padded(&json!({})), &nothing, false),
        ("CREATE", &replica, &nothing, true),
        ("UPDATE", &asking(100), &original(), false),
        ("UPDATE", &relabelled, &replica, false),
        ("UPDATE", &replica, &original(), false),
        ("UPDATE", &replica, &nothing, false),
        ("UPDATE", &replica, &replica, true),
        ("DELETE", &nothing, &original(), false),
        ("DELETE", &nothing, &nothing, false),
        ("DELETE", &nothing, &replica, true),
    ] {
        let mut review = request(operation, new, old);
        review["kind"]["kind"] = json!("ResourceSlice");
        for (user, group) in users {
            review["userInfo"] = json!({"username": user, "groups": [group]});
            let answer = running.review(VALIDATE, review.clone()).await;
            assert_eq!(answer["allowed"], allowed, "{user} {operation} {new} {old}");
        }
        if operation == "DELETE" {
            let answer = running.review(VALIDATE, by_a_person(review)).await;
            assert_eq!(answer["allowed"], true, "a person deletes");
        }
    }
    let answer = running
        .review(VALIDATE, request("CREATE", &original(), &nothing))
        .await;
    let message = &answer["status"]["message"];
    let expected = "a peer writes replicas of its own slices alone";
    assert!(message.as_str().unwrap().contains(expected), "{message}");
}

/// As on Liqo's page on declarative peering: the user is in no group of Liqo's.
#[tokio::test]
async fn a_peer_whose_user_a_binding_names_writes_no_slice_of_this_cluster() {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "liqo-tenant-rome"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "liqo-remote-controlplane"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
            "name": "rome-user"}],
    });
    let noting = Noting {
        bindings: vec![object(&binding)],
        ..Noting::default()
    };
    let vouched = Arc::clone(&noting.vouched);
    let running = Running::start("webhook-bound", noting).await;
    let replica = slice(&json!({}));
    let nothing = Value::Null;
    for (operation, new, old, allowed) in [
        ("CREATE", &original(), &nothing, false),
        ("UPDATE", &asking(100), &original(), false),
        ("UPDATE", &original(), &replica, false),
        ("DELETE", &nothing, &original(), false),
        ("CREATE", &replica, &nothing, true),
        ("UPDATE", &replica, &replica, true),
        ("DELETE", &nothing, &replica, true),
    ] {
        let mut review = request(operation, new, old);
        let groups = json!(["system:authenticated"]);
        review["userInfo"] = json!({"username": "rome-user", "groups": groups});
        let answer = running.review(VALIDATE, review.clone()).await;
        assert_eq!(answer["allowed"], allowed, "{operation} {new} {old}");
        assert!(vouched.lock().unwrap().is_empty());
        review["userInfo"]["username"] = json!("jane");
        let answer = running.review(VALIDATE, review).await;
        assert_eq!(answer["allowed"], true, "{operation} {new} {old}");
        vouched.lock().unwrap().clear();
    }
}

/// Who has written a slice is not known then.
#[tokio::test]
async fn without_the_bindings_no_slice_of_this_cluster_is_stored() {
    let running = Running::start("webhook-unbound", Away).await;
    let create = by_a_person(request("UPDATE", &original(), &original()));
    let (status, _) = running.post(VALIDATE, reviewed(&create)).await;
    assert_eq!(status, 500);
}

/// A request to delete a collection does not name an object, and is reviewed for each one.
#[tokio::test]
async fn a_peer_deletes_no_collection_of_this_clusters_slices() {
    let running = Running::start("webhook-collections", Noting::default()).await;
    for (stored, allowed) in [(original(), false), (slice(&json!({})), true)] {
        let mut review = request("DELETE", &Value::Null, &stored);
        review["name"] = json!("");
        let answer = running.review(VALIDATE, review).await;
        assert_eq!(answer["allowed"], allowed);
    }
}

#[tokio::test]
async fn who_is_no_user_of_a_peer_vouches_for_what_a_slice_asks() {
    let noting = Noting::default();
    let vouched = Arc::clone(&noting.vouched);
    let running = Running::start("webhook-vouches", noting).await;
    let noted = || std::mem::take(&mut *vouched.lock().unwrap());
    let nothing = Value::Null;
    let mut review = request("CREATE", &asking(2), &nothing);
    for (user, group) in [
        ("admin", "system:masters"),
        (
            "system:serviceaccount:argocd:argocd",
            "system:serviceaccounts",
        ),
    ] {
        review["userInfo"] = json!({"username": user, "groups": [group]});
        assert_eq!(
            running.review(VALIDATE, review.clone()).await["allowed"],
            true
        );
        assert_eq!(noted(), ["rome None \"2\""], "{user}");
    }
    let update = by_a_person(request("UPDATE", &asking(8), &asking(2)));
    running.review(VALIDATE, update).await;
    assert_eq!(noted(), ["rome Some(String(\"2\")) \"8\""]);
    let mut reclassed = asking(2);
    reclassed["spec"]["class"] = json!("other");
    let update = by_a_person(request("UPDATE", &reclassed, &asking(2)));
    running.review(VALIDATE, update).await;
    assert_eq!(noted().len(), 1);

    // As the controllers complete a slice.
    let mut completed = asking(2);
    completed["metadata"]["annotations"] = json!({"a": "b"});
    completed["metadata"]["labels"]["liqo.io/remote-cluster-id"] = json!("rome");
    completed["spec"]["csr"] = json!("YQ==");
    completed["spec"]["consumerClusterID"] = json!("milan");
    let mut dry = by_a_person(request("CREATE", &asking(2), &nothing));
    dry["dryRun"] = json!(true);
    let mut of_nobody = asking(2);
    of_nobody["metadata"]["labels"]["liqo.io/remoteID"] = json!("no ID");
    let mut taken = asking(2);
    taken["metadata"]["name"] = json!("taken");
    let mut replica = asking(2);
    replica["metadata"]["labels"]["liqo.io/replicated"] = json!("true");
    for (what, review, allowed) in [
        ("a peer", request("CREATE", &asking(2), &nothing), false),
        (
            "a peer",
            request("CREATE", &slice(&json!({})), &nothing),
            true,
        ),
        (
            "no change",
            by_a_person(request("UPDATE", &completed, &asking(2))),
            true,
        ),
        ("a trial", dry, true),
        (
            "a replica",
            by_a_person(request("CREATE", &replica, &nothing)),
            true,
        ),
        (
            "no provider",
            by_a_person(request("CREATE", &of_nobody, &nothing)),
            true,
        ),
        (
            "a denial",
            by_a_person(request("CREATE", &taken, &nothing)),
            false,
        ),
        (
            "a deletion",
            by_a_person(request("DELETE", &nothing, &asking(2))),
            true,
        ),
    ] {
        let answer = running.review(VALIDATE, review).await;
        assert_eq!(answer["allowed"], allowed, "{what}");
        assert_eq!(noted(), Vec::<String>::new(), "{what}");
    }
}

/// A slice that the record cannot name is not stored: nobody would sign it.
#[tokio::test]
async fn a_slice_is_stored_after_it_is_on_record() {
    let noting = Noting {
        has_no_record: true,
        ..Noting::default()
    };
    let running = Running::start("webhook-unrecorded", noting).await;
    let update = by_a_person(request("UPDATE", &asking(8), &asking(2)));
    let (status, _) = running.post(VALIDATE, reviewed(&update)).await;
    assert_eq!(status, 500);
}

/// Anybody who reaches the webhook can send such a review.
#[tokio::test]
async fn without_the_api_servers_certificate_nobody_vouches() {
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
    let slice = Object::from_value(original());
    cluster
        .vouch(&"rome".parse().unwrap(), None, &slice)
        .await
        .unwrap();
}
