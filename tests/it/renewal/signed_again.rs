//! An administrator has a certificate that is in force signed anew: after a change of the CA
//! that signs.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    crypto::SigningKey,
    error::PolicyRefusal,
    machine::{Holder, Step},
    model::{Bytes, TenantCondition},
    provider::{Phase, Renewal},
};

use crate::clusters::{
    exchange::{Exchange, Setup, ed25519, now},
    notary::{DAY, Mood, Notary, YEAR},
    pool::{Pool, consumer, replica},
};

#[test]
fn a_certificate_in_force_is_signed_again_and_once() {
    let (notary, mut exchange) = authenticated();
    let first = exchange.certificate();
    exchange.now = now() + DAY;
    // Without the wish, only what was denied is signed again.
    assert!(sign_again(&exchange, false).is_settled());
    let again = sign_again(&exchange, true);
    assert_eq!(again.effects.len(), 1);
    exchange.carry_out(true, again);
    // Until the new certificate is there, the first one stays in force.
    assert!(matches!(renewal_of(&exchange), Renewal::Due(_)));
    assert_eq!(exchange.certificate(), first);
    // A second call changes nothing.
    assert!(sign_again(&exchange, true).is_settled());

    settle(&mut exchange);
    let second = exchange.certificate();
    assert_eq!(second.leaf().not_after, now() + 91 * DAY);
    assert_eq!(second.leaf().spki_der, first.leaf().spki_der);
    let status = exchange.stored_tenant().status.auth_params.unwrap();
    assert_eq!(status.signed_crt.as_slice(), second.pem());
    assert_eq!(notary.signed(), 2);
    // From then on, everything is as usual.
    let due = now() + 61 * DAY;
    assert!(matches!(renewal_of(&exchange), Renewal::NotBefore(at) if at == due));
    exchange.now = due - Duration::from_secs(1);
    settle(&mut exchange);
    assert_eq!(notary.signed(), 2);
}

#[test]
fn the_first_certificate_counts_as_valid_until_it_ends() {
    let (notary, mut exchange) = authenticated();
    let first = exchange.certificate();
    exchange.now = now() + DAY;
    let again = sign_again(&exchange, true);
    exchange.carry_out(true, again);
    settle(&mut exchange);
    // The peering ends, and with it the new certificate. The name of the peer stays taken.
    let end = exchange.provider.end_for_good(&exchange.provider_view());
    exchange.carry_out(true, end.unwrap());
    for _ in 0..4 {
        exchange.turn_of_provider();
    }
    let Phase::Ended { kept_until } = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert!(kept_until.is_some_and(|until| until > first.leaf().not_after));
    assert_eq!(notary.signed(), 2);
}

#[test]
fn a_denial_is_repeated_like_that_of_a_renewal() {
    let (notary, mut exchange) = authenticated();
    exchange.now = now() + DAY;
    notary.mood(Mood::Denies("not on Saturdays"));
    let again = sign_again(&exchange, true);
    exchange.carry_out(true, again);
    let refused = |step: &Step| step.refused.first().map(|it| it.error.fault().clone());
    let denied = PolicyRefusal::CredentialDenied {
        reason: "not on Saturdays".into(),
    };
    assert_eq!(refused(&settle(&mut exchange)), Some(denied.into()));
    let asked = notary.asked();
    settle(&mut exchange);
    assert_eq!(notary.asked(), asked);
    // Another call asks at once.
    notary.mood(Mood::Signs);
    let again = sign_again(&exchange, true);
    exchange.carry_out(true, again);
    assert_eq!(refused(&settle(&mut exchange)), None);
    assert_eq!(notary.signed(), 2);
}

/// The signer may have another CA, which ends earlier.
#[test]
fn the_certificate_that_is_asked_for_may_end_earlier_once() {
    let (notary, mut exchange) = authenticated();
    let lifetime = |days: u32| {
        notary.provider(|builder| {
            builder.configure(|config| config.certificate_lifetime = days * DAY)
        })
    };
    exchange.provider = lifetime(30);
    exchange.now = now() + DAY;
    let again = sign_again(&exchange, true);
    exchange.carry_out(true, again);
    settle(&mut exchange);
    let second = exchange.certificate();
    assert_eq!(second.leaf().not_after, now() + 31 * DAY);
    assert!(matches!(renewal_of(&exchange), Renewal::NotBefore(at) if at == now() + 21 * DAY));
    // The consumer takes it.
    exchange.settle();
    let identity = exchange.stored_identity();
    assert_eq!(
        identity.spec.auth_params.signed_crt.as_slice(),
        second.pem()
    );
    // Its renewal ends later, as any other.
    exchange.provider = lifetime(5);
    exchange.now = now() + 22 * DAY;
    settle(&mut exchange);
    assert_eq!(exchange.certificate(), second);
    assert!(matches!(renewal_of(&exchange), Renewal::Denied { .. }));
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
}

