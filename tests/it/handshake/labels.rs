//! The labels by which Liqo finds an object come back, and an object that is being deleted does
//! not count.

use liqo_auth::{
    machine::{Awaited, Effect, Objects},
    model::{Identity, Kind, ObjectRef, names},
};

use crate::clusters::exchange::{Exchange, Setup, now, secret_ref};

/// Removes each label of Liqo from an object, one after the other. After a turn, it is back.
fn come_back(
    exchange: &mut Exchange,
    objects: fn(&mut Exchange) -> &mut Objects,
    turn: fn(&mut Exchange),
    id: &ObjectRef,
) -> usize {
    let before = objects(exchange).object(id).unwrap().clone();
    let labels = before.metadata().labels.clone();
    let of_liqo = labels.keys().filter(|label| label.starts_with("liqo.io/"));
    let removed = of_liqo.map(|label| {
        let mut object = before.clone();
        object.metadata_mut().labels.remove(label);
        objects(exchange).insert(object);
        turn(exchange);
        let after = objects(exchange).object(id).unwrap();
        assert_eq!(after.metadata().labels, labels, "{id}: {label}");
    });
    removed.count()
}

#[test]
fn a_nonce_gets_its_labels_back_while_it_waits_for_the_tenant() {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    let nonce = ObjectRef::new(Kind::Secret, AT_PROVIDER, "liqo-nonce");
    let turn = |exchange: &mut Exchange| drop(exchange.turn_of_provider());
    let labels = come_back(&mut exchange, |it| &mut it.at_provider, turn, &nonce);
    assert_eq!(labels, 2);

    exchange.deliver("nonce");
    exchange.turn_of_consumer();
    let signed = ObjectRef::new(Kind::Secret, AT_CONSUMER, "liqo-signed-nonce");
    assert_eq!(exchange.consumer_phase().name(), "AwaitsIdentity");
    let labels = come_back(
        &mut exchange,
        |it| &mut it.at_consumer,
        as_consumer,
        &signed,
    );
    assert_eq!(labels, 2);
}

#[test]
fn a_kubeconfig_and_a_renew_get_their_labels_back() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    for (kind, name, labels) in [
        (Kind::Secret, KUBECONFIG, 2),
        (Kind::Renew, "controlplane-cl-provider", 3),
    ] {
        let id = ObjectRef::new(kind, AT_CONSUMER, name);
        let removed = come_back(&mut exchange, |it| &mut it.at_consumer, as_consumer, &id);
        assert_eq!(removed, labels, "{id}");
        assert_eq!(exchange.consumer_phase().name(), "Authenticated");
        assert!(exchange.turn_of_consumer().is_settled());
    }
}

/// By it, Liqo's replicator knows where to write at the provider.
#[test]
fn a_kubeconfig_gets_its_annotation_back() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let id = ObjectRef::new(Kind::Secret, AT_CONSUMER, KUBECONFIG);
    let annotation = names::REMOTE_TENANT_NAMESPACE_ANNOTATION;
    let before = exchange.at_consumer.object(&id).unwrap().clone();
    let written = before.metadata().annotations.get(annotation);
    assert_eq!(written.map(String::as_str), Some(AT_PROVIDER));
    for present in [None, Some("liqo-tenant-cl-x")] {
        let mut object = before.clone();
        let annotations = &mut object.metadata_mut().annotations;
        annotations.remove(annotation);
        annotations.extend(present.map(|it| (annotation.to_owned(), it.to_owned())));
        exchange.at_consumer.insert(object);
        exchange.turn_of_consumer();
        let after = exchange.at_consumer.object(&id).unwrap();
        assert_eq!(after.metadata().annotations, before.metadata().annotations);
        assert!(exchange.turn_of_consumer().is_settled());
    }
}

#[test]
fn a_tenant_and_an_identity_get_their_labels_back() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let tenant = ObjectRef::new(Kind::Tenant, AT_PROVIDER, "cl-consumer");
    let turn = |exchange: &mut Exchange| drop(exchange.turn_of_provider());
    let removed = come_back(&mut exchange, |it| &mut it.at_provider, turn, &tenant);
    assert_eq!(removed, 1);
    let id = ObjectRef::new(Kind::Identity, AT_CONSUMER, "controlplane-cl-provider");
    let removed = come_back(&mut exchange, |it| &mut it.at_consumer, as_consumer, &id);
    assert_eq!(removed, 1);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert!(exchange.turn_of_consumer().is_settled());
    assert!(exchange.turn_of_provider().is_settled());
}

/// Without a record, it is refused, and nothing is written to it.
#[test]
fn an_object_that_is_not_on_record_gets_no_label() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let tenant = ObjectRef::new(Kind::Tenant, AT_PROVIDER, "cl-consumer");
    let identity = ObjectRef::new(Kind::Identity, AT_CONSUMER, "controlplane-cl-provider");
    let record = secret_ref("liqo", "liqo-auth-provider-cl-consumer");
    exchange.at_provider.remove(&record).unwrap();
    let record = secret_ref("liqo", "liqo-auth-consumer-cl-provider");
    exchange.at_consumer.remove(&record).unwrap();
    for (objects, id) in [
        (&mut exchange.at_provider, &tenant),
        (&mut exchange.at_consumer, &identity),
    ] {
        let mut object = objects.object(id).unwrap().clone();
        object.metadata_mut().labels.clear();
        objects.insert(object);
    }
    assert_eq!(exchange.phases(), ("Refused", "Refused"));
    exchange.turn_of_provider();
    exchange.turn_of_consumer();
    assert_eq!(label(&exchange.at_provider, &tenant), None);
    assert_eq!(label(&exchange.at_consumer, &identity), None);
}

