//! Properties of each step of a provider: at most one effect for each object,
//! effects in a fixed order, and no effects of a rule that failed.

use std::collections::{BTreeMap, BTreeSet};

use liqo_auth::{
    Machine,
    error::{Backend, Error, Fault, LocalFault},
    machine::{Effect, Objects, Part, Step},
    model::{Kind, Object, ObjectRef, names},
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal, occurrences_of_a_life};
use proptest::prelude::*;

use super::{
    backends::Mood,
    provider_life::{Check, Deed, Life, Made, Signer, beginning, deeds, is_binding},
};

/// More steps than any state needs to settle without changes from outside.
const MOST_LOOKS: usize = 12;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// This holds for all actions of peers, administrators and backends, and
    /// for all interruptions of steps.
    #[test]
    fn every_step_of_a_life_is_in_order(
        signer in prop::sample::select(vec![Signer::Backend, Signer::Kubernetes, Signer::Aws]),
        begins in prop::bool::weighted(0.8),
        deeds in deeds(),
    ) {
        let mut life = Life::new(signer);
        let mut check = |life: &Life, step: &Result<Step, Error>, made| {
            if let Ok(step) = step {
                check_step(&life.exchange.at_provider, step, may_forget(life, made));
            }
        };
        let beginning = beginning().take(if begins { usize::MAX } else { 0 });
        for deed in beginning.chain(deeds) {
            life.play(&deed, &mut check);
            a_rule_that_fails_leaves_nothing(&life);
        }
        comes_to_rest(&mut life, &mut check);
        life.backends.set(Mood::Answers);
        comes_to_rest(&mut life, &mut check);
    }

    /// The same law for both clusters together. The consumer works by itself.
    #[test]
    fn every_step_at_the_provider_of_a_whole_life_is_in_order(
        seed: u64,
        events in occurrences_of_a_life(),
    ) {
        let mut rehearsal = Rehearsal::new(seed).unwrap();
        rehearsal.settle().unwrap();
        for event in events {
            rehearsal.play(event).unwrap();
            let objects = &rehearsal.at_provider;
            let view = objects.view(rehearsal.consumer.cluster_id());
            let env = liqo_auth::machine::Env {
                now: rehearsal.now,
                entropy: liqo_auth::crypto::Entropy::from_bytes([3; 32]),
            };
            check_step(objects, &rehearsal.provider.reconcile(&view, env).unwrap(), false);
        }
        for look in 0.. {
            let before = rehearsal.at_provider.clone();
            rehearsal.play(Occurrence::Provider { effects: ALL }).unwrap();
            if rehearsal.at_provider == before {
                break;
            }
            prop_assert!(look < MOST_LOOKS, "the looks do not end");
        }
    }
}

/// Whether the step may write a record only to remove something from it.
fn may_forget(life: &Life, made: Made) -> bool {
    let carries_a_token = |tenant: &liqo_auth::model::Tenant| {
        let annotations = &tenant.metadata.annotations;
        annotations.contains_key(names::LIFT_CONDITION_ANNOTATION)
    };
    made == Made::Act || life.tenant().is_some_and(carries_a_token)
}

fn check_step(objects: &Objects, step: &Step, may_forget: bool) {
    let ids: BTreeSet<ObjectRef> = step.effects.iter().map(Effect::id).collect();
    assert_eq!(ids.len(), step.effects.len(), "an object has two effects");
    let stored: BTreeMap<ObjectRef, &Object> =
        objects.iter().map(|object| (object.id(), object)).collect();
    let mut place = Place::Withdrawal;
    for effect in &step.effects {
        let stored = stored.get(&effect.id()).copied();
        keeps_off_the_unreadable(effect, stored);
        let possible = places(effect, stored, may_forget);
        let next = possible.iter().find(|possible| **possible >= place);
        place = *next.unwrap_or_else(|| panic!("{effect:?} comes after {place:?}: {step:?}"));
    }
    if step.effects.is_empty() {
        assert_eq!(step.events, [], "nothing happens, and that is told");
    }
    // All effects apply in this order.
    let mut objects = objects.clone();
    for effect in &step.effects {
        objects.apply(effect).unwrap();
    }
}

/// The place of an effect in the order of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Withdrawal,
    Namespace,
    PeersRecord,
    SlicesRecord,
    Rule,
    Release,
    Forgetting,
}

