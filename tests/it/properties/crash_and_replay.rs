//! Crashes after any effect, and messages that come late, twice or out of
//! order. The exchange always ends with the same objects.

use std::collections::BTreeSet;

use liqo_auth::{
    Machine,
    crypto::{CertificateChain, Entropy, Subject},
    error::{Fault, PeerIncompatible},
    machine::{Env, Message, MessageBody, Objects},
    model::{
        ClusterRoleBinding, Object, ObjectRef, Resource, ResourceSlice, RoleBinding, Secret,
        Tenant, TenantCondition, names,
    },
    policy::Policy,
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal, occurrences, occurrences_of_a_life};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever happens, the end is the same: the same keys, subjects and
    /// rights, one certificate for the one request, and no object that an
    /// undisturbed exchange would not leave.
    #[test]
    fn any_course_of_events_ends_like_the_undisturbed_exchange(seed: u64, events in occurrences()) {
        let mut undisturbed = Rehearsal::new(seed).unwrap();
        undisturbed.settle().unwrap();
        let mut disturbed = Rehearsal::new(seed).unwrap();
        for event in events {
            disturbed.play(event).unwrap();
        }
        disturbed.settle().unwrap();
        prop_assert!(disturbed.is_complete().unwrap());
        prop_assert_eq!(disturbed.certificates_signed(), 1);
        prop_assert_eq!(Outcome::of(&disturbed), Outcome::of(&undisturbed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Slices come and go, and cordons, drains and crashes happen in between.
    /// When the peer is active again, the objects are the same as without these
    /// events, and no certificate was signed without need.
    #[test]
    fn any_course_of_a_life_ends_like_an_undisturbed_one(
        seed: u64,
        events in occurrences_of_a_life(),
    ) {
        let mut disturbed = Rehearsal::new(seed).unwrap();
        disturbed.settle().unwrap();
        for event in &events {
            disturbed.play(*event).unwrap();
        }
        disturbed
            .play(Occurrence::Condition { condition: TenantCondition::Active })
            .unwrap();
        disturbed.settle().unwrap();
        prop_assert!(disturbed.is_complete().unwrap());

        let namespace = "liqo-tenant-cl-provider";
        let slice = disturbed.at_consumer.get::<ResourceSlice>(namespace, "mypool");
        let mut undisturbed = Rehearsal::new(seed).unwrap();
        undisturbed.settle().unwrap();
        undisturbed.play(Occurrence::Slice { wanted: slice.is_some() }).unwrap();
        undisturbed.settle().unwrap();
        let mut names = names_of(&disturbed);
        if slice.is_none() {
            // The name of a slice that is gone may be on record, since a
            // certificate of its still holds.
            names[0].retain(|id| !id.name.starts_with("liqo-auth-slice-"));
        }
        prop_assert_eq!(names, names_of(&undisturbed));
        let phases = slice_phases(&disturbed);
        prop_assert_eq!(&phases, &slice_phases(&undisturbed));
        prop_assert!(phases.is_empty() || phases == ["Accepted", "Held"]);

        // A new slice, and a slice that comes back after a drain, needs a
        // certificate.
        let anew = events.iter().filter(|event| matches!(
            event,
            Occurrence::Slice { wanted: true } | Occurrence::Condition { .. }
        ));
        prop_assert!(disturbed.certificates_signed() <= 2 + anew.count());
    }
}

/// Crashes after each prefix of the effects of each step, on both sides.
#[test]
fn a_crash_after_each_effect_of_each_step_loses_nothing() {
    let mut undisturbed = Rehearsal::new(7).unwrap();
    undisturbed.settle().unwrap();
    let mut seen_phases = BTreeSet::new();
    for steps_before in 0..12 {
        for effects in 0..4 {
            for at_provider in [true, false] {
                let mut crashing = Rehearsal::new(7).unwrap();
                for step in 0..steps_before {
                    crashing.play(turn(step % 2 == 0, ALL)).unwrap();
                    crashing
                        .play(Occurrence::Deliver {
                            message: step,
                            effects: ALL,
                        })
                        .unwrap();
                }
                crashing.play(turn(at_provider, effects)).unwrap();
                crashing
                    .play(Occurrence::Deliver {
                        message: steps_before,
                        effects,
                    })
                    .unwrap();
                seen_phases.insert(phase_names(&crashing));
                crashing.settle().unwrap();
                assert!(crashing.is_complete().unwrap());
                assert_eq!(crashing.certificates_signed(), 1);
                assert_eq!(Outcome::of(&crashing), Outcome::of(&undisturbed));
            }
        }
    }
    assert!(
        seen_phases.len() > 6,
        "the crashes met too few phases: {seen_phases:?}"
    );
}

#[test]
fn a_rehearsal_that_begins_again_takes_the_same_course() {
    let mut once = Rehearsal::new(7).unwrap();
    once.settle().unwrap();
    let mut again = Rehearsal::new(7).unwrap();
    again
        .play(Occurrence::Signer { answers: false })
        .and_then(|()| again.play(Occurrence::Wait { seconds: 60 }))
        .unwrap();
    again.settle().unwrap();
    again.begin_again();
    assert_eq!(again.certificates_signed(), 0);
    again.settle().unwrap();
    assert_eq!(again.at_provider, once.at_provider);
    assert_eq!(again.at_consumer, once.at_consumer);
    assert_eq!(again.messages, once.messages);
    assert_eq!(again.certificates_signed(), 1);
}

#[test]
fn a_message_delivered_again_changes_nothing() {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    rehearsal.settle().unwrap();
    let before = (rehearsal.at_provider.clone(), rehearsal.at_consumer.clone());
    for message in 0..rehearsal.messages.len() {
        rehearsal
            .play(Occurrence::Deliver {
                message,
                effects: ALL,
            })
            .unwrap();
    }
    rehearsal.settle().unwrap();
    assert_eq!(
        before,
        (rehearsal.at_provider.clone(), rehearsal.at_consumer.clone())
    );
}

/// The record of a key and a request does not make another signature valid.
#[test]
fn an_authenticated_consumers_tenant_is_refused_with_another_signature() {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    rehearsal.settle().unwrap();
    let sent = rehearsal
        .messages
        .iter()
        .find_map(|message| match &message.body {
            MessageBody::Tenant(tenant) => Some(tenant.clone()),
            _ => None,
        });
    let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
    let receive = |tenant| {
        let env = Env {
            now: rehearsal.now,
            entropy: Entropy::from_bytes([7; 32]),
        };
        let provider = &rehearsal.provider;
        let body = MessageBody::Tenant(tenant);
        let message = Message::new(view.peer(), provider.cluster_id(), body);
        provider.receive(&view, message, env)
    };
    let mut tenant = sent.unwrap();
    assert!(receive(tenant.clone()).unwrap().is_settled());
    let mut signature = tenant.spec.signature.as_slice().to_vec();
    signature[0] ^= 1;
    tenant.spec.signature = signature.into();
    let error = receive(tenant).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::NonceSignature(_))
    ));
}

