//! The recorded condition of a Tenant (rule 6).
//!
//! The provider copies a stricter condition from the Tenant to the record. The
//! recorded condition holds until the provider's administrator lifts it. A Tenant
//! with the condition `Active` does not lift it.

use crate::{
    audit::{Decision, Event},
    model::{Resource, Tenant, TenantCondition},
    provider::{look::Look, record::Record, records::Plan},
};

/// Copies a stricter condition from the Tenant to the record, and emits an event.
pub(crate) fn tighten(look: &Look<'_>, plan: &mut Plan<'_>) {
    let Some(tenant) = look.observed.tenant else {
        return;
    };
    let condition = said_by(tenant);
    // No condition is recorded for a peer that is only invited.
    let known = plan.records.peer.planned();
    let known = known.filter(|record| !record.is_invitation());
    let recorded = known.map(|record| record.condition);
    if recorded.is_none_or(|recorded| condition <= recorded) {
        return;
    }
    plan.records.peer.change(|record| set(record, condition));
    let id = look.configuration.record_id(look.peer());
    let recorded = Decision::ConditionRecorded { condition };
    plan.tell_upon(id, Event::new(look.peer(), recorded).about(tenant.id()));
}

/// The condition in the Tenant itself; `Active` if the Tenant has none.
pub(super) fn said_by(tenant: &Tenant) -> TenantCondition {
    tenant.spec.tenant_condition.unwrap_or_default()
}

/// Sets the recorded condition. If the new condition is milder, the present tokens
/// become invalid. After a drain, the nonce does not serve again.
pub(super) fn set(record: &mut Record, condition: TenantCondition) {
    let milder = condition < record.condition;
    record.condition = condition;
    if condition == TenantCondition::Drained {
        record.end_for_good();
    }
    record.lifts = record.lifts.saturating_add(u64::from(milder));
}

/// Lifts the recorded condition.
pub(crate) fn lift(plan: &mut Plan<'_>) {
    plan.records
        .peer
        .forget(|record| set(record, TenantCondition::Active));
}
