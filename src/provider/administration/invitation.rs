//! Who is let in: invitations, nonces, approvals.

use crate::{
    audit::{Decision, Event},
    error::{Error, Precondition, shortened},
    machine::{Env, Step, View},
    model::Timestamp,
    provider::{
        Phase, Provider, WhyNonce,
        handshake::{is_disapproved, make_nonce},
        record::Verdict,
        rights,
    },
};

impl Provider {
    /// Lets a peer in, or in again: records the invitation, and makes the tenant
    /// namespace and the nonce, or hands out the nonce that is there if it can
    /// still be signed. Without this call, or Liqo's empty Secret `liqo-nonce`
    /// before a first peering, nobody is invited: no label that turns up
    /// somewhere makes a peer.
    ///
    /// # Errors
    /// As [`look`](Self::look); and why the peer cannot be invited.
    pub fn invite(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let look = self.look_at(view, &observed, env.now);
        let mut plan = look.plan();
        let why = match look.phase_or_refused()? {
            Phase::Uninvited => WhyNonce::Absent,
            Phase::Ended { .. } => WhyNonce::Ended,
            Phase::NeedsNonce(why) => why,
            Phase::AwaitsTenant(phase) => {
                phase.wait(&look, &mut plan);
                look.notify(&mut plan);
                return Ok(plan.finish());
            }
            Phase::Refused(error) => return Err(error),
            _ => return self.reconcile(view, env),
        };
        plan.tell(Event::new(view.peer(), Decision::Invited));
        make_nonce(&look, why, &env, &mut plan)?;
        look.notify(&mut plan);
        Ok(plan.finish())
    }

    /// Makes a new nonce in place of the one that is there, because someone
    /// asked for it. An unmodified consumer's Secret `liqo-signed-nonce` has to
    /// be deleted then, which a [notice](crate::machine::Notice) says.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn replace_nonce(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        self.0.check_peer(view.peer())?;
        let observed = self.observe(view)?;
        let look = self.look_at(view, &observed, env.now);
        let mut plan = look.plan();
        make_nonce(&look, WhyNonce::Asked, &env, &mut plan)?;
        Ok(plan.finish())
    }

    /// Approves of the request that waits, or that was denied before. Nothing
    /// is signed yet: [`reconcile`](Self::reconcile) goes on.
    ///
    /// # Errors
    /// As [`look`](Self::look); [`Precondition::NothingToApprove`] if nothing
    /// waits.
    pub fn approve(&self, view: &View<'_>, now: Timestamp) -> Result<Step, Error> {
        self.decide_by_hand(view, now, Verdict::Approved)
    }

    /// Denies the request that waits.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub fn deny(&self, view: &View<'_>, reason: &str, now: Timestamp) -> Result<Step, Error> {
        self.decide_by_hand(view, now, Verdict::Denied(shortened(reason)))
    }

    fn decide_by_hand(
        &self,
        view: &View<'_>,
        now: Timestamp,
        verdict: Verdict,
    ) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let look = self.look_at(view, &observed, now);
        let phase = look.phase_or_refused()?;
        let waits = match &phase {
            Phase::NeedsApproval(_) => true,
            Phase::Refused(error) => is_disapproved(error),
            _ => false,
        };
        let Some(tenant) = observed.tenant.filter(|_| waits) else {
            let phase = phase.name();
            return Err(Error::new(
                Precondition::NothingToApprove { phase },
                None,
                "",
            ));
        };
        let mut plan = look.plan();
        look.decide(tenant, verdict, &mut plan);
        rights::tighten(&look, &mut plan);
        Ok(plan.finish())
    }
}