fn turn(at_provider: bool, effects: usize) -> Occurrence {
    if at_provider {
        Occurrence::Provider { effects }
    } else {
        Occurrence::Consumer { effects }
    }
}

/// The names of all objects of both sides.
fn names_of(rehearsal: &Rehearsal) -> [BTreeSet<ObjectRef>; 2] {
    [&rehearsal.at_provider, &rehearsal.at_consumer]
        .map(|objects| objects.iter().map(Object::id).collect())
}

/// The phases of the slices, the provider's first.
fn slice_phases(rehearsal: &Rehearsal) -> Vec<&'static str> {
    let (provider, consumer) = (&rehearsal.provider, &rehearsal.consumer);
    let at_provider = rehearsal.at_provider.view(consumer.cluster_id());
    let at_consumer = rehearsal.at_consumer.view(provider.cluster_id());
    let provider = provider.look(&at_provider, rehearsal.now).unwrap();
    let consumer = consumer.look(&at_consumer, rehearsal.now).unwrap();
    let at_provider = provider.slices.iter().map(|slice| slice.phase.name());
    let at_consumer = consumer.slices.iter().map(|slice| slice.phase.name());
    at_provider.chain(at_consumer).collect()
}

fn phase_names(rehearsal: &Rehearsal) -> (&'static str, &'static str) {
    let (provider, consumer) = (&rehearsal.provider, &rehearsal.consumer);
    let at_provider = rehearsal.at_provider.view(consumer.cluster_id());
    let at_consumer = rehearsal.at_consumer.view(provider.cluster_id());
    (
        provider
            .look(&at_provider, rehearsal.now)
            .unwrap()
            .phase
            .name(),
        consumer
            .look(&at_consumer, rehearsal.now)
            .unwrap()
            .phase
            .name(),
    )
}

/// The parts of the result that must always be the same.
#[derive(Debug, PartialEq)]
struct Outcome {
    at_provider: BTreeSet<ObjectRef>,
    at_consumer: BTreeSet<ObjectRef>,
    key: Vec<u8>,
    request: Vec<u8>,
    certified_subject_and_key: bool,
    rights: Vec<String>,
}

impl Outcome {
    fn of(rehearsal: &Rehearsal) -> Self {
        let consumer = rehearsal.consumer.cluster_id();
        let namespace = names::tenant_namespace(consumer);
        let provider = &rehearsal.at_provider;
        let tenant: &Tenant = provider.get(&namespace, consumer.as_str()).unwrap();
        let certificate: &Secret = provider
            .get(&namespace, names::ISSUED_CERTIFICATE_SECRET)
            .unwrap();
        let chain = CertificateChain::from_pem(
            certificate.data[names::CERTIFICATE].expose(),
            &Policy::strict(),
        )
        .unwrap();
        let key = tenant.spec.public_key.as_slice().to_vec();
        let bindings = provider.iter().filter_map(|object| {
            let subjects = RoleBinding::from_object(object)
                .map(|binding| (&binding.role_ref, &binding.subjects))
                .or_else(|| {
                    ClusterRoleBinding::from_object(object)
                        .map(|binding| (&binding.role_ref, &binding.subjects))
                });
            subjects.map(|grant| format!("{} {grant:?}", object.id()))
        });
        Self {
            at_provider: ids(provider),
            at_consumer: ids(&rehearsal.at_consumer),
            request: tenant.spec.csr.as_slice().to_vec(),
            certified_subject_and_key: chain.leaf().subject_is(&Subject::control_plane(consumer))
                && chain.leaf().spki_der.ends_with(&key),
            key,
            rights: bindings.collect(),
        }
    }
}

fn ids(objects: &Objects) -> BTreeSet<ObjectRef> {
    objects.iter().map(|object| object.id()).collect()
}
