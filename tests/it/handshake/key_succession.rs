//! A new key for the same cluster ID is accepted only if the old key has signed
//! the succession.

use std::sync::Arc;

use liqo_auth::{
    Machine,
    assurance::succession::KEY_SUCCESSION_ANNOTATION,
    audit::Decision,
    crypto::{Entropy, Nonce, SignatureError, SigningKey},
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved, Rule, SuccessionFault},
    machine::{MessageBody, Step},
    model::Tenant,
    provider,
};

use crate::clusters::{
    exchange::{Exchange, Setup, ed25519},
    notary::{DAY, Notary, YEAR},
    succession,
};

#[test]
fn a_key_may_succeed_another_if_the_old_key_signs() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary);
    let (old, new) = (ed25519(1), ed25519(60));
    let first = exchange.certificate();
    let nonce = fresh_nonce(&mut exchange);
    // Until the Tenant comes, nothing changes.
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    let tenant = following(&nonce, &old, &new);
    exchange.hand_over(tenant.clone()).unwrap();
    let provider::Phase::NeedsProof(verified, _) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert_eq!(&verified.public_key, new.public_key());
    let step = exchange.turn_of_provider();
    let decisions: Vec<_> = step.events.iter().map(|event| &event.decision).collect();
    let succeeded = Decision::KeySucceeded {
        predecessor: old.public_key().fingerprint(),
    };
    assert_eq!(decisions, [&Decision::HandshakeVerified, &succeeded]);
    assert_eq!(step.events[1].key, Some(new.public_key().fingerprint()));

    let events = settle(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    let second = exchange.certificate();
    assert_eq!(second.leaf().spki_der, new.public_key().spki_der());
    assert!(events.iter().any(|decision| matches!(
        decision,
        Decision::CertificateIssued { replaces, .. }
            if *replaces == Some(first.leaf().fingerprint())
    )));
    assert_eq!(notary.signed(), 2);

    // The new certificate is renewed like any other.
    exchange.now = exchange.now + 60 * DAY;
    settle(&mut exchange);
    assert_eq!(notary.signed(), 3);

    // The same Tenant again changes nothing. The old key is no longer accepted.
    let step = exchange.hand_over(tenant).unwrap();
    assert!(step.is_settled());
    let error = refused(&mut exchange, signing(&nonce, &old));
    assert!(is_key_changed(&error));

    // The consumer no longer sends the succession.
    let has_succession = |tenant: Tenant| {
        let annotations = tenant.metadata.annotations;
        annotations.contains_key(KEY_SUCCESSION_ANNOTATION)
    };
    assert!(has_succession(exchange.stored_tenant()));
    exchange.hand_over(signing(&nonce, &new)).unwrap();
    assert!(!has_succession(exchange.stored_tenant()));
}

#[test]
fn a_proof_of_the_same_key_is_no_succession() {
    let mut exchange = authenticated(&Notary::new(30 * YEAR));
    let nonce = fresh_nonce(&mut exchange);
    exchange.hand_over(signing(&nonce, &ed25519(1))).unwrap();
    assert_eq!(settle(&mut exchange), [Decision::HandshakeVerified]);
}

