//! A nonce that comes late, after the one that the provider answers: the answer
//! still counts.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Machine,
    consumer::{ConsumerConfig, Phase},
    crypto::{Entropy, Nonce, OneKey},
    error::Rule,
    machine::{Message, MessageBody},
    model::{Object, ObjectRef, Secret, names},
};

use crate::clusters::exchange::{Exchange, Setup, ed25519, nonce_secret, secret_ref};

/// Nonces are carried by files, and an old file may be given again.
#[test]
fn an_answer_counts_after_an_earlier_nonce_came_again() {
    let (mut exchange, earlier) = with_a_replaced_nonce();
    let tenant = exchange.tenant();
    exchange.hand_over(tenant).unwrap();
    exchange.turn_of_provider();
    exchange.turn_of_provider();
    exchange.turn_of_provider();
    exchange.turn_of_provider();

    exchange.hand_over(earlier).unwrap();
    exchange.deliver("Identity");
    exchange.turn_of_consumer();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_same_transcript(&exchange);
}

#[test]
fn each_answer_counts_while_nonces_are_replaced_and_come_again() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut seen = vec![exchange.nonce()];
    for _ in 0..3 {
        replace_nonce(&mut exchange);
        exchange.deliver("nonce");
        exchange.deliver("Tenant");
        exchange.turn_of_provider();
        exchange.turn_of_provider();
        // All earlier nonces come late, each of them before the Identity.
        for earlier in &seen {
            exchange.hand_over(earlier.clone()).unwrap();
        }
        seen.push(exchange.nonce());
        exchange.refused.clear();
        exchange.deliver("Identity");
        exchange.turn_of_consumer();
        assert_eq!(exchange.refused, []);
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
        assert_same_transcript(&exchange);
    }
}

/// The record is written before the Identity: a crash leaves the one without the
/// other.
#[test]
fn a_crash_while_an_earlier_answer_is_taken_refuses_nothing() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let (first, answer_to_first) = (exchange.nonce(), exchange.identity());
    replace_nonce(&mut exchange);
    exchange.settle();

    exchange.hand_over(first.clone()).unwrap();
    let late = Message::new(
        exchange.provider.cluster_id(),
        exchange.consumer.cluster_id(),
        answer_to_first,
    );
    let step = exchange
        .consumer
        .receive(&exchange.consumer_view(), late, exchange.env())
        .unwrap();
    assert_eq!(step.effects.len(), 2, "{:#?}", step.effects);
    exchange.at_consumer.apply(&step.effects[0]).unwrap();
    assert_eq!(exchange.phases().1, "Authenticated");

    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_same_transcript(&exchange);
}

/// Somebody else's nonce takes the place of the provider's: its maker could answer
/// as well, and so nobody's answer to the earlier nonce counts.
#[test]
fn an_answer_to_an_earlier_nonce_of_another_key_is_refused() {
    let (mut exchange, _) = with_a_replaced_nonce();
    exchange.deliver("Tenant");
    for _ in 0..4 {
        exchange.turn_of_provider();
    }
    let other = Setup {
        provider_key: Some(ed25519(50)),
        ..Setup::new()
    };
    let mut other = other.exchange();
    other.invite();
    exchange.hand_over(other.nonce()).unwrap();
    exchange.deliver("Identity");
    let codes: Vec<_> = exchange.refused.iter().map(|error| error.code()).collect();
    assert_eq!(codes, ["commitment-refused"]);
}

/// After an end, no earlier nonce counts any more.
#[test]
fn an_end_forgets_the_nonces_that_were_signed() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    replace_nonce(&mut exchange);
    exchange.settle();
    assert!(record(&exchange).contains("signedBefore"));
    let step = exchange
        .consumer
        .unauthenticate(&exchange.consumer_view())
        .unwrap();
    exchange.carry_out(false, step);
    assert!(!record(&exchange).contains("signedBefore"));
}

