//! The labels by which Liqo finds an object come back, and an object that is being deleted does
//! not count.

use liqo_auth::{
    machine::{Awaited, Objects},
    model::{Kind, ObjectRef},
};

use crate::clusters::exchange::{Exchange, Setup, now};

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
