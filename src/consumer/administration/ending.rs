//! The end of a peering, from the consumer's side.

use std::collections::BTreeSet;

use crate::{
    audit::{Decision, Event},
    consumer::{Consumer, observed::Observed, record::Record, slice::is_asked_of},
    error::{Error, Precondition},
    machine::{Awaited, Effect, Step, View},
    model::{Kind, ObjectRef, Resource, ResourceSlice},
};

/// The peering was ended from this side, or its Identity is being deleted; what
/// belonged to it goes.
#[derive(Clone)]
pub struct Ending<'o> {
    consumer: Consumer,
    observed: Observed<'o>,
}

impl Consumer {
    /// Ends the peering from this side: removes the signed nonce, the Renew, the
    /// kubeconfig and the Identity, in this order. What was pinned stays: who
    /// comes back under this name has to be the same provider, unless
    /// [`release_pins`](Self::release_pins) says otherwise.
    ///
    /// A crash in between loses nothing: [`reconcile`](Self::reconcile) goes on.
    /// The provider's administrator deletes the Tenant. To authenticate again
    /// takes another nonce.
    ///
    /// # Errors
    /// [`Precondition::SlicesRemain`] while resource slices are asked of the
    /// provider; [`LocalFault::Unreadable`](crate::error::LocalFault::Unreadable) if it cannot be told whether;
    /// otherwise as [`resume`](Self::resume).
    pub fn unauthenticate(&self, view: &View<'_>) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        let observed = Observed::select(self, view)?;
        let slices: Vec<ObjectRef> = view
            .every::<ResourceSlice>()?
            .filter(|slice| is_asked_of(slice, view.peer().as_str()))
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
        let mut record = observed.record();
        let has_ended = record.ended.is_some();
        let mut uids = record.ended.take().unwrap_or_default();
        uids.extend(
            observed
                .leftovers()
                .map(|(uid, ..)| uid.to_owned())
                .filter(|uid| !uid.is_empty()),
        );
        if observed.leftovers().next().is_none() && observed.record.is_none() {
            return Ok(Step::default());
        }
        record.end(uids);
        let ending = Ending {
            consumer: self.clone(),
            observed,
        };
        let mut step = ending.remove(None);
        if !has_ended {
            step.events.push(Event::new(view.peer(), Decision::Ended));
        }
        Ok(ending.observed.with_record(self, step, &record))
    }
}

impl<'o> Ending<'o> {
    /// The end that goes on, if there is one.
    pub(in crate::consumer) fn of(consumer: &Consumer, observed: &Observed<'o>) -> Option<Self> {
        let is_ending = || {
            let record = observed.record();
            let ended = record.ended.as_ref()?;
            observed
                .leftovers()
                .any(|(uid, ..)| ended.contains(uid))
                .then_some(())
        };
        let is_deleted = observed
            .identity
            .is_some_and(|identity| identity.metadata.deletion_timestamp.is_some());
        (is_deleted || is_ending().is_some()).then(|| Self {
            consumer: consumer.clone(),
            observed: observed.clone(),
        })
    }

    /// Removes what is still there of what was ended.
    pub fn go_on(&self) -> Step {
        let ended = self.observed.record().ended;
        self.remove(Some(&ended.unwrap_or_default()))
    }

    /// Of these, if they are given.
    fn remove(&self, only: Option<&BTreeSet<String>>) -> Step {
        let mut step = Step::default();
        for (uid, id, delete) in self.observed.leftovers() {
            let wanted = only.is_none_or(|only| only.contains(uid));
            match delete {
                Some(delete) if wanted => step.effects.push(delete),
                None if id.kind == Kind::Identity => {
                    step.wait.awaiting.push(Awaited::End(id));
                }
                _ => {}
            }
        }
        step
    }

    /// The consumer whose peering it is.
    pub fn consumer(&self) -> &Consumer {
        &self.consumer
    }
}

impl Record {
    /// What an end leaves: the pins, and the request, which Liqo's providers
    /// want to be the same each time.
    fn end(&mut self, uids: BTreeSet<String>) {
        self.ended = Some(uids);
        self.proven_nonce = None;
        self.control_plane = None;
        self.slices.clear();
        self.renewed_by = None;
    }
}

impl Observed<'_> {
    /// What belongs to the peering, in the order in which it goes: without the
    /// nonce nobody asks for another Identity, and without the Identity nobody
    /// makes the others again. Each with its UID, and its deletion unless that
    /// goes on already.
    fn leftovers(&self) -> impl Iterator<Item = (&str, ObjectRef, Option<Effect>)> {
        fn one<K: Resource>(stored: &K) -> (&str, ObjectRef, Option<Effect>) {
            let metadata = stored.metadata();
            let goes = metadata.deletion_timestamp.is_some();
            let delete = (!goes).then(|| Effect::delete(stored));
            (metadata.uid.as_str(), stored.id(), delete)
        }
        let renew = self.renew.as_ref().ok().copied().flatten();
        [
            self.signed_nonce.map(one),
            renew.map(one),
            self.kubeconfig.map(one),
            self.identity.map(one),
        ]
        .into_iter()
        .flatten()
    }
}
