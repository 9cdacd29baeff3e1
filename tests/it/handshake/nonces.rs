//! The life of a nonce: for which clusters it is, how long it is valid, and
//! that it can be used once.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    crypto::{
        Answer, BoxError, ClientKey, Entropy, Nonce, Payload, PublicKey, RecordKey, Signature,
        SignatureError, SigningKey, StructuredNonce,
    },
    error::{Error, PeerIncompatible, Rule},
    machine::{Effect, MessageBody, Notice},
    model::{ClusterRoleBinding, Object, Secret, Tenant, Timestamp, names},
    provider::{self, WhyNonce},
};

use crate::clusters::exchange::{self, Exchange, RECORD_KEY, Setup, ed25519, id, now};

#[test]
fn a_nonce_that_names_other_clusters_is_not_signed() {
    for (provider, consumer) in [
        ("cl-other", "cl-consumer"),
        ("cl-provider", "cl-other"),
        ("cl-consumer", "cl-provider"),
    ] {
        let nonce = structured(provider, consumer, now() + DAY);
        let mut exchange = watched_by_a_key_that_must_not_sign();
        let error = exchange.hand_over(nonce.clone()).unwrap_err();
        assert_eq!(error.fault(), &PeerIncompatible::NonceForOthers.into());
        assert_eq!(error.rule().map(Rule::number), Some(8));
        assert_eq!(exchange.at_consumer.iter().count(), 0);

        // The nonce is not signed either if it is stored for a controller to
        // sign.
        put_to_be_signed(&mut exchange, &nonce);
        let before = exchange.at_consumer.clone();
        exchange.turn_of_consumer();
        let [error] = &exchange.refused[..] else {
            panic!("{:?}", exchange.refused);
        };
        assert_eq!(error.fault(), &PeerIncompatible::NonceForOthers.into());
        assert_eq!(error.at().field, "data.nonce");
        assert_eq!(exchange.at_consumer, before);
    }
}

#[test]
fn an_expired_nonce_is_not_signed() {
    for (expires, signed) in [
        (now() + Duration::from_secs(1), true),
        (now(), false),
        (now() - DAY, false),
    ] {
        let nonce = structured("cl-provider", "cl-consumer", expires);
        if signed {
            let mut exchange = Setup::new().exchange();
            exchange.hand_over(nonce).unwrap();
            assert_eq!(exchange.consumer_phase().name(), "AwaitsIdentity");
            continue;
        }
        let mut exchange = watched_by_a_key_that_must_not_sign();
        let error = exchange.hand_over(nonce).unwrap_err();
        let expected = PeerIncompatible::NonceExpired { at: expires };
        assert_eq!(error.fault(), &expected.into());
    }
}

