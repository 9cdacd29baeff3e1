//! What an administrator lifts, releases or says to be gone.

use crate::{
    audit::{Decision, Event},
    error::{Error, Precondition},
    machine::{Holder, Step, View},
    model::{TenantCondition, Timestamp},
    provider::{Provider, credentials, rights},
};

impl Provider {
    /// Sets a peer's condition, milder or stricter, in the Tenant and in the
    /// record: the word of this side's administrator.
    ///
    /// # Errors
    /// [`Precondition::NoTenant`] if there is no Tenant; as
    /// [`look`](Self::look). Nothing that the peer can write keeps it from being
    /// cordoned or drained: neither a Secret of the handshake nor a Tenant that
    /// cannot be read. [`LocalFault::Unreadable`](crate::error::LocalFault::Unreadable) if
    /// the Tenant cannot be read,
    /// and the peer has neither a record nor rights.
    pub fn set_condition(
        &self,
        view: &View<'_>,
        condition: TenantCondition,
    ) -> Result<Step, Error> {
        self.0.check_other(view.peer())?;
        let observed = self.observe(view)?;
        if observed.tenant_metadata().is_none() {
            return Err(Error::new(Precondition::NoTenant, None, ""));
        }
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        rights::set_condition(&look, condition, &mut plan);
        if observed.tenant.is_none() && condition == TenantCondition::Drained {
            // The Tenant cannot say so itself: the rights go at once.
            rights::withdraw(&look, &mut plan);
        }
        let step = plan.finish();
        if step.is_settled() && observed.condition() != condition {
            // There is nowhere to write the condition.
            observed.check_readable()?;
        }
        Ok(step)
    }

    /// Lifts a peer's recorded condition: it is then what the Tenant says. The
    /// Tenant itself is the administrator's to change, before or after;
    /// [`set_condition`](Self::set_condition) does both.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn lift_condition(&self, view: &View<'_>) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        let recorded = observed.record().map(|record| record.condition);
        if recorded.is_some_and(|condition| condition != TenantCondition::Active) {
            rights::lift(&mut plan);
            plan.tell(Event::new(view.peer(), Decision::ConditionLifted));
        }
        Ok(plan.finish())
    }

    /// Forgets the pinned key of a cluster ID, because its administrator says,
    /// by another way, that it was changed. What the nonces served for and the
    /// peer's condition stay; the next key that signs a nonce is pinned.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn release_key(&self, view: &View<'_>) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        observed.check_record()?;
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        if let Some(record) = observed.record() {
            plan.records.peer.change(|record| {
                record.public_key = None;
                record.proof = None;
            });
            let event = Event::new(view.peer(), Decision::KeyReleased);
            let event = match &record.public_key {
                Some(key) => event.by_key(key.fingerprint()),
                None => event,
            };
            plan.tell_upon(self.0.record_id(view.peer()), event);
        }
        Ok(plan.finish())
    }

    /// Takes an administrator's word, or the embedder's, that this access key
    /// is deleted at AWS. A key that nobody was to use any more
    /// ([`Awaited::AwsRevocation`](crate::machine::Awaited::AwsRevocation)) is
    /// forgotten. A key that the peer or one of its slices has is replaced: the
    /// next one is asked for by a request of another name. A key that is not on
    /// record changes nothing.
    ///
    /// # Errors
    /// As [`look`](Self::look); and if the record of a slice cannot be read.
    pub fn aws_key_revoked(&self, view: &View<'_>, access_key_id: &str) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        observed.check_record()?;
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        credentials::forget_key(&look, access_key_id, &mut plan)?;
        Ok(plan.finish())
    }

    /// Asks Kubernetes' signer again for a request that was denied there, or
    /// that failed. The denied request is deleted, and another one is made.
    /// Without this call a denied request is not made anew.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn sign_again(&self, view: &View<'_>, holder: &Holder) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        observed.check_record()?;
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        let mut denied = None;
        plan.records.held(holder, |held| {
            denied = held.signing.take_if(|attempt| attempt.denied.is_some());
            if denied.is_some() {
                held.refused_renewal = None;
            }
        });
        if let Some(attempt) = denied {
            credentials::delete_denied(&look, &attempt.name, &mut plan);
        }
        Ok(plan.finish())
    }
}
