//! Ending a peering, and what stays of it.
//!
//! ```text
//!   end ─▶ Tenant deleted ─▶ Ending: rights taken back, Tenant let go
//!                            ─▶ Ended: Secrets and renewals deleted
//!                               ─▶ when no certificate or key holds any more: record deleted
//! ```
//!
//! The record is a tombstone: as long as a certificate or an access key of the
//! peer's may still hold, its cluster ID belongs to its key.

use crate::{
    audit::{Decision, Event},
    error::{Error, LocalFault},
    machine::{Awaited, Effect, Step, View, replication},
    model::{
        Kind, Metadata, ObjectRef, Renew, Resource, ResourceSlice, Secret, TenantCondition,
        Timestamp, names,
    },
    provider::{Provider, observed::Observed, rights::condition},
};

/// The peer was here, and its Tenant is gone. It comes back only by
/// [`Provider::invite`].
#[derive(Clone)]
pub struct Ended<'o> {
    observed: Observed<'o>,
    leftovers: Vec<Effect>,
    now: Timestamp,
}

impl<'o> Ended<'o> {
    pub(in crate::provider) fn new(
        observed: Observed<'o>,
        view: &View<'o>,
        now: Timestamp,
    ) -> Self {
        let leftovers = leftovers(&observed, view);
        Self {
            observed,
            leftovers,
            now,
        }
    }

    /// Until when the cluster ID belongs to the pinned key: until no certificate
    /// that was issued holds any more. None if that is not a matter of time: an
    /// administrator's condition is on record, which only
    /// [`lift_condition`](Provider::lift_condition) ends, or an access key, of
    /// which somebody has to say that it is deleted
    /// ([`aws_key_revoked`](Provider::aws_key_revoked)).
    pub fn kept_until(&self) -> Option<Timestamp> {
        let (_, record) = self.observed.record.as_ref()?;
        record.forgettable_from()
    }

    /// Deletes what the peering has left in the tenant namespace, and the record
    /// once its time is over.
    pub fn clean_up(&self) -> Step {
        let mut step = Step::awaiting(Awaited::Invitation);
        step.effects.extend(self.leftovers.iter().cloned());
        let Some((secret, _)) = &self.observed.record else {
            return step;
        };
        match self.kept_until() {
            Some(until) if until <= self.now => {
                step.effects.push(Effect::delete(*secret));
                let forgotten = Event::new(&self.observed.peer, Decision::Forgotten);
                step.events.push(forgotten.about(secret.id()));
            }
            until => step.wake_by(until),
        }
        step
    }
}

impl Provider {
    /// Ends a peering: deletes the Tenant, upon which the rights are taken back
    /// ([`Ending`](crate::provider::Ending)), and what was kept is deleted
    /// ([`Ended`]). Without a Tenant, the invitation is taken back. The key
    /// stays pinned until no certificate holds any more; the tenant namespace
    /// stays, since others may use it.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); [`LocalFault::SlicesRemain`] while the
    /// peer has resource slices. Those that a drained peer's finalizers keep do
    /// not count, nor do those that this cluster itself asks of the peer.
    pub fn end(&self, view: &View<'_>) -> Result<Step, Error> {
        self.check_other(view.peer())?;
        let observed = Observed::select(self, view)?;
        if let Some(error) = slices_remain(&observed, view) {
            return Err(error);
        }
        let mut step = Step::default();
        let Some(tenant) = observed.tenant else {
            step.effects.extend(observed.nonce.map(Effect::delete));
            return Ok(step);
        };
        if tenant.metadata.deletion_timestamp.is_some() {
            return Ok(step);
        }
        step.effects.push(Effect::delete(tenant));
        let finalizers = &tenant.metadata.finalizers;
        if !finalizers
            .iter()
            .any(|finalizer| finalizer == names::TENANT_FINALIZER)
        {
            // It goes at once, and there will be no phase in which to say so.
            step.events
                .push(Event::new(&observed.peer, Decision::Ended).about(tenant.id()));
        }
        Ok(step)
    }
}

fn slices_remain(observed: &Observed<'_>, view: &View<'_>) -> Option<Error> {
    let namespace = observed.namespace_name();
    let drained = observed
        .tenant
        .is_some_and(|tenant| condition::in_force(observed, tenant) == TenantCondition::Drained);
    // Where the peer is this cluster's provider as well, the slices that are
    // asked of it lie in the same namespace; and no finalizer of a drained peer's
    // is to keep the peering.
    let counts = |slice: &&ResourceSlice| {
        let metadata = &slice.metadata;
        let asked_of_it = replication::is_shared_with(metadata, &observed.peer)
            && !replication::is_replica_of(metadata, &observed.peer);
        let goes = drained && metadata.deletion_timestamp.is_some();
        !(asked_of_it || goes)
    };
    let readable = view
        .readable::<ResourceSlice>()
        .filter(counts)
        .map(Resource::id);
    let unreadable = view.unreadable(Kind::ResourceSlice);
    let remaining: Vec<ObjectRef> = readable
        .chain(unreadable.map(|object| object.id.clone()))
        .filter(|id| id.namespace == namespace)
        .collect();
    let one = remaining.first()?;
    let fault = LocalFault::SlicesRemain {
        found: remaining.len(),
        one: one.to_string(),
    };
    Some(Error::new(fault, Some(one.clone()), ""))
}

/// What the peering has put into the tenant namespace, and nobody needs any
/// more. The empty Secret by which Liqo asks for a nonce is no leftover.
fn leftovers(observed: &Observed<'_>, view: &View<'_>) -> Vec<Effect> {
    let namespace = observed.namespace_name();
    let nonce = observed.nonce.filter(|secret| {
        secret
            .get(names::NONCE)
            .is_some_and(|nonce| !nonce.is_empty())
    });
    let is_ours = |metadata: &Metadata| {
        let peer = metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
        metadata.namespace == namespace
            && peer.map(String::as_str) == Some(observed.peer.as_str())
            && metadata.name.starts_with(names::ISSUED_CERTIFICATE_SECRET)
    };
    let certificates = view
        .readable::<Secret>()
        .filter(|secret| is_ours(&secret.metadata));
    let renewals = view.readable::<Renew>().filter(|renew| {
        renew.metadata.namespace == namespace
            && renew.metadata.deletion_timestamp.is_none()
            && replication::is_replica_of(&renew.metadata, &observed.peer)
    });
    nonce
        .map(Effect::delete)
        .into_iter()
        .chain(certificates.map(Effect::delete))
        .chain(renewals.map(Effect::delete))
        .collect()
}
