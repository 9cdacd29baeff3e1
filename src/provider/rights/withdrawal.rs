//! Taking rights back: when a peer is drained, and when its Tenant goes.

use super::{bindings, condition};
use crate::{
    audit::{Decision, Event},
    machine::{Effect, Part, Step},
    model::{Resource, Tenant, TenantCondition, names},
    provider::{Provider, observed::Observed},
};

/// The peer is drained: by its Tenant, or by the record of an earlier word of
/// this side's administrator.
#[derive(Clone)]
pub struct Drained<'o> {
    provider: Provider,
    observed: Observed<'o>,
    tenant: &'o Tenant,
}

/// The Tenant is being deleted, or is gone.
#[derive(Clone)]
pub struct Ending<'o> {
    observed: Observed<'o>,
}

impl<'o> Drained<'o> {
    /// The drained phase, if Tenant or record say so.
    pub(in crate::provider) fn of(provider: &Provider, observed: &Observed<'o>) -> Option<Self> {
        let tenant = observed.tenant?;
        let drained = condition::in_force(observed, tenant) == TenantCondition::Drained;
        drained.then(|| Self {
            provider: provider.clone(),
            observed: observed.clone(),
            tenant,
        })
    }

    /// Records the condition and deletes the peer's bindings.
    pub fn withdraw(&self) -> Step {
        let mut step = Step::default();
        withdraw(&self.observed, &mut step);
        self.provider
            .tighten_condition(&self.observed, self.tenant, &mut step);
        step
    }
}

impl<'o> Ending<'o> {
    /// The end, if a Tenant is on its way out, or gone with rights left behind.
    pub(in crate::provider) fn of(observed: &Observed<'o>) -> Option<Self> {
        let ending = match observed.tenant {
            Some(tenant) => tenant.metadata.deletion_timestamp.is_some(),
            None => !bindings::withdraw(observed).is_empty(),
        };
        ending.then(|| Self {
            observed: observed.clone(),
        })
    }

    /// Deletes the peer's bindings, then lets the Tenant go. Those in the
    /// tenant namespace would go with the Tenant if it owns them; it cannot own
    /// the cluster-wide ones.
    pub fn withdraw(&self) -> Step {
        let mut step = Step::default();
        withdraw(&self.observed, &mut step);
        if let Some(tenant) = self.observed.tenant {
            let mut released = tenant.clone();
            let finalizers = &mut released.metadata.finalizers;
            finalizers.retain(|finalizer| finalizer != names::TENANT_FINALIZER);
            if let Some(release) = Effect::patch(tenant, released, Part::Main) {
                step.effects.push(release);
                let ended = Event::new(&self.observed.peer, Decision::Ended);
                step.events.push(ended.about(tenant.id()));
            }
        }
        step
    }
}

fn withdraw(observed: &Observed<'_>, step: &mut Step) {
    let effects = bindings::withdraw(observed);
    if !effects.is_empty() {
        step.events
            .push(Event::new(&observed.peer, Decision::RightsWithdrawn));
    }
    step.effects.extend(effects);
}
