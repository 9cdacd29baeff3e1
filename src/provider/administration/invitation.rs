//! The administrator's invitations, nonces and approvals.

use crate::{
    audit::{Decision, Event},
    error::{Error, Precondition, shortened},
    machine::{Env, Machine, Step, View},
    model::Timestamp,
    provider::{
        Phase, Provider, WhyNonce,
        handshake::{is_disapproved, make_nonce},
        record::Verdict,
        rights,
    },
};

impl Provider {
    /// Invites a peer, for the first time or again. Records the invitation, and
    /// makes the tenant namespace and the nonce. If the present nonce is still
    /// usable, the call sends this nonce instead.
    ///
    /// Only this call, or Liqo's empty Secret `liqo-nonce` before a first peering,
    /// invites a peer. A label on an object is no invitation.
    ///
    /// # Errors
    /// As [`look`](Self::look); the reason for the refusal if the peer is refused.
    pub fn invite(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let look = self.look_at(view, &observed, env.now);
        let mut plan = look.plan();
        let why = match look.phase_or_refused()? {
            Phase::Uninvited => WhyNonce::Absent,
            Phase::Ended { .. } => WhyNonce::Ended,
            Phase::NeedsNonce(why) => why,
            Phase::AwaitsTenant(nonce) => {
                look.await_tenant(&nonce, &mut plan);
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

    /// Replaces the present nonce by a new one. On an unmodified consumer, the
    /// Secret `liqo-signed-nonce` must then be deleted. A
    /// [notice](crate::machine::Notice) says so. While the peering ends, the step is that of
    /// [`reconcile`](crate::Machine::reconcile): a nonce would not outlive the end.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn replace_nonce(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        self.0.check_peer(view.peer())?;
        if rights::is_ending(&self.observe(view)?) {
            return self.reconcile(view, env);
        }
        self.plan_with(view, env.now, |look, plan| {
            make_nonce(look, WhyNonce::Asked, &env, plan)
        })
    }

    /// Approves the waiting request, or a request that was denied before. This call
    /// does not ask the signer: [`reconcile`](crate::Machine::reconcile) does.
    ///
    /// # Errors
    /// As [`look`](Self::look); [`Precondition::NothingToApprove`] if no request
    /// waits.
    pub fn approve(&self, view: &View<'_>, now: Timestamp) -> Result<Step, Error> {
        self.decide_by_hand(view, now, Verdict::Approved)
    }

    /// Denies the waiting request. A request that was denied before is denied again,
    /// with the new reason.
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
        self.plan_with(view, now, |look, plan| {
            let phase = look.phase_or_refused()?;
            let waits = match &phase {
                Phase::NeedsApproval(_) => true,
                Phase::Refused(error) => is_disapproved(error),
                _ => false,
            };
            let Some(tenant) = look.observed.tenant.filter(|_| waits) else {
                let phase = phase.name();
                let nothing = Precondition::NothingToApprove { phase };
                return Err(Error::new(nothing, None, ""));
            };
            look.decide(tenant, verdict, plan);
            rights::tighten(look, plan);
            Ok(())
        })
    }
}
