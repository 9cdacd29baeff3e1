//! Laws of the machines. They hold for all messages and all stored objects.

use std::sync::OnceLock;

use liqo_auth::{
    Machine,
    crypto::{Csr, Entropy, Nonce, Subject, strategy as crypto},
    error::Fault,
    machine::{Concerns, Env, Interest, Message, MessageBody, Mirror, Objects, Step, Watch},
    model::{ClusterId, Identity, Kind, Object, ObjectRef, Tenant, TenantCondition, names},
    policy::Policy,
    verify::{self, NonceExpectation, TenantExpectation},
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal, occurrences};
use proptest::prelude::*;

/// A rehearsal leaves out refusals only. Otherwise the laws could not see a broken
/// record.
#[test]
fn a_local_fault_is_not_taken_for_a_refusal() {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    rehearsal.settle().unwrap();
    for objects in [&mut rehearsal.at_provider, &mut rehearsal.at_consumer] {
        let of_library = |id: &ObjectRef| id.kind == Kind::Secret && id.namespace == "liqo";
        let ids: Vec<ObjectRef> = objects.iter().map(Object::id).filter(of_library).collect();
        assert!(!ids.is_empty());
        for ObjectRef { name, .. } in ids {
            objects.insert(Object::from_value(serde_json::json!({
                "apiVersion": "v1", "kind": "Secret", "data": 5,
                "metadata": { "namespace": "liqo", "name": name },
            })));
        }
    }
    let mut events = vec![Occurrence::Slice { wanted: true }];
    let effects = ALL;
    let messages = 0..rehearsal.messages.len();
    events.extend(messages.map(|message| Occurrence::Deliver { message, effects }));
    for event in events {
        let Err(error) = rehearsal.play(event) else {
            panic!("{event:?} is carried out");
        };
        assert!(
            matches!(error.fault(), Fault::Local(_)),
            "{event:?}: {error}"
        );
    }
}

proptest! {
    /// Of all requests that a consumer can sign, a provider accepts exactly
    /// one.
    #[test]
    fn a_tenant_is_accepted_only_with_the_one_valid_request(tenant in awaiting().forged_tenants()) {
        let rehearsal = awaiting();
        let key = &rehearsal.consumer_key;
        let taken = receive_at_provider(rehearsal, tenant.clone());
        let expectation = TenantExpectation { consumer: consumer_id(), nonce: nonce() };
        let verdict = verify::tenant(&tenant, &expectation, &Policy::strict());
        prop_assert!(taken.is_none() || verdict.is_ok());
        if let Ok(verified) = verdict {
            let honest = Csr::make(&Subject::control_plane(consumer_id()), &**key).unwrap().at_once().unwrap();
            prop_assert_eq!(&verified.csr, &honest);
            prop_assert_eq!(&verified.public_key, key.public_key());
            prop_assert_eq!(tenant.spec.csr.as_slice(), honest.pem());
        }
    }

    /// A Tenant of the peer's name is refused or has effects. A Tenant of
    /// another name has no influence.
    #[test]
    fn a_stored_tenant_is_refused_or_has_effects(
        tenant in prop_oneof![3 => awaiting().forged_tenants(), 1 => any::<Tenant>()],
    ) {
        let rehearsal = awaiting();
        let mut objects = rehearsal.at_provider.clone();
        let is_named = tenant.metadata.name == consumer_id().as_str();
        // A Tenant that is being deleted or drained asks for no rights.
        let is_ending = tenant.metadata.deletion_timestamp.is_some()
            || tenant.spec.tenant_condition == Some(TenantCondition::Drained);
        objects.insert(tenant.into());
        let view = objects.view(consumer_id());
        if let Ok(step) = rehearsal.provider.reconcile(&view, env()) {
            prop_assert!(step.refused.is_empty() || step.effects.is_empty());
            prop_assert_eq!(
                !step.refused.is_empty() || !step.effects.is_empty(),
                is_named && !is_ending,
                "{:?}", step
            );
            prop_assert!(applies(&step, objects.clone()));
        }
    }

    /// The same law for the consumer.
    #[test]
    fn a_stored_identity_is_refused_or_has_effects(
        identity in prop_oneof![3 => awaiting().forged_identities(), 1 => any::<Identity>()],
    ) {
        let rehearsal = awaiting();
        let mut objects = rehearsal.at_consumer.clone();
        objects.insert(identity.into());
        let view = objects.view(rehearsal.provider.cluster_id());
        if let Ok(step) = rehearsal.consumer.reconcile(&view, env()) {
            prop_assert!(step.refused.is_empty() || step.effects.is_empty());
            prop_assert!(applies(&step, objects.clone()));
        }
    }

    /// The consumer can use each Identity that it accepts.
    #[test]
    fn an_accepted_identity_gives_a_kubeconfig(
        identity in awaiting().forged_identities(),
    ) {
        let rehearsal = awaiting();
        let mut objects = rehearsal.at_consumer.clone();
        let peer = rehearsal.provider.cluster_id();
        let consumer = &rehearsal.consumer;
        let message = Message::new(peer, consumer.cluster_id(), identity.clone());
        if let Ok(step) = consumer.receive(&objects.view(peer), message, env()) {
            prop_assert_eq!(&step.refused, &[]);
            carry_out(&step, &mut objects);
            let step = consumer.reconcile(&objects.view(peer), env()).unwrap();
            let stored = step.effects.iter().any(|effect| {
                effect.id().name == names::kubeconfig_secret(&names::identity_name(peer))
            });
            prop_assert!(stored, "{:?} of {:?}", step, identity);
        }
    }

    /// A consumer signs only texts in the form of a nonce. The strict policy
    /// signs only texts that the compatible one signs, too.
    #[test]
    fn only_nonces_are_signed(text in crypto::any_nonce_text()) {
        let expectation = NonceExpectation {
            provider: awaiting().provider.cluster_id(),
            consumer: consumer_id(),
            now: awaiting().now,
            provider_key_known: false,
        };
        let of = |policy| verify::nonce_to_sign(&text, &expectation, &policy);
        if let Ok(nonce) = of(Policy::strict()) {
            prop_assert_eq!(nonce.as_str().as_bytes(), &text[..]);
            prop_assert_eq!(text.len(), 88);
            prop_assert_eq!(of(Policy::compatible()), Ok(nonce));
        }
    }

    /// Each side watches and looks up all objects that it writes.
    #[test]
    fn each_side_watches_and_looks_up_what_it_writes(seed: u64, events in occurrences()) {
        let mut rehearsal = Rehearsal::new(seed).unwrap();
        for event in events {
            rehearsal.play(event).unwrap();
        }
        rehearsal.settle().unwrap();
        let (provider, consumer) = (&rehearsal.provider, &rehearsal.consumer);
        let mirror = Mirror::default();
        let peer = consumer.cluster_id();
        let interests = provider.interests(peer);
        for object in written(&rehearsal.at_provider) {
            prop_assert!(is_covered(object, &interests), "{}", object.id());
            prop_assert!(is_watched(object, &provider.watches()), "{}", object.id());
            let concerns = provider.concerns(object, &mirror);
            prop_assert_eq!(concerns, Concerns::Peer(peer.clone()), "{}", object.id());
        }
        let peer = provider.cluster_id();
        let interests = consumer.interests(peer);
        for object in written(&rehearsal.at_consumer) {
            prop_assert!(is_covered(object, &interests), "{}", object.id());
            prop_assert!(is_watched(object, &consumer.watches()), "{}", object.id());
            let concerns = consumer.concerns(object, &mirror);
            prop_assert_eq!(concerns, Concerns::Peer(peer.clone()), "{}", object.id());
        }
    }

    /// No forgery leads to a certificate for another key or name.
    #[test]
    fn forgeries_get_no_certificate(events in occurrences(), forged in awaiting().forgeries()) {
        let mut rehearsal = Rehearsal::new(SEED).unwrap();
        rehearsal.play(Occurrence::Provider { effects: ALL }).unwrap();
        let message = rehearsal.messages.len();
        rehearsal.messages.push(forged);
        rehearsal.play(Occurrence::Deliver { message, effects: ALL }).unwrap();
        for event in events {
            rehearsal.play(event).unwrap();
        }
        rehearsal.settle().unwrap();
        prop_assert!(rehearsal.certificates_signed() <= 1);
    }
}