#[test]
fn a_tenant_that_comes_too_late_is_refused_and_a_new_nonce_is_made() {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    exchange.deliver("nonce");
    let late = exchange.now + DAY;
    // In the last second, the Tenant is still in time.
    exchange.now = late - Duration::from_secs(1);
    let mut in_time = Setup::new().exchange();
    in_time.at_provider = exchange.at_provider.clone();
    in_time.now = exchange.now;
    let message = MessageBody::Tenant(Box::new(exchange.tenant()));
    in_time.hand_over(message.clone()).unwrap();

    exchange.now = late;
    let error = exchange.hand_over(message).unwrap_err();
    let expected = PeerIncompatible::NonceExpired { at: late };
    assert_eq!(error.fault(), &expected.into());
    assert_eq!(why_a_nonce(&exchange), WhyNonce::Expired);
    let step = exchange.turn_of_provider();
    assert_eq!(step.notices, [Notice::SignedNonceIsStale]);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn a_first_invitation_lapses_with_its_nonce_where_the_settings_say_so() {
    let mut exchange = with_invitations_that_lapse();
    exchange.turn_of_provider();
    let late = exchange.now + DAY;
    exchange.now = late - Duration::from_secs(1);
    assert_eq!(exchange.provider_phase().name(), "AwaitsTenant");
    exchange.deliver("nonce");
    let tenant = MessageBody::Tenant(Box::new(exchange.tenant()));

    exchange.now = late;
    assert_eq!(exchange.provider_phase().name(), "Ended");
    // Whoever signs the nonce now is told, and does not get another one.
    let mut too_late = with_invitations_that_lapse();
    too_late.at_provider = exchange.at_provider.clone();
    too_late.now = late;
    let error = too_late.hand_over(tenant).unwrap_err();
    let expected = PeerIncompatible::NonceExpired { at: late };
    assert_eq!(error.fault(), &expected.into());
    let step = too_late.turn_of_provider();
    assert!(step.outbox.is_empty(), "{:?}", step.outbox);

    // Nothing of the invitation stays, and the next one begins anew.
    while exchange.provider_phase().name() == "Ended" {
        assert!(!exchange.turn_of_provider().is_settled());
    }
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
    let is_secret = |object: &Object| matches!(object, Object::Secret(_));
    assert!(!exchange.at_provider.iter().any(is_secret));
    exchange.invite();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

fn with_invitations_that_lapse() -> Exchange {
    let setup = Setup::new();
    let record_key = RecordKey::new(RECORD_KEY).unwrap();
    let provider = setup.provider_builder(record_key);
    let mut exchange = setup.exchange();
    exchange.provider = provider
        .configure(|config| config.invitations_lapse = true)
        .build();
    exchange
}

#[test]
fn a_proof_stays_valid_when_its_nonce_expires() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    exchange.now = exchange.now + DAY + DAY;
    let before = (exchange.at_provider.clone(), exchange.at_consumer.clone());
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(before, (exchange.at_provider, exchange.at_consumer));
}

#[test]
fn a_signature_over_a_replaced_nonce_is_refused() {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    exchange.deliver("nonce");
    let earlier = exchange.tenant();
    let env = exchange.env();
    let step = exchange
        .provider
        .replace_nonce(&exchange.provider_view(), env)
        .unwrap();
    assert_eq!(step.notices, [Notice::SignedNonceIsStale]);
    exchange.carry_out(true, step);
    let error = exchange.hand_over(earlier).unwrap_err();
    let mismatch = PeerIncompatible::NonceSignature(SignatureError::Mismatch);
    assert_eq!(error.fault(), &mismatch.into());
    // A consumer with this library signs the new nonce in place of the old one.
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn a_nonce_of_another_provider_or_for_another_consumer_is_refused() {
    let foreign = [
        structured("cl-other", "cl-consumer", now() + DAY),
        structured("cl-provider", "cl-other", now() + DAY),
        structured_by(RecordKey::new([2; 32]).unwrap(), now() + DAY),
        Nonce::random(&Entropy::from_bytes([4; 32])),
    ];
    for nonce in foreign {
        let mut exchange = Setup::new().exchange();
        exchange.turn_of_provider();
        let secret = exchange::nonce_secret("liqo-tenant-cl-consumer", nonce.as_str().as_bytes());
        exchange.at_provider.insert(secret);
        let tenant = tenant_signing(&nonce, &ed25519(1));
        let error = exchange.hand_over(tenant).unwrap_err();
        assert_eq!(error.fault(), &PeerIncompatible::NonceNotOurs.into());
        assert_eq!(error.rule().map(Rule::number), Some(4));
    }
}

/// The Tenant is deleted. Its nonce cannot be used again.
#[test]
fn a_used_nonce_is_refused_after_its_tenant_is_deleted() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let used = exchange.nonce();
    delete_tenant(&mut exchange);

    let refused = |exchange: &mut Exchange| -> Error {
        let message = MessageBody::Tenant(Box::new(exchange.tenant()));
        exchange.hand_over(message).unwrap_err()
    };
    let error = refused(&mut exchange);
    assert_eq!(error.fault(), &PeerIncompatible::NonceUsed.into());
    // It is refused too if it is applied past the library, because its UID
    // differs.
    let mut applied = exchange.tenant();
    applied.metadata.namespace = "liqo-tenant-cl-consumer".to_owned();
    let mut past_us = Setup::new().exchange();
    past_us.at_provider = exchange.at_provider.clone();
    past_us.at_provider.insert(applied.into());
    let provider::Phase::Refused(error) = past_us.provider_phase() else {
        panic!("{:?}", past_us.provider_phase());
    };
    assert_eq!(error.fault(), &PeerIncompatible::NonceUsed.into());

    // The peering does not come back by itself.
    assert_eq!(exchange.phases().0, "Ended");
    let deleted: Vec<String> = deletions(&exchange.turn_of_provider().effects);
    assert_eq!(deleted, ["liqo-nonce", "liqo-remote-certificate"]);
    assert_eq!(exchange.turn_of_provider().effects, []);
    let step = exchange.invite();
    assert_eq!(step.notices, [Notice::SignedNonceIsStale]);
    assert_ne!(exchange.nonce(), used);
    let error = refused(&mut exchange);
    let mismatch = PeerIncompatible::NonceSignature(SignatureError::Mismatch);
    assert_eq!(error.fault(), &mismatch.into());

    // A peer can write Secrets in its tenant namespace, for example the used
    // nonce.
    let mut put_back = Setup::new().exchange();
    put_back.at_provider = exchange.at_provider.clone();
    put_back.sent = exchange.sent.clone();
    let secret = exchange::nonce_secret("liqo-tenant-cl-consumer", used.as_str().as_bytes());
    put_back.at_provider.insert(secret);
    let error = refused(&mut put_back);
    assert_eq!(error.fault(), &PeerIncompatible::NonceUsed.into());

    // With the new nonce, the same key may have another Tenant.
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn a_used_nonce_is_refused_even_if_the_embedder_vouches_for_it() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    delete_tenant(&mut exchange);
    exchange.vouched.push(exchange.nonce());
    let message = MessageBody::Tenant(Box::new(exchange.tenant()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::NonceUsed.into());
}

#[test]
fn a_used_nonce_is_refused_even_after_many_replacements() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let (used, tenant) = (exchange.nonce(), exchange.tenant());
    for _ in 0..120 {
        let env = exchange.env();
        let step = exchange
            .provider
            .replace_nonce(&exchange.provider_view(), env)
            .unwrap();
        exchange.carry_out(true, step);
        exchange.settle();
        exchange.now = exchange.now + Duration::from_secs(1);
    }
    delete_tenant(&mut exchange);
    let secret = exchange::nonce_secret("liqo-tenant-cl-consumer", used.as_str().as_bytes());
    exchange.at_provider.insert(secret);
    let error = exchange.hand_over(tenant).unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::NonceUsed.into());
}