/// Old messages come again after the end. The provider has answered a later nonce since,
/// so that both sides would agree on different things.
#[test]
fn a_nonce_that_was_signed_before_the_end_is_not_signed_again() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut signed = vec![(exchange.nonce(), exchange.identity())];
    replace_nonce(&mut exchange);
    exchange.settle();
    signed.push((exchange.nonce(), exchange.identity()));
    assert_ne!(signed[0], signed[1]);
    // The end is said twice, and nothing is forgotten.
    for _ in 0..2 {
        let view = exchange.consumer_view();
        let step = exchange.consumer.unauthenticate(&view).unwrap();
        exchange.carry_out(false, step);
    }
    for (nonce, identity) in &signed {
        let error = exchange.hand_over(nonce.clone()).unwrap_err();
        assert_eq!(error.code(), "nonce-used");
        assert_eq!(error.rule().map(Rule::number), Some(4));
        let error = exchange.hand_over(identity.clone()).unwrap_err();
        assert_eq!(error.code(), "peering-ended");
        assert_eq!(exchange.phases().1, "AwaitsNonce");
    }
    // It is refused as well where it waits for a signature.
    let mut waits = nonce_secret("liqo-tenant-cl-provider", signed[0].0.as_str().as_bytes());
    if let Object::Secret(secret) = &mut waits {
        secret.metadata.name = names::SIGNED_NONCE_SECRET.to_owned();
    }
    exchange.at_consumer.insert(waits);
    let Phase::Refused(error) = exchange.consumer_phase() else {
        panic!("{:?}", exchange.consumer_phase());
    };
    assert_eq!(error.code(), "nonce-used");

    // The next nonce is another one.
    replace_nonce(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_same_transcript(&exchange);
}

/// Unmodified Liqo keeps its nonce after an end, and hands it out again.
#[test]
fn a_nonce_of_liqo_is_signed_again_after_an_end() {
    let mut exchange = Setup::new().exchange();
    let nonce = Nonce::random(&Entropy::from_bytes([3; 32]));
    exchange.hand_over(nonce.clone()).unwrap();
    let view = exchange.consumer_view();
    let step = exchange.consumer.unauthenticate(&view).unwrap();
    exchange.carry_out(false, step);
    exchange.hand_over(nonce).unwrap();
    assert_eq!(exchange.phases().1, "AwaitsIdentity");
}

/// A consumer that has signed the second of two nonces of its provider, and the
/// first one.
fn with_a_replaced_nonce() -> (Exchange, Nonce) {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    let earlier = exchange.nonce();
    exchange.deliver("nonce");
    replace_nonce(&mut exchange);
    exchange.deliver("nonce");
    assert_ne!(exchange.nonce(), earlier);
    (exchange, earlier)
}

fn replace_nonce(exchange: &mut Exchange) {
    let step = exchange
        .provider
        .replace_nonce(&exchange.provider_view(), exchange.env())
        .unwrap();
    exchange.carry_out(true, step);
    exchange.turn_of_provider();
    assert!(matches!(
        exchange.sent.get("nonce"),
        Some(MessageBody::Nonce(_))
    ));
}

fn record(exchange: &Exchange) -> String {
    let id: ObjectRef = secret_ref("liqo", "liqo-auth-consumer-cl-provider");
    let secret: &Secret = exchange.at_consumer.get(&id.namespace, &id.name).unwrap();
    String::from_utf8(secret.get("record").unwrap().to_vec()).unwrap()
}

fn assert_same_transcript(exchange: &Exchange) {
    let at_provider = exchange.provider.transcript(&exchange.provider_view());
    let at_consumer = exchange.consumer.transcript(&exchange.consumer_view());
    let (one, other) = (at_provider.unwrap().unwrap(), at_consumer.unwrap().unwrap());
    assert_eq!(one.differences(&other), [""; 0]);
}

/// The provider lets the nonce serve again, and this side signs it again: the last one alone,
/// and only until another one comes.
#[test]
fn the_nonce_of_the_last_peering_is_signed_again_if_the_configuration_says_so() {
    let setup = Setup::new();
    let mut exchange = setup.exchange();
    let keys = OneKey(Arc::clone(&setup.consumer_key));
    let mut config = ConsumerConfig::new(exchange.consumer.cluster_id().clone());
    config.peer_again = true;
    exchange.consumer = Consumer::new(config, Arc::new(keys));
    exchange.settle();
    let first = exchange.nonce();
    replace_nonce(&mut exchange);
    exchange.settle();
    let last = exchange.nonce();
    let view = exchange.consumer_view();
    let step = exchange.consumer.unauthenticate(&view).unwrap();
    exchange.carry_out(false, step);
    let error = exchange.hand_over(first.clone()).unwrap_err();
    assert_eq!(error.code(), "nonce-used");
    exchange.hand_over(last.clone()).unwrap();
    exchange.turn_of_consumer();
    assert_eq!(exchange.phases().1, "AwaitsIdentity");
    let error = exchange.hand_over(first).unwrap_err();
    assert_eq!(error.code(), "nonce-used");
    exchange.deliver("Identity");
    exchange.turn_of_consumer();
    assert_eq!(exchange.phases().1, "Authenticated");
}
