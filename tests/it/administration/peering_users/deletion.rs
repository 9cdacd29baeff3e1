//! How a peering user is deleted, and what keeps its name in use.

use liqo_auth::{
    audit::Decision,
    error::LocalFault,
    machine::Effect,
    model::{CertificateSigningRequest, Kind, Metadata, Object, ObjectRef, Resource, RoleBinding},
};

use super::{USER, begin, creation::name, refused, signed, with_roles};
use crate::clusters::exchange::{Exchange, ed25519, id};

#[test]
fn a_second_user_is_refused_until_the_first_is_deleted() {
    let mut exchange = with_roles();
    let first = begin(&exchange).unwrap();
    let user = signed(&first).unwrap();
    exchange.carry_out(true, user.step);
    let binding = ObjectRef::new(Kind::RoleBinding, "liqo", format!("{USER}-liqo-ns-reader"));
    refused(&exchange, LocalFault::PeeringUserExists, Some(binding));
    // The user of another peer is not affected.
    let other = exchange.at_provider.view(&id("cl-other"));
    let key = ed25519(50);
    assert!(
        exchange
            .provider
            .peering_user(&other, key, exchange.env())
            .is_ok()
    );

    let step = delete(&mut exchange);
    let [event] = step.events.as_slice() else {
        panic!("{:?}", step.events);
    };
    assert_eq!(
        event.decision,
        Decision::PeeringUserDeleted {
            user: USER.to_owned()
        }
    );
    let left = exchange.at_provider.iter().map(Object::id);
    assert!(left.into_iter().all(|id| id.kind != Kind::RoleBinding));
    let second = begin(&exchange).unwrap();
    assert_ne!(name(&second), name(&first));
    // A second deletion changes nothing and does not log a decision.
    let step = delete(&mut exchange);
    assert!(step.is_settled() && step.events.is_empty());
}

#[test]
fn a_certificate_request_alone_blocks_a_second_user_until_it_is_deleted() {
    let mut exchange = with_roles();
    let request = begin(&exchange).unwrap().certificate_signing_request();
    let id = request.id();
    exchange.at_provider.insert(request.into());
    refused(&exchange, LocalFault::PeeringUserExists, Some(id.clone()));
    let step = delete(&mut exchange);
    assert_eq!(
        step.effects.iter().map(Effect::id).collect::<Vec<_>>(),
        [id]
    );
}

#[test]
fn an_object_of_the_same_name_without_the_label_is_a_conflict_and_is_not_deleted() {
    let metadata = |namespace: &str, name: String| Metadata {
        name,
        namespace: namespace.to_owned(),
        ..Metadata::default()
    };
    for object in [
        Object::from(RoleBinding {
            metadata: metadata(
                "liqo",
                "liqo-peer-user-cl-consumer-liqo-ns-reader".to_owned(),
            ),
            ..RoleBinding::default()
        }),
        Object::from(RoleBinding {
            metadata: metadata(
                "anywhere",
                "liqo-peer-user-cl-consumer-tenant-ns-writer".to_owned(),
            ),
            ..RoleBinding::default()
        }),
        Object::from(CertificateSigningRequest {
            metadata: metadata("", USER.to_owned()),
            ..CertificateSigningRequest::default()
        }),
    ] {
        let mut exchange = with_roles();
        let id = object.id();
        exchange.at_provider.insert(object);
        refused(&exchange, LocalFault::Conflict, Some(id));
        assert!(delete(&mut exchange).is_settled());
    }
}

#[test]
fn after_a_crash_at_any_effect_the_user_can_be_deleted_and_made_again() {
    let clean = with_roles();
    let user = signed(&begin(&clean).unwrap()).unwrap();
    for carried_out in 0..=user.step.effects.len() {
        let mut exchange = with_roles();
        for effect in user.step.effects.iter().take(carried_out) {
            exchange.at_provider.apply(effect).unwrap();
        }
        // A namespace without a binding does not count as a user.
        assert_eq!(begin(&exchange).is_err(), carried_out > 1);
        let deleting = delete_step(&exchange);
        for also in 0..=deleting.effects.len() {
            let mut crashed = exchange.at_provider.clone();
            for effect in deleting.effects.iter().take(also) {
                crashed.apply(effect).unwrap();
            }
            let mut exchange = Exchange {
                at_provider: crashed,
                ..with_roles()
            };
            delete(&mut exchange);
            let new = begin(&exchange).unwrap();
            let step = signed(&new).unwrap().step;
            exchange.carry_out(true, step);
        }
    }
}

#[test]
fn peering_users_and_peerings_do_not_affect_each_other() {
    let mut exchange = with_roles();
    exchange.settle();
    let user = signed(&begin(&exchange).unwrap()).unwrap();
    assert!(
        user.step
            .effects
            .iter()
            .all(|effect| effect.id().kind != Kind::Namespace)
    );
    exchange.carry_out(true, user.step);
    exchange.edit_tenant(|tenant| {
        tenant.spec.tenant_condition = Some(liqo_auth::model::TenantCondition::Drained);
    });
    exchange.settle();
    let users: Vec<_> = exchange
        .at_provider
        .iter()
        .filter(|object| object.id().kind == Kind::RoleBinding)
        .map(|object| object.id().name)
        .collect();
    assert_eq!(
        users,
        [
            format!("{USER}-liqo-ns-reader"),
            format!("{USER}-tenant-ns-writer")
        ]
    );
}

fn delete_step(exchange: &Exchange) -> liqo_auth::Step {
    let view = exchange.provider_view();
    exchange.provider.delete_peering_user(&view).unwrap()
}

fn delete(exchange: &mut Exchange) -> liqo_auth::Step {
    let step = delete_step(exchange);
    exchange.carry_out(true, step)
}
