//! How a consumer ends a peering.

use liqo_auth::{
    Machine,
    audit::Decision,
    crypto::{Entropy, Nonce},
    error::{ApiMisuse, Error, Fault, LocalFault, PeerIncompatible, PolicyRefusal, Precondition},
    machine::{Awaited, Effect, MessageBody},
    model::{Identity, Kind, Object, ObjectRef, Renew, Resource, ResourceSlice, Secret},
};
use serde_json::json;

use crate::consumer::home::{
    HOUR, Home, IDENTITY, NAMESPACE, RECORD, YEAR, crash_everywhere, object,
};

fn end(home: &Home) -> liqo_auth::Step {
    home.consumer.unauthenticate(&home.view()).unwrap()
}

#[test]
fn an_end_is_refused_while_slices_remain() {
    let mut home = Home::with_slice(YEAR);
    let error = home.consumer.unauthenticate(&home.view()).unwrap_err();
    assert_eq!(
        error.fault(),
        &Precondition::SlicesRemain {
            found: 1,
            one: format!("ResourceSlice {NAMESPACE}/mypool")
        }
        .into()
    );
    // A slice that is being deleted counts, and so does a slice in another
    // namespace.
    let mut slice = home.slice();
    slice.metadata.name = "other".to_owned();
    slice.metadata.namespace = "default".to_owned();
    home.objects.insert(slice.into());
    let error = home.consumer.unauthenticate(&home.view()).unwrap_err();
    assert_eq!(
        error.fault(),
        &Precondition::SlicesRemain {
            found: 2,
            one: "ResourceSlice default/other".to_owned()
        }
        .into()
    );
    // An unreadable slice may belong to the peering.
    let mut home = Home::with_slice(YEAR);
    let mut slice = Object::from(home.slice()).to_value();
    slice["status"]["conditions"] = 5.into();
    home.objects.insert(Object::from_value(slice));
    let error = home.consumer.unauthenticate(&home.view()).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::Local(LocalFault::Unreadable { .. })
    ));
    // A replica belongs to the peer and does not count, readable or not.
    let mut home = Home::with_slice(YEAR);
    let mut slice = home.slice();
    slice
        .metadata
        .labels
        .insert("liqo.io/replicated".to_owned(), "true".to_owned());
    let mut unreadable = Object::from(slice.clone()).to_value();
    home.objects.insert(slice.into());
    assert!(home.consumer.unauthenticate(&home.view()).is_ok());
    unreadable["spec"] = 5.into();
    home.objects.insert(Object::from_value(unreadable));
    assert!(home.consumer.unauthenticate(&home.view()).is_ok());
}

#[test]
fn an_end_deletes_all_objects_in_order_and_keeps_the_pins() {
    let mut home = Home::authenticated(YEAR);
    let endpoint = home.record()["endpoint"].clone();
    let csr = home.record()["csr"].clone();
    let step = end(&home);
    let removed: Vec<String> = step
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Delete { .. }))
        .map(|effect| effect.id().to_string())
        .collect();
    assert_eq!(
        removed,
        [
            format!("Secret {NAMESPACE}/liqo-signed-nonce"),
            format!("Renew {NAMESPACE}/{IDENTITY}"),
            format!("Secret {NAMESPACE}/kubeconfig-{IDENTITY}"),
            format!("Identity {NAMESPACE}/{IDENTITY}"),
        ]
    );
    assert_eq!(step.events[0].decision, Decision::Ended);
    home.carry_out(step);
    assert_eq!(
        home.names(),
        [
            format!("Namespace {NAMESPACE}"),
            format!("Secret liqo/{RECORD}")
        ]
    );
    assert_eq!(home.record()["endpoint"], endpoint);
    assert_eq!(home.record()["csr"], csr);
    assert_eq!(home.phase(), "AwaitsNonce");
    assert!(home.turn().is_settled());
    assert_eq!(home.sent, []);
    // A second end changes nothing.
    let again = end(&home);
    assert!(again.is_settled() && again.events.is_empty());
}

#[test]
fn an_end_without_a_peering_changes_nothing() {
    let home = Home::new();
    assert!(end(&home).is_settled());
}

#[test]
fn a_crash_anywhere_loses_nothing() {
    crash_everywhere(&Home::authenticated(YEAR), end);
}

#[test]
fn an_interrupted_end_continues_by_itself() {
    for effects in 1..5 {
        let mut home = Home::authenticated(YEAR);
        let mut step = end(&home);
        step.effects.truncate(effects);
        home.carry_out(step);
        assert_eq!(home.phase(), "Ending");
        let nonce = Nonce::random(&Entropy::from_bytes([8; 32]));
        let error = home.receive(MessageBody::Nonce(nonce)).unwrap_err();
        assert_eq!(error.fault(), &Precondition::StillEnding.into());
        home.settle();
        assert_eq!(home.names().len(), 2, "{effects}");
        assert_eq!(home.phase(), "AwaitsNonce");
    }
}

