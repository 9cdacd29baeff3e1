//! A peering that begins again with its nonce, as `liqoctl unauthenticate` and `authenticate`
//! do.

use core::time::Duration;

use liqo_auth::{
    crypto::Nonce,
    error::{Error, Rule},
    machine::{MessageBody, Notice, View},
    model::{Bytes, Tenant, Timestamp},
    policy::Policy,
    provider::Provider,
};

use super::*;
use crate::clusters::{exchange::ed25519, store};

/// A peering that may begin again within this time, or while its nonce is valid.
fn peering(again: Duration) -> Exchange {
    peering_of(|config| config.peer_again = Some(again))
}

fn peering_of(configure: impl Fn(&mut provider::ProviderConfig)) -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = Notary::new(YEAR).provider(|builder| builder.configure(configure));
    exchange.settle();
    exchange
}

/// Puts a Tenant into the tenant namespace, as `kubectl` does.
fn write(exchange: &mut Exchange, mut tenant: Tenant) {
    tenant.metadata.namespace = NAMESPACE.into();
    exchange.at_provider.insert(tenant.into());
    exchange.turns_of_provider();
}

fn offered(exchange: &Exchange) -> Option<Vec<u8>> {
    let secret: Option<&Secret> = exchange.at_provider.get(NAMESPACE, names::NONCE_SECRET);
    Some(secret?.get(names::NONCE).unwrap_or_default().to_vec())
}

fn assert_is_refused(exchange: &mut Exchange) {
    let tenant = exchange.tenant();
    write(exchange, tenant);
    let provider::Phase::Refused(error) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert_eq!(error.rule().map(Rule::number), Some(4), "{error}");
}

#[test]
fn the_same_tenant_peers_again_with_its_nonce() {
    let mut exchange = peering(Duration::ZERO);
    let nonce = exchange.nonce();
    for _ in 0..3 {
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
        end(&mut exchange);
        assert_eq!(exchange.provider_phase().name(), "Ended");
        assert_eq!(offered(&exchange), Some(nonce.as_str().as_bytes().to_vec()));
        assert!(reconciled(&exchange).is_settled());
        let tenant = exchange.tenant();
        write(&mut exchange, tenant);
    }
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    let tenant = exchange.stored_tenant();
    assert!(tenant.status.auth_params.is_some());
    // While it runs, the nonce serves nobody else.
    assert_is_kept_out_by_another_key(&mut exchange);
}

fn certificate(exchange: &Exchange) -> Bytes {
    let given = exchange.stored_tenant().status.auth_params;
    given.unwrap().signed_crt
}

/// The cluster may have another client CA by then, which does not accept the earlier one.
#[test]
fn after_an_end_for_good_the_next_peering_has_a_certificate_of_its_own() {
    for for_good in [false, true] {
        let mut exchange = peering(Duration::ZERO);
        let first = certificate(&exchange);
        if for_good {
            order(&mut exchange, Provider::end_for_good);
        } else {
            order(&mut exchange, Provider::end);
        }
        exchange.turns_of_provider();
        assert_eq!(exchange.provider_phase().name(), "Ended");
        exchange.at_consumer = store::empty();
        exchange.now = exchange.now + Duration::from_secs(3600);
        exchange.invite();
        exchange.settle();
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
        assert_eq!(certificate(&exchange) != first, for_good);
    }
}

/// A controller may sign again between the record of the end and the deletion of the Tenant.
#[test]
fn what_is_signed_while_a_peering_ends_for_good_does_not_serve_the_next_one() {
    for is_seen_without_tenant in [true, false] {
        let mut exchange = peering(Duration::ZERO);
        let end = exchange.provider.end_for_good(&exchange.provider_view());
        let mut end = end.unwrap();
        end.effects.truncate(1);
        exchange.carry_out(true, end);
        exchange.turns_of_provider();
        let signed = certificate(&exchange);
        exchange.now = exchange.now + Duration::from_secs(3600);
        let tenant = exchange.stored_tenant().id();
        let invite = if is_seen_without_tenant {
            exchange.at_provider.remove(&tenant);
            exchange.turns_of_provider();
            Provider::invite
        } else {
            Provider::replace_nonce
        };
        let invited = invite(
            &exchange.provider,
            &exchange.provider_view(),
            exchange.env(),
        );
        exchange.carry_out(true, invited.unwrap());
        exchange.at_provider.remove(&tenant);
        let nonce = Nonce::parse(&offered(&exchange).unwrap(), &Policy::strict()).unwrap();
        let tenant = signed_by(&exchange, 1, nonce);
        write(&mut exchange, tenant);
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
        assert_ne!(certificate(&exchange), signed, "{is_seen_without_tenant}");
    }
}

