//! The administrator's calls for conditions, pinned keys and deleted access keys.

use crate::{
    audit::{Decision, Event},
    crypto::PublicKey,
    error::{Error, Precondition},
    machine::{Step, View},
    model::{TenantCondition, Timestamp},
    provider::{Provider, credentials, rights},
};

impl Provider {
    /// Sets a peer's condition, milder or stricter, in the Tenant and in the
    /// record. The call is for this side's administrator.
    ///
    /// # Errors
    /// [`Precondition::NoTenant`] if there is no Tenant; as [`look`](Self::look).
    /// The peer can write its Tenant and the Secrets of the handshake. If they
    /// cannot be read, the peer can still be cordoned or drained. The call then fails
    /// with [`LocalFault::Unreadable`](crate::error::LocalFault::Unreadable) only
    /// if no object can store the condition: the Tenant cannot be read, and the peer
    /// has no readable record. Even then, the call drains a peer that has rights. It also
    /// drains one that has made several Tenants, of which none is on record; to cordon such a
    /// peer fails with [`LocalFault::Ambiguous`](crate::error::LocalFault::Ambiguous).
    pub fn set_condition(
        &self,
        view: &View<'_>,
        condition: TenantCondition,
    ) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        if condition != TenantCondition::Drained {
            observed.check_unambiguous()?;
        }
        if observed.tenant_metadata().is_none() && observed.ambiguous_tenant.is_none() {
            return Err(Error::new(Precondition::NoTenant, None, ""));
        }
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        rights::set_condition(&look, condition, &mut plan);
        if observed.tenant.is_none() && condition == TenantCondition::Drained {
            // An unreadable Tenant, or one of several, cannot store the condition, so the
            // rights are withdrawn now.
            rights::withdraw(&look, &mut plan);
        }
        let step = plan.finish();
        if step.is_settled() && observed.condition() != condition {
            // No object can store the condition.
            observed.check_readable()?;
        }
        Ok(step)
    }

    /// Lifts a peer's recorded condition. Then the Tenant's condition is in force.
    /// The call does not change the Tenant: change it yourself, before or after.
    /// [`set_condition`](Self::set_condition) changes both.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn lift_condition(&self, view: &View<'_>) -> Result<Step, Error> {
        self.plan_with(view, Timestamp::EPOCH, |look, plan| {
            let recorded = look.observed.record().map(|record| record.condition);
            if recorded.is_some_and(|condition| condition != TenantCondition::Active) {
                rights::lift(plan);
                plan.tell(Event::new(view.peer(), Decision::ConditionLifted));
            }
            Ok(())
        })
    }

    /// Forgets the pinned key of a cluster ID. Call it only if the peer's
    /// administrator confirms, over another channel, that the key has changed. The
    /// used nonces and the peer's condition stay on record. The next key that signs
    /// a nonce is pinned.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn release_key(&self, view: &View<'_>) -> Result<Step, Error> {
        self.plan_with(view, Timestamp::EPOCH, |look, plan| {
            look.observed.check_record()?;
            if let Some(record) = look.observed.record() {
                plan.records.peer.change(|record| {
                    record.public_key = None;
                    record.reserved_until = None;
                    record.proof = None;
                    record.again = None;
                });
                let event = Event::new(view.peer(), Decision::KeyReleased);
                let event = event.by_key(record.public_key.as_ref().map(PublicKey::fingerprint));
                plan.tell_upon(self.0.record_id(view.peer()), event);
            }
            Ok(())
        })
    }

    /// Records that the administrator or the embedder has deleted this access key at
    /// AWS. A key that waits for its deletion
    /// ([`Awaited::AwsRevocation`](crate::machine::Awaited::AwsRevocation)) is
    /// forgotten. A key that the peer or one of its slices still has is replaced:
    /// the request for the next key has another ID. A call for a key that is not
    /// recorded changes nothing.
    ///
    /// # Errors
    /// As [`look`](Self::look); and if the record of a slice cannot be read.
    pub fn aws_key_revoked(&self, view: &View<'_>, access_key_id: &str) -> Result<Step, Error> {
        self.plan_with(view, Timestamp::EPOCH, |look, plan| {
            look.observed.check_record()?;
            credentials::forget_key(look, access_key_id, plan)
        })
    }
}
