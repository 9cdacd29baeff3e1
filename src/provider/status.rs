//! The status of a peering, and what it waits for.

use super::{
    Phase, Status, credentials::RenewalChannel, handshake::takes_over, look::Look, slice::Slices,
};
use crate::{
    crypto::Entropy,
    error::Error,
    machine::{Env, Step},
};

impl Look<'_> {
    /// The status of the peering.
    pub(super) fn status(&self) -> Result<Status, Error> {
        let phase = self.phase_or_refused()?;
        let terms = self.slice_terms(&phase)?;
        let slices = Slices::of(*self, terms.as_ref());
        Ok(self.status_of(phase, slices))
    }

    /// The status, and the step that follows from the objects alone: it does not ask a backend, and
    /// is for nobody to carry out.
    pub(super) fn status_and_step(&self) -> Result<(Status, Step), Error> {
        let phase = self.phase_or_refused()?;
        let terms = self.slice_terms(&phase)?;
        let mut slices = Slices::of(*self, terms.as_ref());
        if takes_over(self, Ok(&phase)) {
            slices = slices.taken_over();
        }
        let mut plan = self.plan().asking_nobody();
        // Nobody gets the nonce of this step.
        let env = Env {
            now: self.now,
            entropy: Entropy::from_bytes([0; 32]),
        };
        if let Some(error) = self.plan_step(Ok(&phase), &slices, &env, &mut plan) {
            plan.refuse(error);
        }
        let step = plan.finish();
        Ok((self.status_of(phase, slices), step))
    }

    fn status_of(&self, phase: Phase, slices: Slices<'_>) -> Status {
        Status {
            slices: slices.into_status(),
            phase,
            condition: self.observed.condition_of_tenant(),
            is_condition_held: self.observed.is_condition_held(),
            renewal_channel: RenewalChannel::of(self.configuration, self.observed),
            notices: self.notices().chain(self.held_condition()).collect(),
        }
    }
}
