//! The condition of a Tenant, as this side holds it (rule 6).
//!
//! A peer's file may say `Active`; that lifts nothing. What is stricter is
//! taken from the Tenant into the record, and holds until the provider's
//! administrator lifts it.

use super::condition_lift::with_condition;
use crate::{
    audit::{Decision, Event},
    error::Error,
    machine::{Step, View},
    model::{ClusterId, Resource, Tenant, TenantCondition},
    provider::{Provider, observed::Observed, record::peer::Record},
};

impl Provider {
    /// Lifts a peer's recorded condition: it is then what the Tenant says. The
    /// Tenant itself is the administrator's to change, before or after;
    /// [`set_condition`](Self::set_condition) does both.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn lift_condition(&self, view: &View<'_>) -> Result<Step, Error> {
        let observed = Observed::select(self, view)?;
        let mut step = Step::default();
        if let Some((_, record)) = &observed.record
            && record.condition != TenantCondition::Active
        {
            let lifted = with_condition(record, TenantCondition::Active);
            step.effects.push(self.write_record(&observed, &lifted));
            step.events
                .push(Event::new(&observed.peer, Decision::ConditionLifted));
        }
        Ok(step)
    }

    /// Takes a stricter condition into the record, unless the step writes the
    /// record already.
    pub(in crate::provider) fn tighten_condition(
        &self,
        observed: &Observed<'_>,
        tenant: &Tenant,
        step: &mut Step,
    ) {
        let Some((secret, record)) = &observed.record else {
            return;
        };
        let mut record = record.clone();
        let Some(event) = tighten(&mut record, &observed.peer, tenant) else {
            return;
        };
        if step.effects.iter().all(|effect| effect.id() != secret.id()) {
            step.effects.insert(0, self.write_record(observed, &record));
            step.events.push(event);
        }
    }
}

/// Takes a stricter condition over, and says so if it does.
pub(in crate::provider) fn tighten(
    record: &mut Record,
    peer: &ClusterId,
    tenant: &Tenant,
) -> Option<Event> {
    let condition = record.condition.max(said_by(tenant));
    if condition == record.condition {
        return None;
    }
    record.condition = condition;
    Some(Event::new(peer, Decision::ConditionRecorded { condition }).about(tenant.id()))
}

/// The condition that holds: of record and Tenant the stricter.
pub(in crate::provider) fn in_force(observed: &Observed<'_>, tenant: &Tenant) -> TenantCondition {
    match &observed.record {
        Some((_, record)) => record.condition.max(said_by(tenant)),
        None => said_by(tenant),
    }
}

/// What the Tenant itself says; `Active` where it says nothing.
pub(in crate::provider) fn said_by(tenant: &Tenant) -> TenantCondition {
    tenant
        .spec
        .tenant_condition
        .unwrap_or(TenantCondition::Active)
}