/// Its metadata tell which one it is, and nothing else of it is needed.
#[test]
fn an_unreadable_tenant_namespace_stops_neither_an_end_nor_the_deletion_of_a_slice() {
    let mut home = Home::with_slice(YEAR);
    let namespace = ObjectRef::new(Kind::Namespace, "", NAMESPACE);
    let mut spoiled = home.objects.object(&namespace).unwrap().to_value();
    spoiled["metadata"]["annotations"] = json!({ "padding": "A".repeat(300 * 1024) });
    home.objects.insert(Object::from_value(spoiled));
    let found = home.consumer.look(&home.view(), home.now).map(drop);
    assert_unreadable(found);
    let found = home.consumer.release_pins(&home.view()).map(drop);
    assert_unreadable(found);

    let deleted = home.consumer.delete_slice(&home.view(), "mypool");
    home.carry_out(deleted.unwrap());
    assert!(home.get::<ResourceSlice>("mypool").is_none());
    for effects in 1..5 {
        let mut home = home.fork();
        let mut step = end(&home);
        step.effects.truncate(effects);
        home.carry_out(step);
        // An end that was interrupted continues.
        assert_eq!(home.phase(), "Ending", "{effects}");
        home.turn();
        for id in [
            object(Kind::Secret, "liqo-signed-nonce"),
            object(Kind::Renew, IDENTITY),
            object(Kind::Secret, &format!("kubeconfig-{IDENTITY}")),
            object(Kind::Identity, IDENTITY),
        ] {
            assert!(home.objects.object(&id).is_none(), "{effects}: {id}");
        }
        assert!(home.objects.object(&namespace).is_some());
        let found = home.consumer.look(&home.view(), home.now).map(drop);
        assert_unreadable(found);
    }
}

fn assert_unreadable(found: Result<(), Error>) {
    let error = found.unwrap_err();
    let is_expected = matches!(error.fault(), Fault::Local(LocalFault::Unreadable { .. }));
    assert!(is_expected, "{error}");
}

#[test]
fn an_end_waits_for_the_finalizers_of_others() {
    let mut home = Home::authenticated(YEAR);
    let mut renew = home.renew().unwrap();
    renew.metadata.finalizers = vec!["crdreplicator.liqo.io/resource".to_owned()];
    home.objects.insert(renew.into());
    let mut identity = home.identity_of(IDENTITY);
    identity.metadata.finalizers = vec!["others/finalizer".to_owned()];
    home.objects.insert(identity.into());
    let step = end(&home);
    home.carry_out(step);
    assert_eq!(home.phase(), "Ending");
    let step = home.settle();
    assert_eq!(
        step.wait.awaiting,
        [Awaited::End(object(Kind::Identity, IDENTITY))]
    );
    for id in [
        object(Kind::Renew, IDENTITY),
        object(Kind::Identity, IDENTITY),
    ] {
        home.objects.remove(&id);
    }
    assert_eq!(home.phase(), "AwaitsNonce");
}

#[test]
fn after_an_end_only_a_new_nonce_authenticates_again() {
    let mut home = Home::authenticated(YEAR);
    let old = home.identity_of(IDENTITY);
    let step = end(&home);
    home.carry_out(step);
    let old = home.identity(&old.spec.auth_params);
    let error = home.receive(old).unwrap_err();
    assert_eq!(error.fault(), &PolicyRefusal::PeeringEnded.into());

    home.sign_nonce(8);
    assert_eq!(home.phase(), "AwaitsIdentity");
    let identity = home.identity(&home.issue(HOUR));
    home.receive(identity).unwrap();
    home.settle();
    assert_eq!(home.phase(), "Authenticated");
    assert!(home.get::<Renew>(IDENTITY).is_some());
    assert_eq!(home.record().get("ended"), None);
}

#[test]
fn after_an_end_the_pinned_endpoint_still_counts() {
    let mut home = Home::authenticated(YEAR);
    let step = end(&home);
    home.carry_out(step);
    home.sign_nonce(8);
    let mut moved = home.issue(HOUR);
    moved.api_server = "https://203.0.113.9:6443".to_owned();
    let moved = MessageBody::Identity(Box::new(home.identity(&moved)));
    let error = home.receive(moved.clone()).unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::EndpointChanged.into());
    let step = home.consumer.release_pins(&home.view()).unwrap();
    assert_eq!(step.events[0].decision, Decision::PinsReleased);
    home.carry_out(step);
    home.receive(moved).unwrap();
}

#[test]
fn the_cluster_itself_has_no_pins_to_release() {
    let home = Home::authenticated(YEAR);
    let view = home.objects.view(home.consumer.cluster_id());
    let error = home.consumer.release_pins(&view).unwrap_err();
    assert_eq!(error.fault(), &ApiMisuse::OwnCluster.into());
}

#[test]
fn objects_that_others_made_after_the_end_are_not_deleted() {
    let mut home = Home::authenticated(YEAR);
    let nonce: Secret = home.get("liqo-signed-nonce").unwrap();
    let step = end(&home);
    home.carry_out(step);
    // liqoctl authenticates again and makes objects of the same names.
    let mut nonce = nonce;
    nonce.metadata.uid = "00000000-0000-4000-8000-0000000000ff".to_owned();
    home.objects.insert(nonce.into());
    assert_eq!(home.phase(), "AwaitsIdentity");
    home.settle();
    let mut identity = home.identity(&home.issue(YEAR));
    identity.metadata.namespace = NAMESPACE.to_owned();
    home.objects.insert(identity.into());
    home.settle();
    assert_eq!(home.phase(), "Authenticated");
    assert!(home.get::<Identity>(IDENTITY).is_some());
    assert_eq!(Renew::KIND, home.renew().unwrap().id().kind);
}
