//! A Tenant that has the UID, the key and the request of the recorded proof. Only the
//! signature shows whether its key has signed the proof's nonce.

use liqo_auth::{
    crypto::{Entropy, Nonce},
    error::Fault,
    model::{Bytes, Kind, Resource, Tenant},
    provider::Phase,
};

use crate::clusters::exchange::{Exchange, Setup};

#[test]
fn a_tenant_with_a_signature_over_another_nonce_is_refused() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let other = Nonce::random(&Entropy::from_bytes([99; 32]));
    let signature = signature_over(&other);
    exchange.edit_tenant(|tenant| tenant.spec.signature = signature);
    assert_eq!(refusal(&exchange), "nonce-signature-wrong");
    let (before, rights) = (exchange.stored_tenant().status, bindings(&exchange));
    exchange.turns_of_provider();
    assert_eq!(exchange.stored_tenant().status, before);
    assert_eq!(
        (rights, bindings(&exchange)),
        (2, 2),
        "nothing is withdrawn"
    );

    // The right signature proves the key again.
    let signature = signature_over(&exchange.nonce());
    exchange.edit_tenant(|tenant| tenant.spec.signature = signature);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

/// After the end of its peering, not even the Tenant of the proof returns.
#[test]
fn a_deleted_tenant_that_returns_is_refused() {
    for is_signed_anew in [true, false] {
        let mut exchange = Setup::new().exchange();
        exchange.settle();
        let mut tenant = exchange.stored_tenant();
        exchange.at_provider.delete(&tenant.id());
        exchange.turns_of_provider();
        if is_signed_anew {
            let other = Nonce::random(&Entropy::from_bytes([99; 32]));
            tenant.spec.signature = signature_over(&other);
        }
        exchange.at_provider.insert(tenant.into());
        assert_eq!(refusal(&exchange), "nonce-missing", "{is_signed_anew}");
    }
}

/// As above, if the provider has not looked in between.
#[test]
fn a_deletion_that_the_provider_has_not_seen_does_not_renew_a_used_nonce() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut tenant: Tenant = exchange.stored_tenant();
    let used = exchange.nonce();
    let step = exchange
        .provider
        .replace_nonce(&exchange.provider_view(), exchange.env())
        .unwrap();
    exchange.carry_out(true, step);
    exchange.settle();
    // The proof is by the second nonce. The first one is used.
    exchange.at_provider.remove(&tenant.id()).unwrap();
    tenant.spec.signature = signature_over(&used);
    exchange.at_provider.insert(tenant.into());
    assert_eq!(refusal(&exchange), "nonce-signature-wrong");
}

/// The signature of the consumer's key.
fn signature_over(nonce: &Nonce) -> Bytes {
    let mut elsewhere = Setup::new().exchange();
    let step = elsewhere.hand_over(nonce.clone()).unwrap();
    assert_eq!(step.outbox.len(), 1);
    elsewhere.tenant().spec.signature
}

fn refusal(exchange: &Exchange) -> &'static str {
    match exchange.provider_phase() {
        Phase::Refused(error) => {
            assert!(!matches!(error.fault(), Fault::Local(_)), "{error}");
            error.code()
        }
        phase => panic!("{phase:?}"),
    }
}

fn bindings(exchange: &Exchange) -> usize {
    let objects = exchange.at_provider.iter();
    let is_binding = |kind: Kind| matches!(kind, Kind::RoleBinding | Kind::ClusterRoleBinding);
    objects
        .filter(|object| is_binding(object.id().kind))
        .count()
}
