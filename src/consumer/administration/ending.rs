//! The end of a peering, from the consumer's side.

use std::collections::BTreeSet;

use crate::{
    audit::{Decision, Event},
    consumer::{
        Consumer,
        observed::Observed,
        record::{Plan, Record},
    },
    crypto::Nonce,
    error::{Error, Precondition},
    machine::{Awaited, Step, View, replication},
    model::{Kind, ObjectRef, Resource, ResourceSlice},
};

impl Consumer {
    /// Ends the peering from this side: removes the signed nonce, the Renew, the
    /// kubeconfig and the Identity, in this order. The pins stay. A later provider
    /// with this name must match the pins, unless the administrator calls
    /// [`release_pins`](Self::release_pins).
    ///
    /// A crash in between loses nothing: [`reconcile`](crate::Machine::reconcile)
    /// continues. The provider's administrator deletes the Tenant. A new
    /// authentication with a provider that uses this library needs a new nonce: the
    /// earlier nonces are not signed again. A tenant namespace that cannot be read does
    /// not stop the end.
    ///
    /// # Errors
    /// [`Precondition::SlicesRemain`] while this side requests resource slices from
    /// the provider;
    /// [`LocalFault::Unreadable`](crate::error::LocalFault::Unreadable) if the
    /// Renew, or a resource slice that is no replica, cannot be read; otherwise as
    /// [`look`](Self::look).
    pub fn unauthenticate(&self, view: &View<'_>) -> Result<Step, Error> {
        let peer = view.peer();
        self.0.check_peer(peer)?;
        let observed = Observed::to_end(&self.0, view)?;
        view.refuse_unreadable(Kind::ResourceSlice, |slice| {
            slice.may_be_of(Kind::ResourceSlice) && !replication::is_replica(&slice.metadata)
        })?;
        let slices: Vec<ObjectRef> = view
            .readable::<ResourceSlice>()
            .filter(|slice| replication::is_requested_from(&slice.metadata, peer))
            .map(Resource::id)
            .collect();
        if let Some(first) = slices.first() {
            let fault = Precondition::SlicesRemain {
                found: slices.len(),
                one: first.to_string(),
            };
            return Err(Error::new(fault, Some(first.clone()), ""));
        }
        observed.renew.clone()?;
        let mut plan = observed.plan(&self.0);
        if observed.leftover_uids().next().is_none() && observed.record.is_none() {
            return Ok(plan.finish());
        }
        let ended = observed.record().and_then(|record| record.ended.as_ref());
        if ended.is_none() {
            plan.tell(Event::new(peer, Decision::Ended));
        }
        let here = observed.leftover_uids().filter(|uid| !uid.is_empty());
        let here = here.map(str::to_owned);
        let uids = here.chain(ended.into_iter().flatten().cloned()).collect();
        let signed = observed.nonce_text().filter(|_| observed.has_signature());
        let last = signed.and_then(|(_, text)| Nonce::parse(text, self.0.policy(peer)).ok());
        plan.records.change(|record| record.end(uids, last));
        remove(&observed, &|_| true, &mut plan);
        Ok(plan.finish())
    }
}

/// Whether this side ended the peering and some of its objects remain, or the
/// Identity is being deleted.
pub(crate) fn is_ending(observed: &Observed<'_>) -> bool {
    let ended = observed.record().and_then(|record| record.ended.as_ref());
    let is_deleted = observed
        .identity
        .is_some_and(|identity| identity.metadata.deletion_timestamp.is_some());
    let remains =
        |ended: &BTreeSet<String>| observed.leftover_uids().any(|uid| ended.contains(uid));
    is_deleted || ended.is_some_and(remains)
}

/// Deletes the remaining objects of an ended peering.
pub(crate) fn advance(observed: &Observed<'_>, plan: &mut Plan<'_>) {
    let ended = observed.record().and_then(|record| record.ended.as_ref());
    remove(
        observed,
        &|uid| ended.is_some_and(|ended| ended.contains(uid)),
        plan,
    );
}

/// Deletes the objects of the peering in a fixed order. After the deletion of the
/// signed nonce, no controller requests another Identity. After the deletion of the
/// Identity, no controller creates the other objects again.
fn remove(observed: &Observed<'_>, is_ended: &dyn Fn(&str) -> bool, plan: &mut Plan<'_>) {
    remove_one(observed.signed_nonce, is_ended, plan);
    remove_one(observed.readable_renew(), is_ended, plan);
    remove_one(observed.kubeconfig, is_ended, plan);
    remove_one(observed.identity, is_ended, plan);
}

fn remove_one<K: Resource>(
    stored: Option<&K>,
    is_ended: &dyn Fn(&str) -> bool,
    plan: &mut Plan<'_>,
) {
    let Some(stored) = stored else { return };
    let metadata = stored.metadata();
    if metadata.deletion_timestamp.is_none() {
        if is_ended(&metadata.uid) {
            plan.delete(stored);
        }
    } else if K::KIND == Kind::Identity {
        plan.await_for(Awaited::End(stored.id()));
    }
}

impl Record {
    /// Clears the record at the end of the peering. The pins and the certificate
    /// request stay: Liqo's providers require the same request each time.
    fn end(&mut self, uids: BTreeSet<String>, last: Option<Nonce>) {
        self.ended = Some(uids);
        let earlier = core::mem::take(&mut self.signed_before);
        let signed = earlier.into_iter().chain(self.proven_nonce.take());
        for nonce in signed.chain(last) {
            self.spend(nonce);
        }
        self.control_plane = None;
        self.slices.clear();
        self.requested.clear();
        self.renewed_by = None;
    }
}

impl Observed<'_> {
    /// The UIDs of the peering's objects.
    fn leftover_uids(&self) -> impl Iterator<Item = &str> {
        [
            self.signed_nonce.map(Resource::metadata),
            self.readable_renew().map(Resource::metadata),
            self.kubeconfig.map(Resource::metadata),
            self.identity.map(Resource::metadata),
        ]
        .into_iter()
        .flatten()
        .map(|metadata| metadata.uid.as_str())
    }
}