#[test]
fn a_succession_that_is_forged_replayed_or_missing_changes_nothing() {
    let (old, new, third) = (ed25519(1), ed25519(60), ed25519(61));
    let fault = PeerIncompatible::KeySuccession;
    let mismatch = || fault(SuccessionFault::Signature(SignatureError::Mismatch));
    let cases: [(&str, Make, PeerIncompatible); 6] = [
        (
            "made by the new key in the old one's name",
            |nonce| {
                let text = word(nonce, "cl-provider", &ed25519(60), &ed25519(60));
                let by_old = word(nonce, "cl-provider", &ed25519(1), &ed25519(60));
                let (pinned, _) = by_old.split_once('.').unwrap();
                let (_, signature) = text.split_once('.').unwrap();
                format!("{pinned}.{signature}")
            },
            mismatch(),
        ),
        (
            "of a key that is not pinned",
            |nonce| word(nonce, "cl-provider", &ed25519(61), &ed25519(60)),
            fault(SuccessionFault::OtherKey),
        ),
        (
            "for a third key",
            |nonce| word(nonce, "cl-provider", &ed25519(1), &ed25519(61)),
            mismatch(),
        ),
        (
            "over another nonce",
            |_| {
                let nonce = Nonce::random(&Entropy::from_bytes([5; 32]));
                word(&nonce, "cl-provider", &ed25519(1), &ed25519(60))
            },
            mismatch(),
        ),
        (
            "for another provider",
            |nonce| word(nonce, "cl-elsewhere", &ed25519(1), &ed25519(60)),
            mismatch(),
        ),
        (
            "unreadable",
            |_| "junk".to_owned(),
            fault(SuccessionFault::Encoding),
        ),
    ];
    for (name, make, fault) in cases {
        let mut exchange = authenticated(&Notary::new(30 * YEAR));
        let nonce = fresh_nonce(&mut exchange);
        let tenant = with_annotation(signing(&nonce, &new), &make(&nonce));
        let error = refused(&mut exchange, tenant.clone());
        assert_eq!(error.fault(), &fault.clone().into(), "{name}");
        assert_eq!(error.rule().map(Rule::number), Some(5));
        assert_eq!(
            error.at().field,
            "metadata.annotations[liqo-auth/key-succession]"
        );
        // A Tenant that is applied past the library is refused, too.
        put(&mut exchange, tenant);
        let provider::Phase::Refused(error) = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        assert_eq!(error.fault(), &fault.into(), "{name}");
    }

    let mut exchange = authenticated(&Notary::new(30 * YEAR));
    let nonce = fresh_nonce(&mut exchange);
    let error = refused(&mut exchange, signing(&nonce, &new));
    assert!(is_key_changed(&error));

    // The succession is valid, but a third key has signed the nonce.
    let mut tenant = following(&nonce, &old, &new);
    tenant.spec.signature = signing(&nonce, &third).spec.signature;
    let error = refused(&mut exchange, tenant);
    let mismatch = PeerIncompatible::NonceSignature(SignatureError::Mismatch);
    assert_eq!(error.fault(), &mismatch.into());
}

/// A succession speaks for another key. It does not excuse another fault.
#[test]
fn a_fault_beside_a_succession_is_told_as_itself() {
    let notary = Notary::new(YEAR);
    let mut exchange = authenticated(&notary);
    let mut tenant = with_annotation(exchange.stored_tenant(), "a.b");
    tenant.spec.csr = b"-----BEGIN CERTIFICATE REQUEST-----\n".to_vec().into();
    let error = refused(&mut exchange, tenant);
    assert!(
        matches!(error.fault(), Fault::PeerMisbehaved(PeerMisbehaved::Csr(_))),
        "{error:?}"
    );
}

/// A succession can be used once, because its nonce can. An attacker who
/// recorded an earlier succession cannot restore the old key.
#[test]
fn a_succession_can_be_used_once() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary);
    let (first, second) = (ed25519(1), ed25519(60));
    let mut recorded = Vec::new();
    for (old, new) in [(&first, &second), (&second, &first)] {
        let nonce = fresh_nonce(&mut exchange);
        let tenant = following(&nonce, old, new);
        recorded.push(tenant.clone());
        exchange.hand_over(tenant).unwrap();
        settle(&mut exchange);
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
    }
    // The first key is pinned again. Its earlier succession is no longer valid.
    let error = refused(&mut exchange, recorded[0].clone());
    assert_eq!(error.fault(), &PeerIncompatible::NonceUsed.into());
    let nonce = fresh_nonce(&mut exchange);
    let mut replayed = recorded[0].clone();
    replayed.spec.signature = signing(&nonce, &second).spec.signature;
    let error = refused(&mut exchange, replayed);
    assert!(matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::KeySuccession(SuccessionFault::Signature(
            _
        )))
    ));
}

