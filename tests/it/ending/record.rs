//! What stays on record after the end of a peering, and for how long.

use liqo_auth::{
    error::{Fault, PeerIncompatible, Rule},
    machine::Notice,
    model::{Secret, TenantCondition, names},
    provider,
};

use super::{NAMESPACE, RECORD, SECOND, authenticated, deleted, end};
use crate::clusters::{
    exchange::{Exchange, Setup, ed25519, nonce_secret, now, secret_ref},
    notary::{DAY, Notary, YEAR},
    store,
};

/// While a certificate may be valid, the cluster ID belongs to its key.
/// Afterwards, an invitation makes it free for another key.
#[test]
fn another_key_is_refused_until_the_record_is_deleted_or_the_key_released() {
    for released in [false, true] {
        let notary = Notary::new(30 * YEAR);
        let mut exchange = authenticated(&notary);
        end(&mut exchange);
        let other = Setup {
            consumer_key: ed25519(60),
            ..Setup::new()
        };
        exchange.consumer = other.consumer();
        exchange.at_consumer = store::empty();
        exchange.sent.clear();
        exchange.invite();
        exchange.settle();
        let [error] = &exchange.refused[..] else {
            panic!("{:?}", exchange.refused);
        };
        assert!(matches!(
            error.fault(),
            Fault::PeerIncompatible(PeerIncompatible::KeyChanged { .. })
        ));
        assert_eq!(error.rule().map(Rule::number), Some(5));

        if released {
            let view = exchange.provider_view();
            let step = exchange.provider.release_key(&view).unwrap();
            exchange.carry_out(true, step);
        } else {
            // The nonce for the other key expires in the meantime.
            exchange.now = now() + 91 * DAY;
            assert_eq!(exchange.provider_phase().name(), "Ended");
            exchange.turn_of_provider();
            assert_eq!(exchange.provider_phase().name(), "Ended");
            exchange.turn_of_provider();
            assert_eq!(exchange.provider_phase().name(), "Uninvited");
            exchange.at_consumer = store::empty();
        }
        exchange.settle();
        assert_eq!(exchange.refused, []);
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    }
}

#[test]
fn the_same_key_is_accepted_after_a_new_invitation() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary);
    end(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Ended");
    let step = exchange.invite();
    assert!(step.notices.contains(&Notice::SignedNonceIsStale));
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    // The certificate on record is still valid. No other one is signed.
    assert_eq!(notary.signed(), 1);
}

/// The latest expiry of all certificates counts, even of those that were
/// replaced.
#[test]
fn the_record_stays_until_every_certificate_has_expired() {
    let notary = Notary::forgetful(30 * YEAR);
    let mut exchange = authenticated(&notary);
    let first = exchange.certificate().leaf().not_after;
    // A fast clock is set back. The next certificate expires earlier than the
    // one before it.
    let right = now() + DAY;
    exchange.now = right + 80 * DAY;
    exchange.turns_of_provider();
    let second = exchange.certificate().leaf().not_after;
    assert!(second > first);
    exchange.now = right;
    exchange.turns_of_provider();
    let third = exchange.certificate().leaf().not_after;
    assert!(third < second);
    end(&mut exchange);
    let provider::Phase::Ended { kept_until } = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert_eq!(kept_until, Some(second + SECOND));
}

/// A peer that was drained and deleted is drained when it comes back.
#[test]
fn a_condition_stays_on_record_after_the_certificate_expires() {
    let mut exchange = authenticated(&Notary::new(30 * YEAR));
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    exchange.turns_of_provider();
    end(&mut exchange);
    exchange.now = now() + 30 * YEAR;
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert_eq!(step.wait.wake_at, None);
    assert_eq!(exchange.provider_phase().name(), "Ended");
    let view = exchange.provider_view();
    let step = exchange.provider.lift_condition(&view).unwrap();
    exchange.carry_out(true, step);
    exchange.turn_of_provider();
    assert!(exchange.at_provider.get::<Secret>("liqo", RECORD).is_none());
}

/// A token that lifted a condition of one record does not lift a condition of
/// the peer's next record.
#[test]
fn a_token_of_a_deleted_record_lifts_no_condition() {
    let mut exchange = authenticated(&Notary::new(30 * YEAR));
    let drain = |exchange: &mut Exchange| {
        let drained = Some(TenantCondition::Drained);
        exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = drained);
        exchange.turns_of_provider();
    };
    drain(&mut exchange);
    let record: &Secret = exchange.at_provider.get("liqo", RECORD).unwrap();
    let token = record.get("liftCondition").unwrap().to_vec();
    let lift = |exchange: &mut Exchange| {
        let token = String::from_utf8(token.clone()).unwrap();
        exchange.edit_tenant(|tenant| {
            tenant.spec.tenant_condition = Some(TenantCondition::Active);
            let annotations = &mut tenant.metadata.annotations;
            annotations.insert(names::LIFT_CONDITION_ANNOTATION.into(), token);
        });
        exchange.turns_of_provider();
    };
    lift(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");

    end(&mut exchange);
    exchange.now = now() + 91 * DAY;
    exchange.turn_of_provider();
    assert!(exchange.at_provider.get::<Secret>("liqo", RECORD).is_none());
    exchange.at_consumer = store::empty();
    exchange.sent.clear();
    exchange.invite();
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");

    drain(&mut exchange);
    lift(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Drained");
}

/// The peer can write Secrets in its tenant namespace until its rights are
/// withdrawn. These Secrets cannot prevent the end.
#[test]
fn secrets_that_the_peer_writes_do_not_prevent_the_deletion_of_the_record() {
    for planted in [&b"junk"[..], &[b'A'; 88]] {
        let mut exchange = authenticated(&Notary::new(30 * YEAR));
        exchange
            .at_provider
            .insert(nonce_secret(NAMESPACE, planted));
        end(&mut exchange);
        assert_eq!(exchange.provider_phase().name(), "Ended");
        let nonce = exchange.at_provider.get::<Secret>(NAMESPACE, "liqo-nonce");
        assert!(nonce.is_none());
    }
    // Liqo asks for a nonce by an empty Secret. While the peering is on record,
    // that Secret invites nobody.
    let mut exchange = authenticated(&Notary::new(30 * YEAR));
    end(&mut exchange);
    exchange.now = now() + 91 * DAY;
    exchange.at_provider.insert(nonce_secret(NAMESPACE, b""));
    for left in [
        secret_ref(NAMESPACE, "liqo-nonce"),
        secret_ref("liqo", RECORD),
    ] {
        assert_eq!(exchange.provider_phase().name(), "Ended");
        assert_eq!(deleted(&exchange.turn_of_provider()), [left]);
    }
    exchange.at_provider.insert(nonce_secret(NAMESPACE, b""));
    assert_eq!(exchange.provider_phase().name(), "NeedsNonce");
}