/// `liqoctl` deletes the Tenant itself, and makes the nonce Secret empty if it is not there.
#[test]
fn an_empty_secret_gets_the_nonce_that_serves_again() {
    let mut exchange = peering(Duration::ZERO);
    let nonce = exchange.nonce();
    let tenant = exchange.stored_tenant().id();
    exchange.at_provider.delete(&tenant);
    exchange.turns_of_provider();
    exchange.notices.clear();
    exchange.at_provider.insert(nonce_secret(NAMESPACE, b""));
    exchange.turns_of_provider();
    assert_eq!(offered(&exchange), Some(nonce.as_str().as_bytes().to_vec()));
    assert!(!exchange.notices.contains(&Notice::NonceAskedAfterEnd));
    let tenant = exchange.tenant();
    write(&mut exchange, tenant);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
}

/// What somebody else has put in its place is deleted.
#[test]
fn another_nonce_does_not_stay() {
    let mut exchange = peering(Duration::ZERO);
    end(&mut exchange);
    exchange
        .at_provider
        .insert(nonce_secret(NAMESPACE, b"other"));
    exchange.turns_of_provider();
    assert_eq!(offered(&exchange), None);
    assert_is_kept_out_by_another_key(&mut exchange);
}

fn assert_is_kept_out_by_another_key(exchange: &mut Exchange) {
    let nonce = exchange.nonce();
    let other = signed_by(exchange, 7, nonce);
    let error = exchange.hand_over(other).unwrap_err();
    assert_eq!(error.rule().map(Rule::number), Some(5), "{error}");
}

#[test]
fn the_nonce_serves_for_its_life_or_for_the_time_that_is_set() {
    // A nonce is valid for a day.
    for (within, last) in [(Duration::ZERO, DAY), (DAY * 3, DAY * 3)] {
        for (at, serves) in [(last - SECOND, true), (last, false)] {
            let mut exchange = peering(within);
            end(&mut exchange);
            exchange.now = exchange.now + at;
            exchange.turns_of_provider();
            assert_eq!(offered(&exchange).is_some(), serves, "{within:?} {at:?}");
            assert_eq!(exchange.provider_phase().name(), "Ended");
            match serves {
                true => {
                    let tenant = exchange.tenant();
                    write(&mut exchange, tenant);
                    assert_eq!(exchange.provider_phase().name(), "Authenticated");
                }
                false => assert_is_refused(&mut exchange),
            }
        }
    }
}

/// The provider wakes when the nonce stops to serve, and the record goes when nothing of the
/// peering is valid any more.
#[test]
fn the_end_of_the_nonce_is_awaited() {
    let mut exchange = peering(DAY * 3);
    end(&mut exchange);
    let until = exchange.now + DAY * 3;
    assert_eq!(reconciled(&exchange).wait.wake_at, Some(until));
    exchange.now = exchange.now + YEAR * 2;
    for _ in 0..2 {
        let step = reconciled(&exchange);
        exchange.carry_out(true, step);
    }
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
}

#[test]
fn a_nonce_serves_once_unless_the_configuration_says_otherwise() {
    let mut exchange = peering_of(|_| {});
    end(&mut exchange);
    assert_eq!(offered(&exchange), None);
    assert_is_refused(&mut exchange);
}

#[test]
fn another_key_does_not_peer_with_a_nonce_that_serves_again() {
    let mut exchange = peering(Duration::ZERO);
    end(&mut exchange);
    assert_is_kept_out_by_another_key(&mut exchange);
}

/// A store that gives a new Tenant the UID of the one that is gone.
#[test]
fn the_tenant_that_is_gone_does_not_come_back() {
    let mut exchange = peering(Duration::ZERO);
    let uid = exchange.stored_tenant().metadata.uid;
    end(&mut exchange);
    let mut tenant = exchange.tenant();
    tenant.metadata.uid = uid;
    write(&mut exchange, tenant);
    assert_eq!(exchange.provider_phase().name(), "Refused");
}

type Change = fn(&mut Exchange);

