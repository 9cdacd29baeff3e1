//! CertificateSigningRequests that nobody answers any more.

use liqo_auth::{
    Machine,
    assurance::succession::KEY_SUCCESSION_ANNOTATION,
    machine::View,
    model::{Bytes, CertificateSigningRequest, Kind, TenantCondition, names},
};

use super::kubernetes_signer::{
    condition, edit_request, only_request, requested, requests, sign_approved,
};
use crate::clusters::{
    exchange::{Setup, ed25519},
    succession,
};

/// Kubernetes keeps an answered request for an hour. A request of somebody else is
/// never deleted.
#[test]
fn a_drain_deletes_no_other_request() {
    type Edit = fn(&mut CertificateSigningRequest);
    let edits: [(&str, Edit); 3] = [
        ("issued", |request| {
            request.status.certificate = Bytes::from(&b"a certificate"[..]);
        }),
        ("denied", |request| {
            request.status.conditions = vec![condition("Denied", "no such peer")];
        }),
        ("of another peer", |request| {
            let label = names::REMOTE_CLUSTER_ID_LABEL.to_owned();
            request.metadata.labels.insert(label, "cl-other".to_owned());
        }),
    ];
    for (what, edit) in edits {
        let mut exchange = requested();
        edit_request(&mut exchange, edit);
        let before = requests(&exchange.at_provider);
        let drain = exchange
            .provider
            .set_condition(&exchange.provider_view(), TenantCondition::Drained)
            .unwrap();
        exchange.carry_out(true, drain);
        // A caller may pass all objects, also those of other peers.
        let view = View::of(exchange.consumer.cluster_id(), exchange.at_provider.iter());
        let step = exchange.provider.reconcile(&view, exchange.env()).unwrap();
        let mut kinds = step.effects.iter().map(|effect| effect.id().kind);
        let on_a_request = kinds.any(|kind| kind == Kind::CertificateSigningRequest);
        assert!(!on_a_request, "{what}");
        exchange.turns_of_provider();
        assert_eq!(requests(&exchange.at_provider), before, "{what}");
    }
}

#[test]
fn a_request_that_is_being_deleted_is_not_approved() {
    let mut exchange = requested();
    let now = exchange.now;
    edit_request(&mut exchange, |request| {
        request.metadata.deletion_timestamp = Some(now);
    });
    assert!(exchange.turn_of_provider().is_settled());
}

/// The peer has another key, and with it another request.
#[test]
fn a_changed_request_takes_the_place_of_the_unanswered_one() {
    let mut exchange = requested();
    let first = only_request(&exchange.at_provider);
    let (view, env) = (exchange.provider_view(), exchange.env());
    let step = exchange.provider.replace_nonce(&view, env).unwrap();
    exchange.carry_out(true, step);
    let (nonce, old, new) = (exchange.nonce(), ed25519(1), ed25519(60));
    let mut successor = Setup {
        consumer_key: new.clone(),
        ..Setup::new()
    }
    .exchange();
    successor.hand_over(nonce.clone()).unwrap();
    let mut tenant = successor.tenant();
    let clusters = ("cl-provider", "cl-consumer");
    let annotation = succession::annotation(&nonce, clusters, &old, &new);
    let name = KEY_SUCCESSION_ANNOTATION.to_owned();
    tenant.metadata.annotations.insert(name, annotation);
    exchange.hand_over(tenant).unwrap();
    exchange.turn_of_provider();
    exchange.turn_of_provider();
    let second = only_request(&exchange.at_provider);
    assert_ne!(second.metadata.name, first.metadata.name);
    exchange.turn_of_provider();
    assert_eq!(sign_approved(&mut exchange), 1);
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    let leaf = exchange.certificate().leaf().spki_der.clone();
    assert_eq!(leaf, new.public_key().spki_der());
}