/// Sets the label with the cluster ID to that of another cluster.
fn relabel(objects: &mut Objects, id: &ObjectRef) {
    let mut object = objects.object(id).unwrap().clone();
    let label = (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), "cl-x".to_owned());
    object.metadata_mut().labels.extend([label]);
    objects.insert(object);
}

fn label<'o>(objects: &'o Objects, id: &ObjectRef) -> Option<&'o String> {
    let labels = &objects.object(id).unwrap().metadata().labels;
    labels.get(names::REMOTE_CLUSTER_ID_LABEL)
}

/// A label that names another cluster is somebody else's, unless a record shows whose the
/// object is.
#[test]
fn a_foreign_label_is_put_right_by_the_record_alone() {
    for is_on_record in [true, false] {
        let mut exchange = Setup::new().exchange();
        exchange.settle();
        if !is_on_record {
            let record = secret_ref("liqo", "liqo-auth-provider-cl-consumer");
            exchange.at_provider.remove(&record).unwrap();
            let record = secret_ref("liqo", "liqo-auth-consumer-cl-provider");
            exchange.at_consumer.remove(&record).unwrap();
        }
        let tenant = ObjectRef::new(Kind::Tenant, AT_PROVIDER, "cl-consumer");
        let identity = ObjectRef::new(Kind::Identity, AT_CONSUMER, "controlplane-cl-provider");
        relabel(&mut exchange.at_provider, &tenant);
        relabel(&mut exchange.at_consumer, &identity);
        exchange.turn_of_provider();
        exchange.turn_of_consumer();
        let right = |id: &str| if is_on_record { id } else { "cl-x" }.to_owned();
        let found = label(&exchange.at_provider, &tenant);
        assert_eq!(found, Some(&right("cl-consumer")));
        let found = label(&exchange.at_consumer, &identity);
        assert_eq!(found, Some(&right("cl-provider")));
    }
    // The record shows one certificate only.
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let identity = ObjectRef::new(Kind::Identity, AT_CONSUMER, "controlplane-cl-provider");
    for spoil in [
        |it: &mut Identity| it.spec.auth_params.signed_crt = b"none".as_slice().into(),
        |it: &mut Identity| it.spec.cluster_id = "cl-x".to_owned(),
    ] {
        let mut stored = exchange.stored_identity();
        spoil(&mut stored);
        exchange.at_consumer.insert(stored.into());
        relabel(&mut exchange.at_consumer, &identity);
        exchange.turn_of_consumer();
        let found = label(&exchange.at_consumer, &identity);
        assert_eq!(found.unwrap(), "cl-x");
    }
}

/// What is to be deleted gets nothing any more.
#[test]
fn an_identity_gets_no_label_after_the_end() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let end = exchange.consumer.unauthenticate(&exchange.consumer_view());
    let record = end.unwrap().effects.remove(0);
    exchange.at_consumer.apply(&record).unwrap();
    let id = ObjectRef::new(Kind::Identity, AT_CONSUMER, "controlplane-cl-provider");
    let mut identity = exchange.at_consumer.object(&id).unwrap().clone();
    identity.metadata_mut().labels.clear();
    exchange.at_consumer.insert(identity);
    assert_eq!(exchange.consumer_phase().name(), "Ending");
    let step = exchange.turn_of_consumer();
    let is_patched = |effect: &Effect| matches!(effect, Effect::Patch { .. });
    assert!(!step.effects.iter().any(is_patched), "{:#?}", step.effects);
}

/// Programs that keep it by a finalizer go on to find it.
#[test]
fn a_kubeconfig_that_is_being_deleted_is_no_identity() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let id = ObjectRef::new(Kind::Secret, AT_CONSUMER, KUBECONFIG);
    let mut kubeconfig = exchange.at_consumer.object(&id).unwrap().clone();
    let metadata = kubeconfig.metadata_mut();
    metadata.deletion_timestamp = Some(now());
    metadata.finalizers = vec!["example.com/kept".to_owned()];
    exchange.at_consumer.insert(kubeconfig);

    assert_eq!(exchange.consumer_phase().name(), "NeedsKubeconfig");
    let step = exchange.turn_of_consumer();
    assert!(step.is_settled(), "{:?}", step.effects);
    assert_eq!(step.wait.awaiting, [Awaited::End(id.clone())]);

    exchange.at_consumer.remove(&id);
    exchange.settle();
    assert_eq!(exchange.consumer_phase().name(), "Authenticated");
}

fn as_consumer(exchange: &mut Exchange) {
    exchange.turn_of_consumer();
}

const AT_PROVIDER: &str = "liqo-tenant-cl-consumer";
const AT_CONSUMER: &str = "liqo-tenant-cl-provider";
const KUBECONFIG: &str = "kubeconfig-controlplane-cl-provider";
