//! The nonce on offer stays on offer until a Tenant uses it, whatever the peer's
//! present Tenant says and wherever the provider stopped.

use core::time::Duration;

use liqo_auth::{
    Machine,
    crypto::{Nonce, RecordKey},
    machine::{Awaited, Message, MessageBody, Notice, Step},
    model::{Object, Secret},
    policy::Policy,
    provider::{Phase, WhyNonce},
};
use serde_json::json;

use crate::clusters::{
    exchange::{Exchange, RECORD_KEY, Setup, nonce_secret, secret_ref},
    notary::DAY,
};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";
const RECORD: &str = "liqo-auth-provider-cl-consumer";

#[test]
fn a_refused_tenant_does_not_keep_the_next_nonce_from_being_sent() {
    let mut exchange = with_a_tenant_that_nobody_looked_at();
    let step = replaced_nonce(&exchange);
    apply(&mut exchange, &step, step.effects.len());
    assert_eq!(refusal(&exchange), "nonce-signature-wrong");

    // The message with the next nonce was lost: a look sends it again.
    let nonce = stored_nonce(&exchange).unwrap();
    let step = exchange.turn_of_provider();
    assert_eq!(step.effects, []);
    assert_eq!(sent_nonces(&step), [nonce]);
    assert!(!step.notices.contains(&Notice::SignedNonceIsStale));
    assert_eq!(step.wait.awaiting, [Awaited::Tenant]);
    assert_eq!(step.wait.wake_at, Some(exchange.now + DAY));
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn a_nonce_that_was_replaced_by_half_is_replaced_by_the_next_look() {
    for is_authenticated in [false, true] {
        let mut exchange = with_a_tenant_that_nobody_looked_at();
        if is_authenticated {
            exchange.settle();
        }
        let before = stored_nonce(&exchange).unwrap();
        // The record names the next nonce. The Secret still holds the earlier one.
        let step = replaced_nonce(&exchange);
        apply(&mut exchange, &step, 1);
        assert_eq!(stored_nonce(&exchange).unwrap(), before);

        let next = exchange.turn_of_provider();
        assert_eq!(sent_nonces(&next), sent_nonces(&step));
        assert_eq!(stored_nonce(&exchange), sent_nonces(&step).pop());
        assert_eq!(exchange.turn_of_provider().effects, []);
        exchange.settle();
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
        assert_eq!(exchange.refused, []);
    }
}

/// The provider was away while the nonce expired.
#[test]
fn a_nonce_that_expired_beside_the_first_tenant_is_made_anew() {
    let mut exchange = with_a_tenant_that_nobody_looked_at();
    let expired = stored_nonce(&exchange).unwrap();
    exchange.now = exchange.now + DAY;
    assert_eq!(refusal(&exchange), "nonce-expired");
    exchange.turn_of_provider();
    assert_ne!(stored_nonce(&exchange), Some(expired));
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));

    // The same, with a crash inside the look that makes the next nonce, and another
    // day without a look.
    let mut exchange = with_a_tenant_that_nobody_looked_at();
    exchange.now = exchange.now + DAY;
    let (view, env) = (exchange.provider_view(), exchange.env());
    let step = exchange.provider.reconcile(&view, env).unwrap();
    apply(&mut exchange, &step, 1);
    exchange.now = exchange.now + DAY;
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

/// A peer writes Secrets in its tenant namespace. It gets the same nonce back, until
/// the same time: it prolongs no offer, and it fills no audit log.
#[test]
fn a_nonce_that_the_peer_deletes_or_overwrites_comes_back_unchanged() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let step = replaced_nonce(&exchange);
    apply(&mut exchange, &step, step.effects.len());
    let (nonce, record) = (stored_nonce(&exchange), record(&exchange));
    for planted in [None, Some(&b"not a nonce"[..]), Some(b"")] {
        exchange.now = exchange.now + Duration::from_secs(60);
        match planted {
            None => drop(
                exchange
                    .at_provider
                    .remove(&secret_ref(NAMESPACE, "liqo-nonce")),
            ),
            Some(text) => exchange.at_provider.insert(nonce_secret(NAMESPACE, text)),
        }
        let step = exchange.turn_of_provider();
        assert_eq!(stored_nonce(&exchange), nonce);
        assert_eq!(self::record(&exchange), record);
        assert_eq!(step.events, []);
    }
    // The offer ends when it would have ended anyway.
    exchange.now = exchange.now + DAY;
    exchange
        .at_provider
        .remove(&secret_ref(NAMESPACE, "liqo-nonce"));
    assert_eq!(exchange.turn_of_provider().effects, []);
    assert_eq!(exchange.phases().0, "Authenticated");
}

