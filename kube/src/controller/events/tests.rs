use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use http::{Request, Response};
use kube::client::Body;
use liqo_auth::{
    crypto::{BoxError, Entropy, Nonce},
    model::{Kind, ObjectRef, Quantity, TenantCondition},
    policy::Policy,
    verify::{NonceExpectation, nonce_to_sign},
};
use serde_json::json;
use tokio::time::advance;
use tower::service_fn;

use super::*;

/// The client of a server that takes all events, and what it was sent.
fn server() -> (Client, Arc<Mutex<Vec<Value>>>) {
    let sent: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = sent.clone();
    let service = service_fn(move |request: Request<Body>| {
        let kept = kept.clone();
        async move {
            let event = request.into_body().collect_bytes().await?;
            kept.lock().unwrap().push(serde_json::from_slice(&event)?);
            Ok::<_, BoxError>(Response::new(Body::from(event.to_vec())))
        }
    });
    (Client::new(service, "default"), sent)
}

#[test]
fn a_note_ends_at_the_limit_and_between_characters() {
    let at_limit = "é".repeat(512);
    assert_eq!(shortened(&at_limit), at_limit);
    assert_eq!(shortened(&format!("a{at_limit}")).len(), 1023);
    assert_eq!(shortened(&format!("{at_limit}a")), at_limit);
    assert_eq!(shortened(""), "");
}

