//! The end of a peering, and the record that remains.
//!
//! ```text
//!   end ─▶ Tenant deleted ─▶ Ending: rights withdrawn, finalizer removed
//!                            ─▶ Ended: Secrets and renewals deleted
//!                               ─▶ no valid certificate or key left: record deleted
//! ```
//!
//! The record is a tombstone. While a certificate or an access key of the peer may
//! still be valid, the cluster ID stays bound to the peer's key.

use crate::{
    audit::{Decision, Event},
    error::{Error, Precondition},
    machine::{Awaited, Notice, Step, View, replication},
    model::{Kind, Metadata, Object, ObjectRef, Renew, Resource, Timestamp, names},
    provider::{
        Provider, credentials::delete_unanswered, handshake::hand_out_again, look::Look,
        observed::Observed, record::Record, records::Plan, rights::delete_namespace_maps,
    },
};

impl Provider {
    /// Ends a peering: deletes the Tenant. [`reconcile`](crate::Machine::reconcile)
    /// then withdraws the rights and deletes the Secrets and renewals of the peering.
    /// Without a Tenant, this call revokes the invitation. The key stays pinned
    /// until all certificates have expired and all access keys are deleted. The
    /// tenant namespace stays, since it may contain objects of other programs.
    ///
    /// # Errors
    /// As [`look`](Self::look); [`Precondition::SlicesRemain`] while the peer has
    /// resource slices. Two kinds of slices do not count: those of a drained peer
    /// that are being deleted, and those that this cluster itself requests from the
    /// peer. [`LocalFault::Ambiguous`](crate::error::LocalFault::Ambiguous) if several
    /// Tenants could be the peer's, and none is on record: delete those that are not.
    pub fn end(&self, view: &View<'_>) -> Result<Step, Error> {
        self.end_by(view, |record| record.offered = None)
    }

    /// As [`end`](Self::end). The nonce of the peering does not
    /// [serve again](crate::provider::ProviderConfig::peer_again), also if the peering has
    /// ended before. Nor does its certificate: the next peering gets another one, which the
    /// cluster accepts if its client CA was replaced.
    ///
    /// # Errors
    /// As [`end`](Self::end).
    pub fn end_for_good(&self, view: &View<'_>) -> Result<Step, Error> {
        self.end_by(view, |record| {
            record.offered = None;
            record.end_for_good();
            record.end_certificate();
        })
    }

    fn end_by(&self, view: &View<'_>, change: impl FnOnce(&mut Record)) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        if let Some(error) = slices_remain(&observed, view) {
            return Err(error);
        }
        observed.check_unambiguous()?;
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        plan.records.peer.change(change);
        let tenant = observed.tenant_id().zip(observed.tenant_metadata());
        let Some((id, metadata)) = tenant else {
            if let Some(nonce) = observed.nonce {
                plan.delete(nonce);
            }
            return Ok(plan.finish());
        };
        match (observed.tenant, observed.unreadable_tenant) {
            (Some(tenant), _) => plan.delete(tenant),
            (None, Some(tenant)) => plan.delete_unreadable(tenant),
            (None, None) => {}
        }
        let ours = |finalizer: &String| finalizer == names::TENANT_FINALIZER;
        if !metadata.finalizers.iter().any(ours) && metadata.deletion_timestamp.is_none() {
            // The API server deletes the Tenant at once, so no later step can report
            // the end.
            plan.tell(Event::new(view.peer(), Decision::Ended).about(id));
        }
        Ok(plan.finish())
    }

    /// Deletes the NamespaceMaps in the tenant namespace, so that Liqo deletes the namespaces
    /// that the peer has offloaded to this cluster, with all that is in them. An end takes the
    /// peer's rights there, and keeps the namespaces. Call this after the end: a peer that has
    /// rights makes its NamespaceMaps again. A drain includes this call.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn delete_offloaded(&self, view: &View<'_>) -> Result<Step, Error> {
        self.plan_with(view, Timestamp::EPOCH, |look, plan| {
            delete_namespace_maps(look, plan);
            Ok(())
        })
    }
}