/// After each of them, the nonce does not serve again, whatever follows.
#[test]
fn some_ends_are_for_good() {
    let changes: [(&str, Change); 7] = [
        ("end for good", |exchange| {
            order(exchange, |provider, view| provider.end_for_good(view));
        }),
        ("end, and then for good", |exchange| {
            end(exchange);
            order(exchange, |provider, view| provider.end_for_good(view));
        }),
        ("drained", |exchange| {
            condition(exchange, TenantCondition::Drained);
        }),
        ("drained by kubectl", |exchange| {
            exchange.edit_tenant(|tenant| {
                tenant.spec.tenant_condition = Some(TenantCondition::Drained);
            });
        }),
        ("drained, and lifted", |exchange| {
            condition(exchange, TenantCondition::Drained);
            condition(exchange, TenantCondition::Active);
        }),
        ("released", |exchange| {
            order(exchange, |provider, view| provider.release_key(view));
        }),
        ("ended, and released", |exchange| {
            end(exchange);
            order(exchange, |provider, view| provider.release_key(view));
        }),
    ];
    for (name, change) in changes {
        let mut exchange = peering(Duration::ZERO);
        change(&mut exchange);
        end(&mut exchange);
        assert_eq!(exchange.provider_phase().name(), "Ended", "{name}");
        assert_eq!(offered(&exchange), None, "{name}");
        exchange.at_provider.insert(nonce_secret(NAMESPACE, b""));
        exchange.turns_of_provider();
        assert_eq!(offered(&exchange), None, "{name}");
        let tenant = exchange.tenant();
        write(&mut exchange, tenant);
        assert_ne!(exchange.provider_phase().name(), "Authenticated", "{name}");
    }
}

/// A cordon takes nothing that a peer has, and it stays.
#[test]
fn a_cordoned_peer_peers_again_and_stays_cordoned() {
    let mut exchange = peering(Duration::ZERO);
    condition(&mut exchange, TenantCondition::Cordoned);
    end(&mut exchange);
    let tenant = exchange.tenant();
    write(&mut exchange, tenant);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    let view = exchange.provider_view();
    let status = exchange.provider.look(&view, exchange.now).unwrap();
    assert_eq!(status.condition, Some(TenantCondition::Cordoned));
}

#[test]
fn an_invitation_takes_the_place_of_the_nonce_that_serves_again() {
    let mut exchange = peering(Duration::ZERO);
    let before = exchange.nonce();
    end(&mut exchange);
    exchange.invite();
    let invited = exchange.nonce();
    assert_ne!(invited, before);
    assert_eq!(
        offered(&exchange),
        Some(invited.as_str().as_bytes().to_vec())
    );
    assert_is_refused(&mut exchange);
}

#[test]
fn each_peering_is_approved_anew() {
    let mut exchange = peering_of(|config| {
        config.peer_again = Some(Duration::ZERO);
        config.require_approval = true;
    });
    for _ in 0..2 {
        assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
        order_now(&mut exchange, |provider, view, now| {
            provider.approve(view, now)
        });
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
        end(&mut exchange);
        let tenant = exchange.tenant();
        write(&mut exchange, tenant);
    }
    // Without an approval, the nonce has served.
    end(&mut exchange);
    assert_eq!(offered(&exchange), None);
    let tenant = exchange.tenant();
    write(&mut exchange, tenant);
    assert_eq!(exchange.provider_phase().name(), "Refused");
}

#[test]
fn a_denied_peer_does_not_peer_again() {
    let mut exchange = peering_of(|config| {
        config.peer_again = Some(Duration::ZERO);
        config.require_approval = true;
    });
    order_now(&mut exchange, |provider, view, now| {
        provider.deny(view, "unknown", now)
    });
    end(&mut exchange);
    assert_eq!(offered(&exchange), None);
    assert_is_refused(&mut exchange);
}

fn order(exchange: &mut Exchange, call: impl Fn(&Provider, &View<'_>) -> Result<Step, Error>) {
    order_now(exchange, |provider, view, _| call(provider, view));
}

fn order_now(
    exchange: &mut Exchange,
    call: impl Fn(&Provider, &View<'_>, Timestamp) -> Result<Step, Error>,
) {
    let view = exchange.provider_view();
    let step = call(&exchange.provider, &view, exchange.now).unwrap();
    exchange.carry_out(true, step);
    exchange.turns_of_provider();
}

fn condition(exchange: &mut Exchange, condition: TenantCondition) {
    order(exchange, |provider, view| {
        provider.set_condition(view, condition)
    });
}

/// The Tenant that another key makes for this nonce.
fn signed_by(exchange: &Exchange, key: u8, nonce: Nonce) -> Tenant {
    let mut other = Setup {
        consumer_key: ed25519(key),
        ..Setup::new()
    }
    .exchange();
    other.at_consumer = store::empty();
    other.now = exchange.now;
    other.hand_over(MessageBody::Nonce(nonce)).unwrap();
    other.tenant()
}
