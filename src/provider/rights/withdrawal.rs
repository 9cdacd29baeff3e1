//! Taking rights back: when a peer is drained, and when its Tenant goes.

use super::{bindings, condition};
use crate::{
    audit::{Decision, Event},
    machine::{Effect, Part, Step},
    model::{Resource, Tenant, TenantCondition, names},
    provider::{Provider, observed::Seen},
};

/// The peer is drained: by its Tenant, or by the record of an earlier word of
/// this side's administrator.
#[derive(Clone)]
pub struct Drained<'o> {
    provider: Provider,
    seen: Seen<'o>,
    tenant: &'o Tenant,
}

/// The Tenant is being deleted, or is gone.
#[derive(Clone)]
pub struct Ending<'o> {
    seen: Seen<'o>,
}

impl<'o> Drained<'o> {
    /// The drained phase, if Tenant or record say so.
    pub(in crate::provider) fn of(provider: &Provider, seen: &Seen<'o>) -> Option<Self> {
        let tenant = seen.tenant?;
        let drained = condition::in_force(seen, tenant) == TenantCondition::Drained;
        drained.then(|| Self {
            provider: provider.clone(),
            seen: seen.clone(),
            tenant,
        })
    }

    /// Records the condition and deletes the peer's bindings.
    pub fn withdraw(&self) -> Step {
        let mut step = Step::default();
        withdraw(&self.seen, &mut step);
        self.provider
            .tighten_condition(&self.seen, self.tenant, &mut step);
        step
    }
}

impl<'o> Ending<'o> {
    /// The end, if a Tenant is on its way out, or gone with rights left behind.
    pub(in crate::provider) fn of(seen: &Seen<'o>) -> Option<Self> {
        let ending = match seen.tenant {
            Some(tenant) => tenant.metadata.deletion_timestamp.is_some(),
            None => !bindings::withdraw(seen).is_empty(),
        };
        ending.then(|| Self { seen: seen.clone() })
    }

    /// Deletes the peer's bindings, then lets the Tenant go. Those in the
    /// tenant namespace would go with the Tenant if it owns them; it cannot own
    /// the cluster-wide ones.
    pub fn withdraw(&self) -> Step {
        let mut step = Step::default();
        withdraw(&self.seen, &mut step);
        if let Some(tenant) = self.seen.tenant {
            let mut released = tenant.clone();
            let finalizers = &mut released.metadata.finalizers;
            finalizers.retain(|finalizer| finalizer != names::TENANT_FINALIZER);
            if let Some(release) = Effect::patch(tenant, released, Part::Main) {
                step.effects.push(release);
                let ended = Event::new(&self.seen.peer, Decision::Ended);
                step.events.push(ended.about(tenant.id()));
            }
        }
        step
    }
}

fn withdraw(seen: &Seen<'_>, step: &mut Step) {
    let effects = bindings::withdraw(seen);
    if !effects.is_empty() {
        step.events
            .push(Event::new(&seen.peer, Decision::RightsWithdrawn));
    }
    step.effects.extend(effects);
}