#[test]
fn a_new_key_needs_a_new_approval() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary);
    exchange.provider =
        notary.provider(|builder| builder.configure(|config| config.require_approval = true));
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    let nonce = fresh_nonce(&mut exchange);
    let tenant = following(&nonce, &ed25519(1), &ed25519(60));
    exchange.hand_over(tenant).unwrap();
    settle(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
    let view = exchange.provider_view();
    let step = exchange.provider.approve(&view, exchange.now).unwrap();
    exchange.carry_out(true, step);
    settle(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
}

#[test]
fn a_crash_after_any_effect_of_a_succession_loses_nothing() {
    let notary = Notary::new(30 * YEAR);
    let mut before = authenticated(&notary);
    let nonce = fresh_nonce(&mut before);
    let message = MessageBody::Tenant(Box::new(following(&nonce, &ed25519(1), &ed25519(60))));
    let mut signed = None;
    for steps in 0..5 {
        for effects in 0..4 {
            let mut crashing = Exchange {
                provider: before.provider.clone(),
                at_provider: before.at_provider.clone(),
                ..Setup::new().exchange()
            };
            crashing.hand_over(message.clone()).unwrap();
            for _ in 0..steps {
                crashing.turn_of_provider();
            }
            let view = crashing.provider_view();
            let step = crashing.provider.reconcile(&view, crashing.env()).unwrap();
            for effect in step.effects.iter().take(effects) {
                crashing.at_provider.apply(effect).unwrap();
            }
            // The message is delivered again.
            crashing.hand_over(message.clone()).unwrap();
            settle(&mut crashing);
            assert_eq!(crashing.provider_phase().name(), "Authenticated");
            let certificate = crashing.certificate();
            assert_eq!(
                *signed.get_or_insert(certificate.leaf().fingerprint()),
                certificate.leaf().fingerprint()
            );
        }
    }
    assert_eq!(notary.signed(), 2);
}

type Make = fn(&Nonce) -> String;

fn authenticated(notary: &Arc<Notary>) -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = 90 * DAY));
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    exchange
}

fn fresh_nonce(exchange: &mut Exchange) -> Nonce {
    let step = exchange
        .provider
        .replace_nonce(&exchange.provider_view(), exchange.env())
        .unwrap();
    exchange.carry_out(true, step);
    exchange.nonce()
}

/// Lets the provider work until nothing is left to do, and returns its
/// decisions.
fn settle(exchange: &mut Exchange) -> Vec<Decision> {
    let mut decided = Vec::new();
    for _ in 0..12 {
        let step: Step = exchange.turn_of_provider();
        if step.is_settled() {
            return decided;
        }
        decided.extend(step.events.into_iter().map(|event| event.decision));
    }
    panic!("it does not settle: {:?}", exchange.provider_phase());
}

fn refused(exchange: &mut Exchange, tenant: Tenant) -> Error {
    let before = exchange.at_provider.clone();
    let error = exchange.hand_over(tenant).unwrap_err();
    assert_eq!(exchange.at_provider, before);
    error
}

/// Stores a Tenant past the library, as `kubectl apply` does.
fn put(exchange: &mut Exchange, tenant: Tenant) {
    exchange.edit_tenant(|stored| {
        stored.spec = tenant.spec;
        stored
            .metadata
            .annotations
            .extend(tenant.metadata.annotations);
    });
}

/// The Tenant of a consumer with this key.
fn signing(nonce: &Nonce, key: &Arc<dyn SigningKey>) -> Tenant {
    let mut exchange = Setup {
        consumer_key: Arc::clone(key),
        ..Setup::new()
    }
    .exchange();
    exchange.hand_over(nonce.clone()).unwrap();
    exchange.tenant()
}

/// The Tenant of the new key, with a succession signed by the old key.
fn following(nonce: &Nonce, old: &Arc<dyn SigningKey>, new: &Arc<dyn SigningKey>) -> Tenant {
    with_annotation(signing(nonce, new), &word(nonce, "cl-provider", old, new))
}

fn word(
    nonce: &Nonce,
    provider: &str,
    old: &Arc<dyn SigningKey>,
    new: &Arc<dyn SigningKey>,
) -> String {
    succession::annotation(nonce, (provider, "cl-consumer"), old, new)
}

fn with_annotation(mut tenant: Tenant, text: &str) -> Tenant {
    let name = KEY_SUCCESSION_ANNOTATION.to_owned();
    tenant.metadata.annotations.insert(name, text.to_owned());
    tenant
}

fn is_key_changed(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::KeyChanged { .. })
    )
}