/// A recorder would keep the first text of a reason.
#[tokio::test(start_paused = true)]
async fn another_text_is_another_event_and_the_same_text_is_a_series() {
    let (client, sent) = server();
    let events = Events::new(client);
    let rome = &Regarding::namespace(ROME);
    for note in [
        "stays Drained",
        "stays Drained",
        "invite it",
        "stays Drained",
    ] {
        events.warned(rome, "Notice", note).await;
    }
    events.warned(&turin(), "Notice", "stays Drained").await;
    let sent = sent.lock().unwrap();
    let shown: Vec<(Option<&str>, Option<u64>)> = sent
        .iter()
        .map(|event| (event["note"].as_str(), event["series"]["count"].as_u64()))
        .collect();
    assert_eq!(
        shown,
        [
            (Some("stays Drained"), None),
            (Some("stays Drained"), Some(2)),
            (Some("invite it"), None),
            (Some("stays Drained"), None),
            (Some("stays Drained"), None),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_one_peer_is_bounded_and_says_how_many_were_left_out() {
    let (client, sent) = server();
    let events = Events::new(client);
    let (rome, number) = (&Regarding::namespace(ROME), || sent.lock().unwrap().len());
    for slice in 0..100 {
        let note = format!("the slice {slice} is refused");
        events.warned(rome, "Refused", &note).await;
    }
    assert_eq!((number(), events.left_out()), (25, 75));
    // What a person has to do is told nevertheless, and so is what concerns others.
    events.warned(rome, "Notice", "approve it").await;
    events.warned(&turin(), "Refused", "no").await;
    assert_eq!((number(), events.left_out()), (27, 75));

    advance(Duration::from_secs(60)).await;
    events
        .warned(rome, "Refused", "the slice 100 is refused")
        .await;
    assert_eq!(number(), 29);
    let sent = sent.lock().unwrap();
    let last = sent.last().unwrap();
    assert_eq!(last["reason"], "EventsLeftOut");
    assert_eq!(last["metadata"]["namespace"], ROME);
    let note = last["note"].as_str().unwrap();
    assert!(
        note.starts_with("75 events with the reason Refused"),
        "{note}"
    );
}

/// Two objects of a peer are two events, although their reason is the same.
#[tokio::test(start_paused = true)]
async fn an_event_regards_its_object() {
    let (client, sent) = server();
    let events = Events::new(client);
    for id in [None, Some(&slice())] {
        let regarding = Regarding::of(ROME, id, None);
        events.warned(&regarding, "Notice", "the same text").await;
    }
    let sent = sent.lock().unwrap();
    let regarding: Vec<(&Value, &Value, &Value)> = sent
        .iter()
        .map(|event| {
            let object = &event["regarding"];
            (&object["kind"], &object["name"], &event["series"])
        })
        .collect();
    let [namespace, slice] = [("Namespace", ROME), ("ResourceSlice", "mypool")]
        .map(|(kind, name)| (json!(kind), json!(name)));
    assert_eq!(
        regarding,
        [
            (&namespace.0, &namespace.1, &Value::Null),
            (&slice.0, &slice.1, &Value::Null)
        ]
    );
    assert!(sent.iter().all(|it| it["metadata"]["namespace"] == ROME));
}

const ROME: &str = "liqo-tenant-rome";

fn turin() -> Regarding {
    Regarding::namespace("liqo-tenant-turin")
}

fn slice() -> ObjectRef {
    ObjectRef::new(Kind::ResourceSlice, ROME, "mypool")
}

fn cpu(amount: &str) -> BTreeMap<String, Quantity> {
    [("cpu".to_owned(), amount.into())].into()
}

#[test]
fn an_event_lists_what_liqo_has_granted() {
    let rome = "rome".parse().unwrap();
    let mut event = audit::Event::log_repaired(&rome, b"");
    event.object = Some(slice());
    event.decision = Decision::ResourcesAdopted {
        resources: cpu("4"),
        unconfirmed: cpu("16"),
    };
    assert_eq!(
        note_on(&event),
        "ResourcesAdopted: ResourceSlice liqo-tenant-rome/mypool, \
         {\"resources\":\"cpu=4\",\"unconfirmed\":\"cpu=16\"}"
    );
    event.decision = Decision::ResourcesGranted;
    assert_eq!(
        note_on(&event),
        "ResourcesGranted: ResourceSlice liqo-tenant-rome/mypool"
    );
}

#[test]
fn a_notice_names_the_command_of_its_remedy() {
    let peer = "rome".parse().unwrap();
    let condition = TenantCondition::Cordoned;
    let text = note(&Notice::ConditionHeld { condition }, &peer, Side::Provider);
    assert!(
        text.starts_with("To lift the condition: liqo-auth uncordon tenant rome. The tenant stays"),
        "{text}"
    );
    let text = note(&Notice::NonceAskedAfterEnd, &peer, Side::Provider);
    assert!(
        text.starts_with(
            "To invite the peer: liqo-auth create nonce --remote-cluster-id rome. A nonce was"
        ),
        "{text}"
    );
    let held = Notice::SliceCordonHeld { slice: slice() };
    let text = note(&held, &peer, Side::Provider);
    let command = "liqo-auth uncordon resourceslice mypool --remote-cluster-id rome. ";
    assert!(text.contains(command), "{text}");
    let notice = Notice::SignedNonceIsStale;
    assert_eq!(note(&notice, &peer, Side::Provider), notice.to_string());
}

#[test]
fn a_notice_names_the_command_that_grants_the_rest() {
    let notice = Notice::GrantUnconfirmed {
        slice: slice(),
        resources: cpu("16"),
    };
    let note = note(&notice, &"rome".parse().unwrap(), Side::Provider);
    let command = "liqo-auth approve resourceslice mypool --remote-cluster-id rome";
    assert!(note.contains(command) && note.contains("16"), "{note}");
}

/// What a person carries is printed at one side, and taken at the other.
#[test]
fn what_is_carried_by_hand_has_the_command_of_its_side() {
    let peer = "rome".parse().unwrap();
    let text = note(&Notice::RenewalNotCarried, &peer, Side::Provider);
    let command =
        "To print the Identity: liqo-auth generate identity --remote-cluster-id rome. The";
    assert!(text.starts_with(command), "{text}");
    let due = Notice::CertificateDue {
        identity: ObjectRef::new(Kind::Identity, ROME, "controlplane-rome"),
        until: "2026-11-20T13:00:00Z".parse().unwrap(),
    };
    let text = note(&due, &peer, Side::Consumer);
    let command = "To take the provider's Identity: liqo-auth apply -f FILE. The";
    assert!(text.starts_with(command), "{text}");
}

/// A nonce without a commitment, of a provider whose key is known.
#[test]
fn a_refusal_names_the_command_that_authenticates_again() {
    let (own, peer) = ("milan".parse().unwrap(), "rome".parse().unwrap());
    let expectation = NonceExpectation {
        provider: &peer,
        consumer: &own,
        now: "2026-11-20T13:00:00Z".parse().unwrap(),
        provider_key_known: true,
    };
    let nonce = Nonce::random(&Entropy::from_bytes([7; 32]));
    let refused = nonce_to_sign(
        nonce.as_str().as_bytes(),
        &expectation,
        &Policy::compatible(),
    );
    let text = refusal(&refused.unwrap_err(), &peer, Side::Consumer);
    let command = "The command is liqo-auth authenticate --remote-kubeconfig FILE.";
    assert!(text.ends_with(command), "{text}");
}

/// What the signer answers by itself is no order.
#[test]
fn an_order_is_for_an_administrator() {
    let peer = "rome".parse().unwrap();
    let told = |awaited: &Awaited| order(awaited, &peer, Side::Provider);
    let approve = "To approve the peer: liqo-auth approve tenant rome.";
    assert_eq!(told(&Awaited::Approval).as_deref(), Some(approve));
    let id = "1".repeat(64).parse().unwrap();
    assert_eq!(told(&Awaited::Credential(id)), None);
}
