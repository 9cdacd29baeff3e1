//! The condition of a Tenant, as this side holds it (rule 6).
//!
//! A peer's file may say `Active`; that lifts nothing. What is stricter is
//! taken from the Tenant into the record, and holds until the provider's
//! administrator lifts it.

use super::{Provider, record::Record, seen::Seen};
use crate::{
    audit::{Decision, Event},
    error::Error,
    model::{Tenant, TenantCondition},
    step::{Effect, Step},
    view::View,
};

impl Provider {
    /// Lifts a peer's recorded condition: it is then what the Tenant says. The
    /// Tenant itself is the administrator's to change, before or after.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn lift_condition(&self, view: &View<'_>) -> Result<Step, Error> {
        let seen = Seen::select(self, view)?;
        let mut step = Step::default();
        if let Some((_, record)) = &seen.record
            && record.condition != TenantCondition::Active
        {
            let lifted = Record {
                condition: TenantCondition::Active,
                ..record.clone()
            };
            step.effects.push(self.write_record(&seen, &lifted));
            step.events
                .push(Event::new(&seen.peer, Decision::ConditionLifted));
        }
        Ok(step)
    }

    /// The effect that takes a stricter condition into the record.
    pub(super) fn record_condition(&self, seen: &Seen<'_>, tenant: &Tenant) -> Option<Effect> {
        let (_, record) = seen.record.as_ref()?;
        let condition = record.condition.max(said_by(tenant));
        (condition != record.condition).then(|| {
            let record = Record {
                condition,
                ..record.clone()
            };
            self.write_record(seen, &record)
        })
    }
}

/// The condition that holds: of record and Tenant the stricter.
pub(super) fn in_force(seen: &Seen<'_>, tenant: &Tenant) -> TenantCondition {
    match &seen.record {
        Some((_, record)) => record.condition.max(said_by(tenant)),
        None => said_by(tenant),
    }
}

/// What the Tenant itself says; `Active` where it says nothing.
pub(super) fn said_by(tenant: &Tenant) -> TenantCondition {
    tenant
        .spec
        .tenant_condition
        .unwrap_or(TenantCondition::Active)
}