/// Deletes the peering's Secrets and renewals in the tenant namespace. Also deletes the
/// record once the present time has reached `kept_until`, unless the
/// [configuration](crate::provider::ConsumerSettings::keep_record) keeps the record of an
/// ended peering.
pub(crate) fn clean_up(look: &Look<'_>, kept_until: Option<Timestamp>, plan: &mut Plan<'_>) {
    plan.await_for(Awaited::Invitation);
    delete_leftovers(look, plan);
    let Some((secret, opened)) = &look.observed.record else {
        return;
    };
    delete_unanswered(look, &opened.record.held, plan);
    // An invitation that was never used is no peering.
    if look.configuration.keeps_record(look.peer()) && !opened.record.is_invitation() {
        return;
    }
    let is_clean = look.observed.nonce.is_none() && look.observed.unreadable_handshake.is_none();
    match kept_until {
        // While a nonce Secret exists, the record stays. Without the record, the
        // Secret would count as a first invitation.
        Some(until) if until <= look.now && is_clean => {
            plan.forget(secret);
            let forgotten = Event::new(look.peer(), Decision::Forgotten);
            plan.tell(forgotten.about(secret.id()));
        }
        until => plan.wake_by(until.filter(|until| look.now < *until)),
    }
}

fn slices_remain(observed: &Observed<'_>, view: &View<'_>) -> Option<Error> {
    let namespace = observed.namespace_name();
    let is_drained = observed.is_drained();
    // The finalizers of a drained peer must not prevent the end of the peering.
    let is_being_deleted =
        |metadata: &Metadata| is_drained && metadata.deletion_timestamp.is_some();
    let remaining: Vec<ObjectRef> = view
        .present(Kind::ResourceSlice)
        .filter(|slice| {
            let metadata = slice.metadata();
            slice.key().1 == namespace
                && !replication::is_requested_from(metadata, &observed.peer)
                && !is_being_deleted(metadata)
        })
        .map(Object::id)
        .collect();
    let one = remaining.first()?;
    let fault = Precondition::SlicesRemain {
        found: remaining.len(),
        one: one.to_string(),
    };
    Some(Error::new(fault, Some(one.clone()), ""))
}

/// Deletes the peering's Secrets and renewals in the tenant namespace. Also deletes
/// the empty Secret by which Liqo asks for a nonce, since only an administrator may
/// invite a peer whose peering has ended. A nonce that serves again stays.
fn delete_leftovers(look: &Look<'_>, plan: &mut Plan<'_>) {
    let (observed, view) = (look.observed, look.view);
    let namespace = observed.namespace_name();
    let is_kept = hand_out_again(look, plan);
    if let Some(nonce) = observed.nonce.filter(|_| !is_kept) {
        let is_empty = nonce.get(names::NONCE).is_none_or(<[u8]>::is_empty);
        if is_empty && nonce.metadata.deletion_timestamp.is_none() {
            plan.notify(Notice::NonceAskedAfterEnd);
        }
    }
    let secrets = view.present(Kind::Secret).filter(|secret| {
        let (metadata, (_, _, name)) = (secret.metadata(), secret.key());
        let peer = metadata.label(names::REMOTE_CLUSTER_ID_LABEL);
        let is_the_peers = peer == Some(observed.peer.as_str());
        metadata.namespace == namespace
            && (name == names::NONCE_SECRET && !is_kept
                || (is_the_peers && name.starts_with(names::ISSUED_CERTIFICATE_SECRET)))
    });
    secrets.for_each(|secret| plan.delete_present(secret));
    let renewals = view.readable::<Renew>().filter(|renew| {
        renew.metadata.namespace == namespace
            && replication::is_replica_of(&renew.metadata, &observed.peer)
    });
    for renew in renewals {
        plan.delete(renew);
    }
}
