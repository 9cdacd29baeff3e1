//! What takes a peer's rights back, and who may give them again.
#![cfg(feature = "proptest")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic.

use liqo_auth::{
    model::{
        ClusterRoleBinding, Kind, Object, Resource, RoleBinding, Tenant, TenantCondition, names,
    },
    objects::Objects,
    rehearsal::{ALL, Event, Rehearsal},
    step::Message,
};

#[test]
fn draining_a_peer_deletes_its_bindings_and_keeps_its_certificate() {
    let mut rehearsal = authenticated();
    assert_eq!(bindings(&rehearsal.at_provider), 2);
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Drained");
    assert_eq!(bindings(&rehearsal.at_provider), 0);
    assert_eq!(rehearsal.certificates_signed(), 1);
}

#[test]
fn a_tenant_applied_again_does_not_lift_the_condition() {
    let mut rehearsal = authenticated();
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();

    // By the consumer's message: the condition stays in the Tenant.
    let number = rehearsal
        .messages()
        .iter()
        .position(|message| matches!(message, Message::Tenant(_)));
    rehearsal
        .play(Event::Deliver {
            message: number.unwrap(),
            effects: ALL,
        })
        .unwrap();
    assert_eq!(
        tenant(&rehearsal).spec.tenant_condition,
        Some(TenantCondition::Drained)
    );

    // By a file that says Active: the record holds.
    set_condition(&mut rehearsal, TenantCondition::Active);
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Drained");
    assert_eq!(bindings(&rehearsal.at_provider), 0);
}

#[test]
fn the_administrator_lifts_the_condition_and_the_bindings_come_back() {
    let mut rehearsal = authenticated();
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    set_condition(&mut rehearsal, TenantCondition::Active);

    let consumer = rehearsal.consumer().cluster_id().clone();
    let step = rehearsal
        .provider()
        .lift_condition(&rehearsal.at_provider.view(&consumer))
        .unwrap();
    for effect in &step.effects {
        rehearsal.at_provider.apply(effect).unwrap();
    }
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Authenticated");
    assert_eq!(bindings(&rehearsal.at_provider), 2);
    assert_eq!(rehearsal.certificates_signed(), 1);
}

#[test]
fn cordoning_a_peer_keeps_what_it_has() {
    let mut rehearsal = authenticated();
    set_condition(&mut rehearsal, TenantCondition::Cordoned);
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Authenticated");
    assert_eq!(bindings(&rehearsal.at_provider), 2);
}

#[test]
fn a_deleted_tenant_takes_all_bindings_with_it_before_it_is_let_go() {
    let mut rehearsal = authenticated();
    let mut deleted = tenant(&rehearsal).clone();
    assert_eq!(deleted.metadata.finalizers, [names::TENANT_FINALIZER]);
    deleted.metadata.deletion_timestamp = Some(rehearsal.now());
    rehearsal.at_provider.insert(deleted.into());
    assert_eq!(phase(&rehearsal), "Ending");

    rehearsal.play(Event::Provider { effects: 2 }).unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), 0);
    assert_eq!(
        tenant(&rehearsal).metadata.finalizers,
        [names::TENANT_FINALIZER]
    );
    rehearsal.play(Event::Provider { effects: ALL }).unwrap();
    assert_eq!(tenant(&rehearsal).metadata.finalizers, [""; 0]);
}

#[test]
fn rights_whose_tenant_is_gone_are_taken_back() {
    let mut rehearsal = authenticated();
    let id = tenant(&rehearsal).id();
    rehearsal.at_provider.remove(&id).unwrap();
    assert_eq!(phase(&rehearsal), "Ending");
    rehearsal.play(Event::Provider { effects: ALL }).unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), 0);
    // The nonce has served; the same Tenant again needs a new one.
    assert_eq!(phase(&rehearsal), "NeedsNonce");
}

#[test]
fn bindings_that_are_not_ours_stay() {
    let mut rehearsal = authenticated();
    let mut foreign: ClusterRoleBinding = rehearsal
        .at_provider
        .iter()
        .find_map(ClusterRoleBinding::from_object)
        .unwrap()
        .clone();
    foreign.metadata.name = "somebody-elses".into();
    rehearsal.at_provider.insert(foreign.into());
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), 1);
}

fn authenticated() -> Rehearsal {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    rehearsal.settle().unwrap();
    assert!(rehearsal.is_complete().unwrap());
    rehearsal
}

fn tenant(rehearsal: &Rehearsal) -> &Tenant {
    let consumer = rehearsal.consumer().cluster_id();
    let namespace = names::tenant_namespace(consumer);
    rehearsal
        .at_provider
        .get(&namespace, consumer.as_str())
        .unwrap()
}

/// As `kubectl apply` or `kubectl patch` would.
fn set_condition(rehearsal: &mut Rehearsal, condition: TenantCondition) {
    let mut changed = tenant(rehearsal).clone();
    changed.spec.tenant_condition = Some(condition);
    rehearsal.at_provider.insert(changed.into());
}

fn phase(rehearsal: &Rehearsal) -> &'static str {
    let view = rehearsal
        .at_provider
        .view(rehearsal.consumer().cluster_id());
    rehearsal
        .provider()
        .resume(&view, rehearsal.now())
        .unwrap()
        .phase
        .name()
}

fn bindings(objects: &Objects) -> usize {
    let is_binding = |object: &&Object| {
        RoleBinding::from_object(object).is_some() || object.id().kind == Kind::ClusterRoleBinding
    };
    objects.iter().filter(is_binding).count()
}
