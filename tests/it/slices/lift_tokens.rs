//! Who may lift a recorded condition, and what says which condition is in force.

use liqo_auth::{
    Machine,
    machine::{Notice, Remedy, Status},
    model::{TenantCondition, names},
};

use super::conditions::{RECORD, bindings, is_held, is_marked};
use crate::clusters::pool::{Pool, consumer, replica};

#[test]
fn the_condition_in_force_is_told_and_who_holds_it() {
    let mut pool = Pool::new();
    let told = |pool: &Pool| {
        let status = status(pool);
        let remedies = status.notices.iter().filter_map(Notice::remedy);
        let lifts = remedies.filter(|remedy| matches!(remedy, Remedy::LiftCondition { .. }));
        let lifts = lifts.collect::<Vec<_>>();
        (status.condition, status.is_condition_held, lifts)
    };
    assert_eq!(told(&pool), (Some(TenantCondition::Active), false, vec![]));

    let cordoned = TenantCondition::Cordoned;
    pool.write_condition(cordoned).settle();
    assert_eq!(told(&pool), (Some(cordoned), false, vec![]));

    // As liqoctl does, which does not know the record.
    pool.write_condition(TenantCondition::Active).settle();
    let lift = Remedy::LiftCondition {
        condition: cordoned,
    };
    assert_eq!(told(&pool), (Some(cordoned), true, vec![lift]));

    pool.administer(|provider, objects, _| {
        provider.set_condition(&objects.view(&consumer()), TenantCondition::Active)
    });
    pool.settle();
    assert_eq!(told(&pool), (Some(TenantCondition::Active), false, vec![]));
}

fn status(pool: &Pool) -> Status {
    let provider: &dyn Machine = &pool.provider;
    let view = pool.at_provider.view(&consumer());
    provider.look(&view, pool.now).unwrap()
}

#[test]
fn a_tenant_that_is_applied_again_lifts_no_condition() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    pool.write_condition(TenantCondition::Cordoned).settle();
    let token = token(&pool);
    for forged in [
        "",
        "x",
        "Active",
        token.strip_prefix(|_: char| true).unwrap(),
        &format!("{token}A"),
        &"A".repeat(22),
        &"A".repeat(10_000),
        &liqo_token_of(TenantCondition::Drained),
    ] {
        pool.edit_tenant(|tenant| {
            let annotations = &mut tenant.metadata.annotations;
            annotations.insert(names::LIFT_CONDITION_ANNOTATION.into(), forged.into());
        });
        pool.write_condition(TenantCondition::Active).settle();
        assert_eq!(is_held(&pool), Some(TenantCondition::Cordoned), "{forged}");
        assert!(is_marked(&pool, "mypool"));
        let annotations = &pool.tenant().metadata.annotations;
        assert_eq!(annotations.get(names::LIFT_CONDITION_ANNOTATION), None);
    }
    let condition = TenantCondition::Cordoned;
    assert!(
        pool.reconcile()
            .notices
            .contains(&Notice::ConditionHeld { condition })
    );
}

#[test]
fn a_patch_of_the_tenant_lifts_a_condition_with_the_token_on_record() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    pool.write_condition(TenantCondition::Drained).settle();
    let first = token_in(&pool, "liftConditionToCordoned");

    // The condition and the token are written one after the other, in either
    // order.
    let give = |pool: &mut Pool, token: &str| {
        let token = token.to_owned();
        pool.edit_tenant(|tenant| {
            let annotations = &mut tenant.metadata.annotations;
            annotations.insert(names::LIFT_CONDITION_ANNOTATION.into(), token);
        });
    };
    give(&mut pool, &first);
    pool.settle();
    assert_eq!(is_held(&pool), Some(TenantCondition::Drained));
    pool.write_condition(TenantCondition::Cordoned).settle();
    assert_eq!(is_held(&pool), Some(TenantCondition::Cordoned));
    let annotations = &pool.tenant().metadata.annotations;
    assert_eq!(annotations.get(names::LIFT_CONDITION_ANNOTATION), None);
    assert_eq!(bindings(&pool), 2);

    pool.write_condition(TenantCondition::Active).settle();
    let second = token(&pool);
    give(&mut pool, &second);
    pool.settle();
    assert_eq!(is_held(&pool), None);
    assert!(
        pool.secret("liqo", RECORD)
            .unwrap()
            .get("liftCondition")
            .is_none()
    );

    // A used token cannot be used again.
    for (condition, token) in [
        (TenantCondition::Drained, first),
        (TenantCondition::Cordoned, second),
    ] {
        pool.write_condition(condition).settle();
        give(&mut pool, &token);
        pool.write_condition(TenantCondition::Active).settle();
        assert_eq!(is_held(&pool), Some(condition));
        pool.administer(|provider, objects, _| {
            provider.set_condition(&objects.view(&consumer()), TenantCondition::Active)
        });
        pool.settle();
    }
}

/// The token to `Active` in the record's Secret.
fn token(pool: &Pool) -> String {
    token_in(pool, "liftCondition")
}

fn token_in(pool: &Pool, field: &str) -> String {
    let record = pool.secret("liqo", RECORD).unwrap();
    String::from_utf8(record.get(field).unwrap().to_vec()).unwrap()
}

/// The token of another provider's record.
fn liqo_token_of(condition: TenantCondition) -> String {
    let mut pool = Pool::new();
    pool.write_condition(condition).settle();
    token(&pool)
}
