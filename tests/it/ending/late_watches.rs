//! Objects that a watch shows late: each kind has a watch of its own.

use super::*;

/// Each kind of object has a watch of its own. So a controller may see the record of a new
/// invitation before it sees that the Tenant or a binding of the ended peering is gone.
#[test]
fn an_invitation_after_an_end_survives_what_a_watch_shows_late() {
    let mut exchange = authenticated(&Notary::new(YEAR));
    let mut late = vec![Object::from(exchange.stored_tenant())];
    late[0].metadata_mut().deletion_timestamp = Some(exchange.now);
    let is_binding = |object: &&Object| {
        matches!(
            object.id().kind,
            Kind::RoleBinding | Kind::ClusterRoleBinding
        )
    };
    late.extend(exchange.at_provider.iter().filter(is_binding).cloned());
    assert_eq!(late.len(), 3);
    end(&mut exchange);
    exchange.turns_of_provider();
    exchange.invite();
    for object in late {
        let id = object.id();
        let present = exchange.at_provider.clone();
        exchange.at_provider.load(object);
        let step = reconciled(&exchange);
        exchange.at_provider = present;
        // The API server refuses what is based on the object that is gone.
        for effect in &step.effects {
            let _ = exchange.at_provider.apply(effect);
        }
        assert_eq!(exchange.provider_phase().name(), "AwaitsTenant", "{id}");
    }
}

/// Each kind has a watch of its own. So a controller may see the proof and the bindings that
/// another program wrote before it sees the Tenant that they are about.
#[test]
fn a_step_says_whose_absence_it_goes_by() {
    let mut exchange = authenticated(&Notary::new(YEAR));
    assert_eq!(reconciled(&exchange).absent, None);
    let tenant = exchange.stored_tenant().id();
    let present = exchange.at_provider.clone();
    exchange.at_provider.remove(&tenant);
    let step = reconciled(&exchange);
    assert_eq!(step.absent.as_ref(), Some(&tenant));
    assert!(!step.is_settled());

    // It is gone, and the rights with it. Nothing is missed any more.
    exchange.carry_out(true, step);
    exchange.turns_of_provider();
    assert_eq!(reconciled(&exchange).absent, None);

    // An end by the administrator misses nothing.
    exchange.at_provider = present;
    end(&mut exchange);
    for _ in 0..8 {
        let step = reconciled(&exchange);
        assert_eq!(step.absent, None);
        exchange.carry_out(true, step);
    }
}
