//! The condition of a Tenant, as this side holds it (rule 6).
//!
//! A peer's file may say `Active`; that lifts nothing. What is stricter is
//! taken from the Tenant into the record, and holds until the provider's
//! administrator lifts it.

use crate::{
    audit::{Decision, Event},
    model::{Resource, Tenant, TenantCondition},
    provider::{
        look::Look,
        record::{Plan, Record},
    },
};

/// Takes a stricter condition from the Tenant into the record, and says so.
pub(in crate::provider) fn tighten(look: &Look<'_>, plan: &mut Plan<'_>) {
    let Some(tenant) = look.observed.tenant else {
        return;
    };
    let condition = said_by(tenant);
    // Before its first proof, nothing of a peer is recorded.
    let known = plan.records.peer.planned();
    let known = known.filter(|record| !record.is_invitation());
    let recorded = known.map(|record| record.condition);
    if recorded.is_none_or(|recorded| condition <= recorded) {
        return;
    }
    plan.records
        .peer
        .change(|record| record.condition = condition);
    let id = look.configuration.record_id(look.peer());
    let recorded = Decision::ConditionRecorded { condition };
    plan.tell_upon(id, Event::new(look.peer(), recorded).about(tenant.id()));
}

/// The condition that the Tenant itself names; `Active` where it names none.
pub(super) fn said_by(tenant: &Tenant) -> TenantCondition {
    tenant
        .spec
        .tenant_condition
        .unwrap_or(TenantCondition::Active)
}

/// Sets the recorded condition. The record's token serves no more if the
/// condition is a milder one.
pub(super) fn set(record: &mut Record, condition: TenantCondition) {
    let milder = condition < record.condition;
    record.condition = condition;
    record.lifts = record.lifts.saturating_add(u64::from(milder));
}

/// Lifts the recorded condition.
pub(in crate::provider) fn lift(plan: &mut Plan<'_>) {
    plan.records
        .peer
        .forget(|record| set(record, TenantCondition::Active));
}
