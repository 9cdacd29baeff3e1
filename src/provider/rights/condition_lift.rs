//! The token by which an administrator lifts the recorded condition (rule 6).
//!
//! A change of the Tenant alone must not lift the recorded condition, since the
//! Tenant may be applied again from the peer's file. An administrator who patches
//! the Tenant with `kubectl` therefore adds a token. The token is in the record's
//! Secret in the provider's namespace, and in no file of the peer. It is valid for
//! one lift to one condition:
//!
//! ```sh
//! token=$(kubectl get secret -n liqo liqo-auth-provider-cl-consumer \
//!     -o jsonpath='{.data.liftCondition}' | base64 -d)
//! kubectl patch tenant -n liqo-tenant-cl-consumer cl-consumer --type merge -p \
//!     '{"metadata":{"annotations":{"liqo-auth/lift-condition":"'$token'"}},"spec":{"tenantCondition":"Active"}}'
//! ```

use super::condition::{said_by, set};
use crate::{
    audit::{Decision, Event},
    machine::Notice,
    model::{Resource, Tenant, TenantCondition, names},
    provider::{
        lift_token::{LiftToken, lift_tokens},
        look::Look,
        records::Plan,
    },
};

/// Sets a peer's condition, milder or stricter, in the Tenant and in the record. A
/// stricter condition goes to the record first. A milder condition goes to the
/// record last: if that write fails, the token in the Tenant still lifts the
/// recorded condition.
pub(crate) fn set_condition(look: &Look<'_>, condition: TenantCondition, plan: &mut Plan<'_>) {
    let observed = look.observed;
    let before = observed.condition();
    let record = observed.record();
    let is_milder = record.is_some_and(|record| condition < record.condition);
    if is_milder {
        plan.records.peer.forget(|record| set(record, condition));
    } else {
        plan.records.peer.change(|record| set(record, condition));
    }
    if let Some(tenant) = observed.tenant {
        plan.edit(tenant, |tenant| {
            if said_by(tenant) != condition {
                tenant.spec.tenant_condition = Some(condition);
            }
            if let Some(record) = record.filter(|_| is_milder) {
                let token = LiftToken {
                    configuration: look.configuration,
                    peer: look.peer(),
                    record,
                    to: condition,
                };
                let annotations = &mut tenant.metadata.annotations;
                annotations.insert(names::LIFT_CONDITION_ANNOTATION.to_owned(), token.text());
            }
        });
    }
    let decision = match condition.cmp(&before) {
        core::cmp::Ordering::Less => Decision::ConditionLifted,
        core::cmp::Ordering::Greater => Decision::ConditionRecorded { condition },
        core::cmp::Ordering::Equal => return,
    };
    let event = Event::new(look.peer(), decision);
    let record = look.configuration.record_id(look.peer());
    match observed.tenant_id() {
        Some(tenant) => plan.tell_upon_any([tenant.clone(), record], event.about(tenant)),
        None => plan.tell_upon(record, event),
    }
}

/// Lifts the recorded condition if the Tenant carries a valid token. Removes a used
/// or invalid token. Adds a notice if the recorded condition is stricter than the
/// Tenant's.
pub(crate) fn apply_lift(look: &Look<'_>, plan: &mut Plan<'_>) {
    let (Some(tenant), Some(record)) = (look.observed.tenant, look.observed.record()) else {
        return;
    };
    if tenant.metadata.deletion_timestamp.is_some() {
        return;
    }
    let said = said_by(tenant);
    let is_held = look.observed.is_condition_held();
    let annotations = &tenant.metadata.annotations;
    let given = annotations.get(names::LIFT_CONDITION_ANNOTATION);
    let token = given.and_then(|given| {
        lift_tokens(look.configuration, look.peer(), record).find(|token| token.matches(given))
    });
    if is_held && token.is_some_and(|token| token.to == said) {
        plan.records.peer.forget(|record| set(record, said));
        let lifted = Event::new(look.peer(), Decision::ConditionLifted).about(tenant.id());
        plan.tell_upon_forgetting(look.configuration.record_id(look.peer()), lifted);
        return;
    }
    if is_held {
        let condition = record.condition;
        plan.notify(Notice::ConditionHeld { condition });
    }
    // A valid token stays, since it may arrive before the condition.
    if given.is_some() && token.is_none() {
        plan.edit(tenant, take_token_off);
    }
}

fn take_token_off(tenant: &mut Tenant) {
    let annotations = &mut tenant.metadata.annotations;
    annotations.remove(names::LIFT_CONDITION_ANNOTATION);
}
