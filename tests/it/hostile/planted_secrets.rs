//! A Secret that a peer plants as `immutable` is no obstacle. Nobody can change
//! it, so that it is deleted and made anew.

use liqo_auth::{
    machine::Effect,
    model::{Object, names},
};

use crate::clusters::{
    exchange::Setup,
    pool::{NAMESPACE, Pool, consumer, replica},
};

/// A Secret of this name, as an API server gives it.
fn planted(namespace: &str, name: &str) -> Object {
    Object::from_value(serde_json::json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": "planted",
            "labels": { "liqo.io/remote-cluster-id": "cl-consumer" },
        },
        "data": { "certificate": "bm9uZQ==" },
        "immutable": true,
    }))
}

fn is_immutable(object: &Object) -> bool {
    object.to_value()["immutable"] == true
}

#[test]
fn an_immutable_secret_in_the_place_of_a_certificate_is_made_anew() {
    let of_slice = format!("{}-mypool", names::ISSUED_CERTIFICATE_SECRET);
    for name in [names::ISSUED_CERTIFICATE_SECRET, &of_slice] {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        let honest = pool.secret(NAMESPACE, name).unwrap().data.clone();
        pool.at_provider.insert(planted(NAMESPACE, name));
        // An API server refuses every other change.
        let step = pool.look(usize::MAX);
        let effects = step.effects.iter();
        let on_it: Vec<&Effect> = effects.filter(|it| it.id().name == name).collect();
        assert!(
            matches!(on_it[..], [Effect::Delete { .. }]),
            "{name}: {on_it:?}"
        );
        pool.settle();
        let made = pool.secret(NAMESPACE, name).unwrap();
        assert_eq!(made.data, honest, "{name}");
        assert!(!is_immutable(&made.clone().into()));
    }
}

/// Liqo's objects hold the certificate with the request as the peer wrote it.
#[test]
fn a_changed_request_or_certificate_is_written_again() {
    let of_slice = format!("{}-mypool", names::ISSUED_CERTIFICATE_SECRET);
    for name in [names::ISSUED_CERTIFICATE_SECRET, &of_slice] {
        for field in [names::CSR, names::CERTIFICATE] {
            let mut pool = Pool::new();
            pool.bring(replica("mypool")).settle();
            let honest = pool.secret(NAMESPACE, name).unwrap().clone();
            let mut changed = honest.clone();
            let other = b"other".as_slice().into();
            changed.data.insert(field.to_owned(), other).unwrap();
            pool.at_provider.insert(changed.into());
            pool.settle();
            let written = pool.secret(NAMESPACE, name).unwrap();
            assert_eq!(written.data, honest.data, "{name} {field}");
        }
    }
}

#[test]
fn an_immutable_nonce_is_made_anew_and_told_once() {
    let mut pool = Pool::new();
    pool.at_provider
        .insert(planted(NAMESPACE, names::NONCE_SECRET));
    pool.events.clear();
    pool.administer(|provider, objects, env| {
        provider.replace_nonce(&objects.view(&consumer()), env)
    });
    assert!(pool.secret(NAMESPACE, names::NONCE_SECRET).is_none());
    assert_eq!(pool.events, []);
    pool.administer(|provider, objects, env| {
        provider.replace_nonce(&objects.view(&consumer()), env)
    });
    let made = pool.secret(NAMESPACE, names::NONCE_SECRET).unwrap();
    assert!(!is_immutable(&made.clone().into()));
    assert_eq!(pool.events.len(), 1);
}

/// A provider can write in its tenant namespace at a consumer.
#[test]
fn an_immutable_secret_in_the_place_of_a_kubeconfig_is_made_anew() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let honest = exchange.kubeconfig();
    let namespace = exchange.stored_identity().metadata.namespace;
    let name = "kubeconfig-controlplane-cl-provider";
    exchange.at_consumer.insert(planted(&namespace, name));
    let step = exchange.turn_of_consumer();
    let effects = step.effects.iter();
    let on_it: Vec<&Effect> = effects.filter(|it| it.id().name == name).collect();
    assert!(matches!(on_it[..], [Effect::Delete { .. }]), "{on_it:?}");
    exchange.settle();
    assert_eq!(exchange.kubeconfig(), honest);
    assert!(!exchange.at_consumer.iter().any(is_immutable));
}