#[test]
fn nothing_is_signed_again_for_a_peer_that_is_not_in_force() {
    // Drained
    let (notary, mut exchange) = authenticated();
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    settle(&mut exchange);
    is_not_signed(&notary, exchange, "Drained");
    // Refused
    let (notary, mut exchange) = authenticated();
    let other: Arc<dyn SigningKey> = ed25519(60);
    let key = other.public_key().to_pem();
    exchange.edit_tenant(|tenant| tenant.spec.public_key = Bytes::from(key.as_bytes()));
    is_not_signed(&notary, exchange, "Refused");
    // Ended
    let (notary, mut exchange) = authenticated();
    let end = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, end);
    for _ in 0..4 {
        exchange.turn_of_provider();
    }
    is_not_signed(&notary, exchange, "Ended");
    // Denied by the administrator
    let notary = Notary::new(30 * YEAR);
    let mut exchange = Setup::new().exchange();
    exchange.provider =
        notary.provider(|builder| builder.configure(|config| config.require_approval = true));
    exchange.settle();
    let view = exchange.provider_view();
    let denied = exchange.provider.deny(&view, "no", exchange.now).unwrap();
    exchange.carry_out(true, denied);
    let phase = exchange.provider_phase().name();
    assert_ne!(phase, "Authenticated");
    let before = notary.signed();
    assert!(sign_again(&exchange, true).is_settled());
    assert_eq!(notary.signed(), before);
}

fn is_not_signed(notary: &Notary, mut exchange: Exchange, phase: &str) {
    assert_eq!(exchange.provider_phase().name(), phase);
    exchange.now = now() + DAY;
    assert!(sign_again(&exchange, true).is_settled(), "{phase}");
    for _ in 0..4 {
        exchange.turn_of_provider();
    }
    assert_eq!(notary.signed(), 1, "{phase}");
}

#[test]
fn a_slice_is_signed_again_alone() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    let first = ["mypool", "other"].map(|slice| pool.certificate(slice));
    pool.wait(DAY);
    let sign_again = |pool: &mut Pool, slice: &str, even_in_force| {
        let holder = Holder::Slice(slice.to_owned());
        pool.administer(|provider, objects, env| {
            provider.sign_again(&objects.view(&consumer()), &holder, even_in_force, env.now)
        });
        pool.settle();
    };
    let before = pool.at_provider.clone();
    sign_again(&mut pool, "mypool", false);
    sign_again(&mut pool, "none", true);
    assert_eq!(pool.at_provider, before);
    sign_again(&mut pool, "mypool", true);
    assert_ne!(pool.certificate("mypool").pem(), first[0].pem());
    assert_eq!(pool.certificate("other").pem(), first[1].pem());
    let status = &pool.slice("mypool").unwrap().status;
    let given = status.auth_params.as_ref().unwrap().signed_crt.as_slice();
    assert_eq!(given, pool.certificate("mypool").pem());

    // A slice without a request has nothing to sign, and a drained peer gets nothing.
    let mut empty = replica("empty");
    empty.spec.csr = Bytes::default();
    pool.bring(empty).settle();
    let signed = pool.signer.different();
    sign_again(&mut pool, "empty", true);
    pool.administer(|provider, objects, _| {
        provider.set_condition(&objects.view(&consumer()), TenantCondition::Drained)
    });
    sign_again(&mut pool, "mypool", true);
    assert_eq!(pool.signer.different(), signed);
}

fn authenticated() -> (Arc<Notary>, Exchange) {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = 90 * DAY));
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    (notary, exchange)
}

fn sign_again(exchange: &Exchange, even_in_force: bool) -> Step {
    let (view, holder) = (exchange.provider_view(), Holder::ControlPlane);
    let step = exchange
        .provider
        .sign_again(&view, &holder, even_in_force, exchange.now);
    step.unwrap()
}

fn settle(exchange: &mut Exchange) -> Step {
    for _ in 0..8 {
        let step = exchange.turn_of_provider();
        if step.is_settled() {
            return step;
        }
    }
    panic!("it does not settle: {:?}", exchange.provider_phase());
}

fn renewal_of(exchange: &Exchange) -> Renewal {
    match exchange.provider_phase() {
        Phase::Authenticated(issued) => issued.renewal.clone(),
        phase => panic!("{phase:?}"),
    }
}
