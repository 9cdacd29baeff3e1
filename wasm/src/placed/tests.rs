use liqo_auth::{
    machine::{Requirement, Watch},
    model::{Kind, Object, ObjectRef},
};
use serde_json::{Value, json};

use super::Placed;

const PEER: &str = "cl-consumer";

fn object(kind: &str, namespace: &str, name: &str, labels: &Value) -> Value {
    let version = match kind {
        "Tenant" | "ResourceSlice" | "Identity" => "authentication.liqo.io/v1beta1",
        _ => "v1",
    };
    let metadata = json!({
        "name": name, "namespace": namespace, "labels": labels,
        "uid": format!("uid-{name}"), "resourceVersion": "1",
    });
    json!({ "apiVersion": version, "kind": kind, "metadata": metadata })
}

fn namespace_of(peer: &str, name: &str) -> Value {
    let labels = json!({ "liqo.io/remote-cluster-id": peer, "liqo.io/tenant-namespace": "true" });
    object("Namespace", "", name, &labels)
}

/// A Tenant that says that it is of the peer.
fn tenant_in(namespace: &str) -> Value {
    let mut tenant = object(
        "Tenant",
        namespace,
        PEER,
        &json!({ "liqo.io/remote-cluster-id": PEER }),
    );
    tenant["spec"] = json!({ "clusterID": PEER });
    tenant
}

/// The object with more than the limit, so that it is reduced to its metadata.
fn large(mut object: Value) -> Value {
    object["spec"] = json!({ "bulk": "A".repeat(300 * 1024) });
    object
}

/// Objects that are no concern of the peer, whatever they say. Each is a list, in an order in
/// which a store may show it.
fn of_another() -> Vec<Vec<Value>> {
    let labelled = |kind, name| {
        let label = json!({ "liqo.io/remote-cluster-id": "cl-other" });
        object(kind, "elsewhere", name, &label)
    };
    vec![
        vec![tenant_in("liqo-tenant-cl-other")],
        vec![
            tenant_in("of-the-other"),
            namespace_of("cl-other", "of-the-other"),
        ],
        vec![
            large(tenant_in("of-the-other")),
            namespace_of("cl-other", "of-the-other"),
        ],
        vec![large(namespace_of("cl-other", "of-the-other"))],
        vec![labelled("Secret", "kubeconfig-controlplane-cl-consumer")],
        vec![large(labelled("Secret", "large"))],
        vec![large(labelled("ResourceSlice", "large"))],
    ]
}

/// What a provider answers to a call with these objects.
fn provider(call: &str, objects: &[Value]) -> Value {
    let request = json!({ "provider": {
        "config": { "clusterID": "cl-provider", "apiServer": "https://172.19.0.3:6443" },
        "recordKey": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
        "backends": [],
        "seen": {
            "peer": PEER,
            "objects": objects,
            "now": "2026-11-20T13:00:00Z",
            "entropy": "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=",
        },
        "call": call,
    } });
    let answer = crate::answer(request.to_string().as_bytes());
    serde_json::from_slice(&answer).unwrap_or_default()
}

/// The objects that an invitation has made.
fn invited() -> Vec<Value> {
    let answer = provider("invite", &[]);
    let requests = answer["ok"]["requests"].as_array();
    let bodies = requests
        .into_iter()
        .flatten()
        .map(|one| one["body"].clone());
    let stored: Vec<Value> = bodies
        .enumerate()
        .map(|(number, mut object)| {
            object["metadata"]["uid"] = json!(format!("uid-{number}"));
            object["metadata"]["resourceVersion"] = json!("1");
            object
        })
        .collect();
    assert!(!stored.is_empty(), "{answer}");
    stored
}

#[test]
fn an_object_of_another_peer_changes_no_answer_to_a_view() {
    let own = invited();
    for call in ["invite", "reconcile", "end", "look"] {
        for own in [&[][..], &own] {
            let without = provider(call, own);
            for planted in of_another() {
                for planted in [planted.clone(), planted.into_iter().rev().collect()] {
                    let with = provider(call, &[own, &planted].concat());
                    assert_eq!(with, without, "{call}: {}", planted[0]["metadata"]);
                }
            }
        }
    }
}

/// What a new session of the provider answers to a call with these objects.
fn session(call: &str, objects: &[Value]) -> Vec<u8> {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    let lengths: Vec<usize> = texts.iter().map(String::len).collect();
    let request = json!({ "session": {
        "open": { "peer": PEER, "side": { "provider": {
            "config": { "clusterID": "cl-provider", "apiServer": "https://172.19.0.3:6443" },
            "backends": [],
        } } },
        "seen": lengths,
        "call": call,
        "with": {
            "recordKey": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
            "now": "2026-11-20T13:00:00Z",
            "entropy": "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=",
            "pollMilliseconds": 10_000,
        },
    } });
    crate::answer(format!("{request}\n{}", texts.concat()).as_bytes())
}

#[test]
fn an_object_of_another_peer_changes_no_answer_to_a_session() {
    let own = invited();
    let without = session("reconcile", &own);
    assert!(without.starts_with(br#"{"ok":"#));
    for planted in of_another() {
        let with = session("reconcile", &[own.clone(), planted.clone()].concat());
        assert_eq!(with, without, "{}", planted[0]["metadata"]);
    }
}

#[test]
fn an_object_without_a_name_is_refused_in_a_view() {
    let answer = provider("invite", &[json!({ "apiVersion": "v1", "kind": "Secret" })]);
    assert_eq!(answer["error"]["code"], "request-form", "{answer}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("seen: "), "{message}");
}

fn placed(watches: Vec<Watch>) -> Placed {
    match PEER.parse().map(|peer| Placed::new(peer, watches)) {
        Ok(Ok(placed)) => placed,
        _ => panic!("no objects are placed"),
    }
}

fn show(placed: &mut Placed, object: Value) {
    assert!(placed.show(Object::from_value(object)).is_ok());
}

fn names(placed: &Placed) -> Vec<String> {
    let view = placed.view().ok();
    let objects = view.iter().flat_map(|view| view.objects());
    objects
        .map(|object| format!("{:?}", object.id().kind))
        .collect()
}

#[test]
fn an_object_that_no_watch_covers_is_that_of_the_peer() {
    let labelled = Watch::all(Kind::Namespace).with(Requirement::Exists("a"));
    let mut placed = placed(vec![labelled]);
    show(&mut placed, object("Secret", "elsewhere", "a", &json!({})));
    assert_eq!(names(&placed), ["Secret"]);
    show(
        &mut placed,
        object("Namespace", "", "b", &json!({ "a": "b" })),
    );
    assert_eq!(names(&placed), ["Secret"]);
    placed.gone(&ObjectRef::new(Kind::Secret, "elsewhere", "a"));
    assert!(names(&placed).is_empty());
}