/// The possible places of an effect, the earliest first.
fn places(effect: &Effect, stored: Option<&Object>, may_forget: bool) -> Vec<Place> {
    let id = effect.id();
    let is_deletion = matches!(effect, Effect::Delete { .. });
    if is_binding(id.kind) && is_deletion {
        return vec![Place::Withdrawal];
    }
    if id.kind == Kind::Namespace {
        return vec![Place::Namespace];
    }
    if id.kind == Kind::Secret && id.namespace == names::LIQO_NAMESPACE {
        let of_the_peer = id.name.starts_with("liqo-auth-provider-");
        let record = match of_the_peer {
            true => Place::PeersRecord,
            false => Place::SlicesRecord,
        };
        // The record of a slice that is gone keeps its name only.
        let is_tombstone = match effect {
            Effect::Replace {
                object: Object::Secret(record),
                ..
            } => !String::from_utf8_lossy(record.data["record"].expose()).contains("\"uid\""),
            _ => false,
        };
        return match (is_deletion, may_forget || is_tombstone) {
            (true, _) => vec![Place::Forgetting],
            (false, true) => vec![record, Place::Forgetting],
            (false, false) => vec![record],
        };
    }
    let released = match effect {
        Effect::Patch {
            part: Part::Main,
            patch,
            ..
        } => patch.pointer("/metadata/finalizers"),
        _ => None,
    };
    let finalizers = stored.map(Object::metadata).map(|it| it.finalizers.len());
    match released {
        Some(left) if left.as_array().map_or(0, Vec::len) < finalizers.unwrap_or(0) => {
            vec![Place::Release]
        }
        _ => vec![Place::Rule],
    }
}

/// An unreadable object may be deleted or lose its finalizer, but it is never
/// written.
fn keeps_off_the_unreadable(effect: &Effect, stored: Option<&Object>) {
    let is_there = stored.is_some_and(|stored| stored.as_unreadable().is_some());
    let writes = match effect {
        Effect::Delete { .. } => false,
        Effect::Patch { patch, .. } => patch.pointer("/metadata/finalizers").is_none(),
        _ => true,
    };
    assert!(
        !(is_there && writes),
        "{effect:?} writes what cannot be read"
    );
}

/// If a backend fails, the step has the same effects and events as if the
/// backend answered later: none.
fn a_rule_that_fails_leaves_nothing(life: &Life) {
    let look = |mood| life.backends.while_all(mood, || life.look());
    let (pending, failed) = (look(Mood::Pends), look(Mood::Fails));
    let Ok(pending) = pending else {
        // A failure without a backend is also a failure with a failing backend.
        assert!(failed.is_err(), "{failed:?}");
        return;
    };
    match failed {
        // The provider's own key cannot answer later. If it fails, what it signs for is put
        // off, such as a renewal.
        Ok(failed) if !proves(&pending) && lacks_a_key(&failed) => {
            let planned: Vec<_> = pending.effects.iter().map(Effect::id).collect();
            let mut effects = failed.effects.iter();
            assert!(effects.all(|effect| planned.contains(&effect.id())));
            let mut events = failed.events.iter();
            assert!(events.all(|event| pending.events.contains(event)));
        }
        Ok(failed) if !proves(&pending) => {
            assert_eq!(failed.effects, pending.effects);
            assert_eq!(failed.events, pending.events);
        }
        // For the same reason, the proof is not accepted yet.
        Ok(failed) => {
            assert!(!proves(&failed), "{failed:?}");
            let mut objects = life.exchange.at_provider.clone();
            for effect in &failed.effects {
                objects.apply(effect).unwrap();
            }
            let view = objects.view(life.exchange.consumer.cluster_id());
            let status = life.exchange.provider.look(&view, life.exchange.now);
            assert_eq!(status.unwrap().phase.name(), "NeedsProof");
        }
        Err(_) => assert!(
            pending.effects.is_empty() || proves(&pending),
            "{pending:?}"
        ),
    }
}

/// Whether the step accepts a proof.
fn proves(step: &Step) -> bool {
    use liqo_auth::audit::Decision;
    let mut events = step.events.iter();
    events.any(|event| matches!(event.decision, Decision::HandshakeVerified))
}

/// Whether a key of the provider has failed.
fn lacks_a_key(step: &Step) -> bool {
    let mut faults = step.refused.iter().map(|refused| refused.error.fault());
    faults.any(|fault| {
        matches!(
            fault,
            Fault::Local(LocalFault::Backend {
                backend: Backend::Keys,
                ..
            })
        )
    })
}

/// Without changes from outside, the provider settles.
fn comes_to_rest(life: &mut Life, check: Check<'_>) {
    for _ in 0..MOST_LOOKS {
        let step = life.look();
        if step.as_ref().map_or(true, Step::is_settled) {
            return;
        }
        life.play(&Deed::Look { effects: ALL }, check);
    }
    panic!("the looks do not end: {:#?}", life.look());
}