const DAY: Duration = Duration::from_secs(86_400);

fn structured(provider: &str, consumer: &str, expires: Timestamp) -> Nonce {
    StructuredNonce::issue(
        &id(provider),
        &id(consumer),
        None,
        expires,
        &RecordKey::new(RECORD_KEY).unwrap(),
        &Entropy::from_bytes([3; 32]),
    )
}

fn structured_by(key: RecordKey, expires: Timestamp) -> Nonce {
    StructuredNonce::issue(
        &id("cl-provider"),
        &id("cl-consumer"),
        None,
        expires,
        &key,
        &Entropy::from_bytes([3; 32]),
    )
}

/// A complete Tenant for any nonce. The consumer signs the nonce only if the
/// nonce does not name clusters, as in unmodified Liqo, or names this one.
fn tenant_signing(nonce: &Nonce, key: &Arc<dyn SigningKey>) -> Tenant {
    let names_us = nonce
        .structured()
        .is_none_or(|nonce| nonce.is_for(&id("cl-provider"), &id("cl-consumer")));
    let mut setup = Setup::new();
    setup.consumer_key = Arc::clone(key);
    let mut exchange = setup.exchange();
    let signed = if names_us {
        nonce.clone()
    } else {
        // The provider does not get as far as the signature.
        Nonce::random(&Entropy::from_bytes([4; 32]))
    };
    exchange.hand_over(signed).unwrap();
    exchange.tenant()
}

fn why_a_nonce(exchange: &Exchange) -> WhyNonce {
    match exchange.provider_phase() {
        provider::Phase::NeedsNonce(why) => why,
        other => panic!("{other:?}"),
    }
}

/// The names of the deleted objects. The step has no other effects.
fn deletions(effects: &[Effect]) -> Vec<String> {
    let name = |effect: &Effect| match effect {
        Effect::Delete { id, .. } => id.name.clone(),
        other => panic!("{other:?}"),
    };
    effects.iter().map(name).collect()
}

/// As `kubectl delete tenant` does: the Tenant is marked, the cluster-wide
/// rights are withdrawn, the Tenant is deleted.
fn delete_tenant(exchange: &mut Exchange) {
    let now = exchange.now;
    exchange.edit_tenant(|tenant| tenant.metadata.deletion_timestamp = Some(now));
    assert_eq!(exchange.provider_phase().name(), "Ending");
    let bindings = |exchange: &Exchange| {
        let objects = exchange.at_provider.iter();
        objects
            .filter(|object| matches!(object, Object::ClusterRoleBinding(_)))
            .count()
    };
    assert_eq!(bindings(exchange), 1);
    exchange.turn_of_provider();
    assert_eq!(bindings(exchange), 0);
    assert_eq!(exchange.phases().0, "Ended");
    let name = "liqo-binding-liqo-virtual-kubelet-remote-clusterwide-cl-consumer";
    assert_eq!(
        exchange.at_provider.get::<ClusterRoleBinding>("", name),
        None
    );
}

fn put_to_be_signed(exchange: &mut Exchange, nonce: &Nonce) {
    let mut secret = Secret::default();
    secret.metadata.name = names::SIGNED_NONCE_SECRET.to_owned();
    secret.metadata.namespace = "liqo-tenant-cl-provider".to_owned();
    let text = nonce.as_str().as_bytes().to_vec();
    secret.data.insert(names::NONCE.to_owned(), text.into());
    exchange.at_consumer.insert(secret.into());
}

fn watched_by_a_key_that_must_not_sign() -> Exchange {
    let mut setup = Setup::new();
    setup.consumer_key = Arc::new(MustNotSign(ed25519(1).public_key().clone()));
    setup.exchange()
}

struct MustNotSign(PublicKey);

impl SigningKey for MustNotSign {
    fn public_key(&self) -> &PublicKey {
        &self.0
    }

    fn sign(&self, _payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        panic!("it was asked to sign");
    }

    fn client_key(&self) -> ClientKey {
        ClientKey::NotExportable
    }
}