/// Some of the forged objects are honest, so the laws do not cover refusals
/// only.
#[test]
fn some_forgeries_are_accepted() {
    let rehearsal = awaiting();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut tenants, mut identities) = (0, 0);
    for _ in 0..200 {
        let tenant = sample(&rehearsal.forged_tenants(), &mut runner);
        tenants += usize::from(receive_at_provider(rehearsal, tenant).is_some());
        let identity = sample::<Identity>(&rehearsal.forged_identities(), &mut runner);
        let view = rehearsal.at_consumer.view(rehearsal.provider.cluster_id());
        let message = Message::new(view.peer(), consumer_id(), identity);
        identities += usize::from(rehearsal.consumer.receive(&view, message, env()).is_ok());
    }
    assert!(tenants > 10, "{tenants} Tenants");
    assert!(identities > 10, "{identities} Identities");
}

fn sample<T: core::fmt::Debug>(
    strategy: &BoxedStrategy<T>,
    runner: &mut proptest::test_runner::TestRunner,
) -> T {
    use proptest::strategy::ValueTree;

    strategy.new_tree(runner).unwrap().current()
}

/// An exchange in which the nonce was sent and the Tenant has not come.
fn awaiting() -> &'static Rehearsal {
    static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
    REHEARSAL.get_or_init(|| {
        let mut rehearsal = Rehearsal::new(SEED).unwrap();
        rehearsal
            .play(Occurrence::Provider { effects: ALL })
            .unwrap();
        rehearsal
    })
}

const SEED: u64 = 7;

fn consumer_id() -> &'static ClusterId {
    awaiting().consumer.cluster_id()
}

fn nonce() -> &'static Nonce {
    match awaiting().messages.as_slice() {
        [
            Message {
                body: MessageBody::Nonce(nonce),
                ..
            },
        ] => nonce,
        messages => panic!("{messages:?}"),
    }
}

fn receive_at_provider(rehearsal: &Rehearsal, tenant: Tenant) -> Option<Step> {
    let view = rehearsal.at_provider.view(consumer_id());
    let provider = rehearsal.provider.cluster_id();
    let message = Message::new(consumer_id(), provider, tenant);
    rehearsal.provider.receive(&view, message, env()).ok()
}

fn env() -> Env {
    Env {
        now: awaiting().now,
        entropy: Entropy::from_bytes([9; 32]),
    }
}

fn applies(step: &Step, mut objects: Objects) -> bool {
    step.effects
        .iter()
        .all(|effect| objects.apply(effect).is_ok())
}

fn carry_out(step: &Step, objects: &mut Objects) {
    for effect in &step.effects {
        objects.apply(effect).unwrap();
    }
}

/// All objects except those that existed before.
fn written(objects: &Objects) -> impl Iterator<Item = &Object> {
    objects
        .iter()
        .filter(|object| object.id().kind != Kind::ClusterRole)
}

fn is_covered(object: &Object, interests: &[Interest]) -> bool {
    interests.iter().any(|interest| interest.matches(object))
}

fn is_watched(object: &Object, watches: &[Watch]) -> bool {
    watches.iter().any(|watch| watch.covers(object))
}
