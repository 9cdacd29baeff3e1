use super::*;
use crate::{
    audit::Decision,
    error::{LocalFault, Precondition},
    model::{ClusterId, Namespace, RoleBinding, Tenant, names},
};

fn plan() -> Plan<()> {
    Plan::new(())
}

fn peer() -> ClusterId {
    "cl-consumer".parse().unwrap()
}

fn secret(name: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = name.to_owned();
    secret
}

fn tenant() -> Tenant {
    let mut tenant = Tenant::default();
    tenant.metadata.name = "cl-consumer".to_owned();
    tenant.metadata.finalizers = vec![names::TENANT_FINALIZER.to_owned()];
    tenant
}

fn parts(step: &Step) -> Vec<Part> {
    step.effects.iter().map(Effect::part).collect()
}

#[test]
fn a_rule_that_fails_leaves_nothing() {
    let tenant = tenant();
    let mark = |plan: &mut Plan<()>| plan.edit(&tenant, |tenant| tenant.metadata.uid = "1".into());
    let mut undisturbed = plan();
    mark(&mut undisturbed);

    let mut disturbed = plan();
    mark(&mut disturbed);
    let failed = disturbed.attempt(|plan| -> Result<(), Error> {
        plan.edit(&tenant, |tenant| tenant.metadata.finalizers.clear());
        plan.create(secret("made"));
        plan.withdraw(&RoleBinding::default());
        plan.tell(Event::new(&peer(), Decision::Invited));
        plan.tell_upon(tenant.id(), Event::new(&peer(), Decision::Ended));
        plan.notify(Notice::SignedNonceIsStale);
        plan.await_for(Awaited::Tenant);
        plan.wake_by(Some(Timestamp::EPOCH));
        plan.refuse(Error::new(Precondition::NoTenant, None, ""));
        Err(Error::new(LocalFault::Conflict, None, ""))
    });
    assert!(failed.is_err());
    assert_eq!(disturbed.finish(), undisturbed.finish());
}

#[test]
fn what_is_awaited_before_a_rule_that_fails_stays() {
    let mut plan = plan();
    plan.await_for(Awaited::Tenant);
    let failed = plan.attempt(|plan| -> Result<(), Error> {
        plan.await_for(Awaited::Tenant);
        plan.await_for(Awaited::Names);
        Err(Error::new(LocalFault::Conflict, None, ""))
    });
    assert!(failed.is_err());
    assert_eq!(plan.finish().wait.awaiting, [Awaited::Tenant]);
}

#[test]
fn the_effects_come_in_order_whatever_came_first() {
    let mut binding = RoleBinding::default();
    binding.metadata.name = "binding".to_owned();
    let mut plan = plan();
    plan.forget(&secret("record"));
    plan.edit(&tenant(), |tenant| tenant.metadata.finalizers.clear());
    plan.create(secret("made"));
    plan.create(Namespace::for_tenant(&peer()));
    plan.withdraw(&binding);
    let names = plan.finish().effects.into_iter().map(|it| it.id().name);
    let names: Vec<String> = names.collect();
    assert_eq!(
        names,
        [
            "binding",
            "liqo-tenant-cl-consumer",
            "made",
            "cl-consumer",
            "record"
        ]
    );
}

#[test]
fn an_object_has_one_part_in_a_step_and_the_rest_keeps_its_events() {
    let tenant = tenant();
    let change = |withdraws: bool| {
        let mut plan = plan();
        plan.edit(&tenant, |tenant| tenant.metadata.finalizers.clear());
        let say = |tenant: &mut Tenant| tenant.status.tenant_namespace = "other".to_owned();
        if withdraws {
            plan.withdraw_status(&tenant, say);
        } else {
            plan.edit(&tenant, say);
        }
        let told = |decision| Event::new(&peer(), decision);
        plan.tell_upon_part(tenant.id(), Part::Main, told(Decision::Ended));
        plan.tell_upon_part(tenant.id(), Part::Status, told(Decision::Approved));
        plan.finish()
    };
    let decisions = |step: &Step| -> Vec<Decision> {
        let events = step.events.iter();
        events.map(|event| event.decision.clone()).collect()
    };
    let step = change(false);
    assert_eq!(parts(&step), [Part::Main]);
    assert_eq!(decisions(&step), [Decision::Ended]);
    let step = change(true);
    assert_eq!(parts(&step), [Part::Status]);
    assert_eq!(decisions(&step), [Decision::Approved]);
}

#[test]
fn a_deletion_stands_before_every_other_change() {
    let tenant = tenant();
    let mut plan = plan();
    plan.edit(&tenant, |tenant| tenant.metadata.finalizers.clear());
    plan.delete(&tenant);
    plan.edit(&tenant, |tenant| tenant.metadata.uid = "1".to_owned());
    let step = plan.finish();
    assert!(matches!(step.effects[..], [Effect::Delete { .. }]));
}

#[test]
fn an_edit_changes_the_object_that_the_plan_writes() {
    let stored = secret("stored");
    let mut plan = plan();
    let mut wanted = stored.clone();
    wanted.data = [("a".to_owned(), b"1".as_slice().into())].into();
    plan.put(Some(&stored), wanted.clone());
    let made = secret("made");
    plan.create(made.clone());
    for secret in [&stored, &made] {
        plan.edit(secret, |secret| secret.metadata.uid = "1".to_owned());
    }
    let step = plan.finish();
    let [Effect::Replace { object, .. }, Effect::Create(made)] = &step.effects[..] else {
        panic!("{step:?}");
    };
    wanted.metadata.uid = "1".to_owned();
    assert_eq!(*object, Object::from(wanted));
    assert_eq!(made.metadata().uid, "1");
}

#[test]
fn a_withdrawal_stays_a_withdrawal() {
    let mut binding = RoleBinding::default();
    binding.metadata.name = "binding".to_owned();
    let mut plan = plan();
    plan.create(Namespace::for_tenant(&peer()));
    plan.withdraw(&binding);
    plan.delete(&binding);
    let step = plan.finish();
    assert!(matches!(
        step.effects[..],
        [Effect::Delete { .. }, Effect::Create(_)]
    ));
}