/// It comes back as it was, so a signature over it stays usable.
#[test]
fn a_deleted_secret_with_the_first_nonce_is_made_again() {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    let nonce = stored_nonce(&exchange);
    let secret = secret_ref(NAMESPACE, "liqo-nonce");
    exchange.at_provider.remove(&secret).unwrap();
    let phase = exchange.provider_phase();
    assert!(
        matches!(phase, Phase::NeedsNonce(WhyNonce::Absent)),
        "{phase:?}"
    );
    let step = exchange.turn_of_provider();
    assert!(!step.notices.contains(&Notice::SignedNonceIsStale));
    assert_eq!(stored_nonce(&exchange), nonce);
}

#[test]
fn a_nonce_secret_that_cannot_be_read_is_not_written() {
    let mut exchange = with_a_tenant_that_nobody_looked_at();
    let unreadable = Object::from_value(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "liqo-nonce", "namespace": NAMESPACE },
        "data": 5,
    }));
    exchange.at_provider.insert(unreadable);
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert_eq!(sent_nonces(&step), []);
    let refused: Vec<_> = step.refused.iter().map(|it| it.error.code()).collect();
    assert_eq!(refused, ["object-unreadable"]);
}

/// The policy has become stricter since the invitation.
#[test]
fn a_peer_that_may_not_authenticate_any_more_gets_no_nonce() {
    let mut exchange = with_a_tenant_that_nobody_looked_at();
    let mut setup = Setup::new();
    setup.policy.limits.cluster_id = 5;
    exchange.provider = setup.provider(RecordKey::new(RECORD_KEY).unwrap());
    assert_eq!(refusal(&exchange), "cluster-id-too-long");
    assert_eq!(sent_nonces(&exchange.turn_of_provider()), []);
}

/// The offer ends with its use and with the peering.
#[test]
fn a_used_nonce_is_not_sent_again() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    assert_eq!(sent_nonces(&exchange.turn_of_provider()), []);
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    exchange.turns_of_provider();
    assert_eq!(sent_nonces(&exchange.turn_of_provider()), []);
    assert_eq!(stored_nonce(&exchange), None);
}

/// The Tenant has come and is stored. The provider has not looked since.
fn with_a_tenant_that_nobody_looked_at() -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    exchange.deliver("nonce");
    let tenant = exchange.tenant();
    exchange.hand_over(tenant).unwrap();
    exchange
}

fn replaced_nonce(exchange: &Exchange) -> Step {
    let (view, env) = (exchange.provider_view(), exchange.env());
    exchange.provider.replace_nonce(&view, env).unwrap()
}

/// Applies the first effects of a step at the provider. Its messages are lost.
fn apply(exchange: &mut Exchange, step: &Step, effects: usize) {
    for effect in &step.effects[..effects] {
        exchange.at_provider.apply(effect).unwrap();
    }
}

fn refusal(exchange: &Exchange) -> &'static str {
    match exchange.provider_phase() {
        Phase::Refused(error) => error.code(),
        other => panic!("{other:?}"),
    }
}

fn sent_nonces(step: &Step) -> Vec<Nonce> {
    let nonce = |message: &Message| match &message.body {
        MessageBody::Nonce(nonce) => Some(nonce.clone()),
        _ => None,
    };
    step.outbox.iter().filter_map(nonce).collect()
}

fn stored_nonce(exchange: &Exchange) -> Option<Nonce> {
    let secret: &Secret = exchange.at_provider.get(NAMESPACE, "liqo-nonce")?;
    Nonce::parse(secret.get("nonce")?, &Policy::strict()).ok()
}

fn record(exchange: &Exchange) -> Secret {
    let record: Option<&Secret> = exchange.at_provider.get("liqo", RECORD);
    record.unwrap().clone()
}
