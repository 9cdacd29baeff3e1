//! A unit of work: it collects the changes of one call and returns them as a step.
//!
//! Rules read the observed objects and write only to the plan. The plan keeps
//! one working copy of each object and of each record. At the end, the plan
//! compares the copies with the observed objects; the difference is the [`Step`].
//! If nothing changed, the difference is empty.
//!
//! ```text
//!   (1) withdrawals ─▶ (2) namespaces, records ─▶ (3) everything else
//!                      ─▶ (4) released finalizers ─▶ (5) removals from records
//! ```
//!
//! - No object has two effects in a step. If several are due, the first of these
//!   is chosen: a deletion, a status that takes something away, the main part,
//!   any other status. The others follow in later steps, together with their
//!   events.
//! - A rule that fails inside [`Plan::attempt`] leaves neither a change nor an event.
//! - The cost of a rule does not grow with the changes of the other rules. Thus, a
//!   call passes once over the objects of a peer, even if the peer creates thousands.

mod change;
mod journal;

use std::collections::BTreeSet;

use serde_json::json;

use change::{Change, Rank, Wanted};
pub(crate) use journal::Journal;

use super::{Awaited, Effect, Message, Notice, Part, Refused, Step, Version};
use crate::{
    audit::Event,
    error::Error,
    model::{Kind, Metadata, Object, ObjectRef, Resource, Secret, Timestamp, Unreadable},
};

/// The changes of one call, with the working copies of the records `R`.
pub(crate) struct Plan<R> {
    /// The records' working copies.
    pub(crate) records: R,
    changes: Journal<ObjectRef, Change>,
    /// The number of changes so far.
    order: usize,
    events: Vec<(Event, EventCondition)>,
    /// The step so far, without effects and events.
    step: Step,
    /// Whether the plan is for a look, which does not ask a backend.
    pub(super) asks_nobody: bool,
}

/// The state of a plan before a rule.
struct Savepoint<M> {
    records: M,
    changes: usize,
    outbox: usize,
    refused: usize,
    notices: usize,
    events: usize,
    awaiting: usize,
    wake_at: Option<Timestamp>,
}

/// The records that the rules of a plan change.
pub(crate) trait Records {
    /// A savepoint of the records. Its cost does not grow with the number of
    /// records.
    type Mark;

    /// Sets a savepoint.
    fn mark(&self) -> Self::Mark;

    /// Restores the records to the savepoint.
    fn return_to(&mut self, mark: Self::Mark);

    /// The records to write, in this order.
    fn writes(self) -> Vec<RecordWrite>;
}

/// A plan without records.
impl Records for () {
    type Mark = ();

    fn mark(&self) {}

    fn return_to(&mut self, (): ()) {}

    fn writes(self) -> Vec<RecordWrite> {
        Vec::new()
    }
}

/// The write of a record that differs from the stored one.
pub(crate) struct RecordWrite(Rank, Effect);

impl RecordWrite {
    /// The write of a sealed record, unless the stored record is the same. A write
    /// that only removes content (`forgets`) comes last.
    pub(crate) fn of(secret: Secret, stored: Option<&Secret>, forgets: bool) -> Option<Self> {
        if stored.is_some_and(|stored| stored.data == secret.data) {
            return None;
        }
        let rank = match forgets {
            true => Rank::Forgetting,
            false => Rank::Record,
        };
        let object = secret.into();
        let effect = match stored.map(|stored| Version::of(&stored.metadata)) {
            None => Effect::Create(object),
            Some(version) => Effect::Replace { object, version },
        };
        Some(Self(rank, effect))
    }
}

/// The condition under which a step includes an event.
#[derive(Clone, PartialEq, Eq)]
enum EventCondition {
    /// Always.
    Step,
    /// If the step has an effect on one of these objects.
    Effect(Vec<ObjectRef>),
    /// If the step has an effect on this part of this object.
    Part(ObjectRef, Part),
    /// If the step has a write of this record that only removes content.
    Forgetting(ObjectRef),
}

impl<R: Records> Plan<R> {
    /// A plan that changes nothing yet.
    pub(crate) fn new(records: R) -> Self {
        Self {
            records,
            changes: Journal::default(),
            order: 0,
            events: Vec::new(),
            step: Step::default(),
            asks_nobody: false,
        }
    }

    /// Runs a rule. If the rule fails, all its changes and events are undone.
    pub(crate) fn attempt<T>(
        &mut self,
        rule: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let savepoint = Savepoint {
            records: self.records.mark(),
            changes: self.changes.mark(),
            outbox: self.step.outbox.len(),
            refused: self.step.refused.len(),
            notices: self.step.notices.len(),
            events: self.events.len(),
            awaiting: self.step.wait.awaiting.len(),
            wake_at: self.step.wait.wake_at,
        };
        rule(self).inspect_err(|_| self.return_to(savepoint))
    }

    fn return_to(&mut self, savepoint: Savepoint<R::Mark>) {
        self.records.return_to(savepoint.records);
        self.changes.return_to(savepoint.changes);
        self.step.outbox.truncate(savepoint.outbox);
        self.step.refused.truncate(savepoint.refused);
        self.step.notices.truncate(savepoint.notices);
        self.events.truncate(savepoint.events);
        self.step.wait.awaiting.truncate(savepoint.awaiting);
        self.step.wait.wake_at = savepoint.wake_at;
    }

    /// Creates an object, unless the plan already changes one of that name.
    pub(crate) fn create(&mut self, object: impl Into<Object>) {
        let object = object.into();
        let id = object.id();
        let rank = match id.kind {
            Kind::Namespace => Rank::Namespace,
            _ => Rank::Rule,
        };
        if !self.changes.contains(&id) {
            let wanted = Wanted::New(Box::new(object));
            self.change(id, Version::default(), wanted, rank);
        }
    }

    /// Creates the Secret, or replaces the whole stored Secret, which only this
    /// library writes. If the stored Secret is immutable, it is deleted, and a
    /// later step creates it again.
    pub(crate) fn put(&mut self, stored: Option<&Secret>, secret: Secret) {
        match stored {
            None => self.create(secret),
            Some(stored) if stored.immutable => self.recreate(stored),
            Some(stored) => {
                let version = Version::of(&stored.metadata);
                let wanted = Wanted::Replaced(Box::new(secret.into()));
                self.change(stored.id(), version, wanted, Rank::Rule);
            }
        }
    }

    /// Changes an object, or an empty one that is then created.
    pub(crate) fn edit_or_create<K: Resource + Clone + Default + PartialEq>(
        &mut self,
        stored: Option<&K>,
        change: impl FnOnce(&mut K),
    ) {
        match stored {
            Some(stored) => self.edit(stored, change),
            None => {
                let mut new = K::default();
                change(&mut new);
                self.create(new);
            }
        }
    }

    /// Changes fields of a stored object. An edit without a difference has no effect.
    /// If the plan already writes the object, the edit changes the planned object. If
    /// the plan deletes the object, the edit is ignored.
    pub(crate) fn edit<K: Resource + Clone + PartialEq>(
        &mut self,
        stored: &K,
        change: impl FnOnce(&mut K),
    ) {
        self.edit_with(stored, false, change);
    }

    /// Gives a stored object the labels back by which Liqo finds it.
    pub(crate) fn keep_labels<K: Resource + Clone + PartialEq>(
        &mut self,
        stored: &K,
        labels: &[(&str, &str)],
    ) {
        let metadata = stored.metadata();
        if metadata.deletion_timestamp.is_none() && !metadata.has_labels(labels) {
            self.edit(stored, |object| object.metadata_mut().set_labels(labels));
        }
    }

    /// Changes the status of a stored object, if the change withdraws something
    /// from the peer. The effect on the status precedes the effect on the main
    /// part. Thus, a peer cannot delay the change by editing labels again and
    /// again.
    pub(crate) fn withdraw_status<K: Resource + Clone + PartialEq>(
        &mut self,
        stored: &K,
        change: impl FnOnce(&mut K),
    ) {
        self.edit_with(stored, true, change);
    }

    fn edit_with<K: Resource + Clone + PartialEq>(
        &mut self,
        stored: &K,
        withdraws: bool,
        change: impl FnOnce(&mut K),
    ) {
        let id = stored.id();
        if let Some(present) = self.changes.get_mut(&id) {
            let planned = match &mut present.wanted {
                Wanted::New(object) | Wanted::Replaced(object) => object,
                Wanted::Edited {
                    after,
                    status_first,
                    ..
                } => {
                    *status_first |= withdraws;
                    after
                }
                Wanted::Patched(_) | Wanted::Deleted | Wanted::Recreated => return,
            };
            if let Some(planned) = K::from_object_mut(planned) {
                change(planned);
            }
            return;
        }
        let mut after = stored.clone();
        change(&mut after);
        if after == *stored {
            return;
        }
        let (before, after): (Object, Object) = (stored.clone().into(), after.into());
        if let (Object::Secret(before), Object::Secret(after)) = (&before, &after)
            && before.immutable
            && before.data != after.data
        {
            return self.recreate(before);
        }
        let wanted = Wanted::Edited {
            before: Box::new(before),
            after: Box::new(after),
            status_first: withdraws,
        };
        self.change(id, Version::of(stored.metadata()), wanted, Rank::Rule);
    }

    /// Deletes an object that grants rights, before all other effects.
    pub(crate) fn withdraw(&mut self, stored: &impl Resource) {
        self.delete_at(stored.id(), stored.metadata(), Rank::Withdrawal);
    }

    /// Deletes an object by which rights are granted, readable or not, before all other
    /// effects.
    pub(crate) fn withdraw_present(&mut self, stored: &Object) {
        self.delete_at(stored.id(), stored.metadata(), Rank::Withdrawal);
    }

    /// Empties a label by which rights are granted, before all other effects.
    pub(crate) fn withdraw_label(&mut self, stored: &Object, label: &str) {
        let wanted = Wanted::Patched(json!({ "metadata": { "labels": { label: "" } } }));
        let version = Version::of(stored.metadata());
        self.change(stored.id(), version, wanted, Rank::Withdrawal);
    }

    /// Deletes an object.
    pub(crate) fn delete(&mut self, stored: &impl Resource) {
        self.delete_at(stored.id(), stored.metadata(), Rank::Rule);
    }

    /// Deletes an object, readable or not.
    pub(crate) fn delete_present(&mut self, stored: &Object) {
        self.delete_at(stored.id(), stored.metadata(), Rank::Rule);
    }

    /// Deletes an object that cannot be read.
    pub(crate) fn delete_unreadable(&mut self, stored: &Unreadable) {
        self.delete_at(stored.id.clone(), &stored.metadata, Rank::Rule);
    }

    /// Removes a finalizer of an unreadable object.
    pub(crate) fn release_unreadable(&mut self, stored: &Unreadable, finalizer: &str) {
        let finalizers = stored.metadata.finalizers.iter();
        let others: Vec<&String> = finalizers.filter(|other| *other != finalizer).collect();
        if !self.changes.contains(&stored.id) {
            let version = Version::of(&stored.metadata);
            let wanted = Wanted::Patched(json!({ "metadata": { "finalizers": others } }));
            self.change(stored.id.clone(), version, wanted, Rank::Release);
        }
    }

    /// Deletes a record, after all other effects.
    pub(crate) fn forget(&mut self, record: &Secret) {
        self.delete_at(record.id(), &record.metadata, Rank::Forgetting);
    }

    /// An object that is already being deleted does not get a second effect. Otherwise a
    /// finalizer of the peer would cause an effect in every step. A withdrawal stays a
    /// withdrawal.
    fn delete_at(&mut self, id: ObjectRef, metadata: &Metadata, rank: Rank) {
        let is_withdrawn = |change: &Change| change.rank == Rank::Withdrawal;
        if metadata.deletion_timestamp.is_some() {
            self.changes.remove(&id);
        } else if !self.changes.get(&id).is_some_and(is_withdrawn) {
            self.change(id, Version::of(metadata), Wanted::Deleted, rank);
        }
    }

    fn recreate(&mut self, stored: &Secret) {
        if stored.metadata.deletion_timestamp.is_none() {
            let version = Version::of(&stored.metadata);
            self.change(stored.id(), version, Wanted::Recreated, Rank::Rule);
        }
    }

    /// Plans a change of an object. The change replaces an earlier planned change
    /// of the object.
    fn change(&mut self, id: ObjectRef, version: Version, wanted: Wanted, rank: Rank) {
        self.order += 1;
        let order = self.order;
        let change = Change {
            version,
            wanted,
            rank,
            order,
        };
        self.changes.set(id, change);
    }

    /// Adds a message to the outbox.
    pub(crate) fn send(&mut self, message: Message) {
        self.step.outbox.push(message);
    }

    /// Adds a refusal, at the object of the error.
    pub(crate) fn refuse(&mut self, error: Error) {
        let object = error.at().object.clone();
        self.step.refused.push(Refused { object, error });
    }

    /// Adds a refusal at this object.
    pub(crate) fn refuse_at(&mut self, object: ObjectRef, error: Error) {
        let object = Some(object);
        self.step.refused.push(Refused { object, error });
    }

    /// Adds a notice, once.
    pub(crate) fn notify(&mut self, notice: Notice) {
        if !self.step.notices.contains(&notice) {
            self.step.notices.push(notice);
        }
    }

    /// Notes that the effects follow from the absence of this object.
    pub(crate) fn follow_from_absence(&mut self, id: Option<ObjectRef>) {
        self.step.absent = id;
    }

    /// Adds something that the plan waits for, once.
    pub(crate) fn await_for(&mut self, awaited: Awaited) {
        if !self.step.wait.awaiting.contains(&awaited) {
            self.step.wait.awaiting.push(awaited);
        }
    }

    /// Adds a time at which to call again. The earliest time counts. `None` changes
    /// nothing.
    pub(crate) fn wake_by(&mut self, time: Option<Timestamp>) {
        self.step.wait.wake_by(time);
    }

    /// Adds the event of a decision.
    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push((event, EventCondition::Step));
    }

    /// Adds the event of a decision, if the step changes the object.
    pub(crate) fn tell_upon(&mut self, id: ObjectRef, event: Event) {
        self.tell_upon_any([id], event);
    }

    /// Adds the event of a decision, if the step changes one of the objects.
    pub(crate) fn tell_upon_any(&mut self, ids: impl Into<Vec<ObjectRef>>, event: Event) {
        self.events
            .push((event, EventCondition::Effect(ids.into())));
    }

    /// Adds the event of a decision, if the step changes this part of the object.
    pub(crate) fn tell_upon_part(&mut self, id: ObjectRef, part: Part, event: Event) {
        self.events.push((event, EventCondition::Part(id, part)));
    }

    /// Adds the event of a decision, if the step removes content from the record.
    pub(crate) fn tell_upon_forgetting(&mut self, record: ObjectRef, event: Event) {
        self.events
            .push((event, EventCondition::Forgetting(record)));
    }

    /// The step: the difference between the observed objects and the plan.
    pub(crate) fn finish(self) -> Step {
        let writes = self.records.writes().into_iter();
        let mut ranked: Vec<(Rank, Effect)> = writes
            .map(|RecordWrite(rank, effect)| (rank, effect))
            // The step does not write a record that it deletes.
            .filter(|(_, effect)| !self.changes.contains(&effect.id()))
            .collect();
        let mut changes: Vec<(ObjectRef, Change)> = self.changes.into_iter().collect();
        changes.sort_by_key(|(_, change)| change.order);
        let recreated: BTreeSet<ObjectRef> = changes
            .iter()
            .filter(|(_, change)| matches!(change.wanted, Wanted::Recreated))
            .map(|(id, _)| id.clone())
            .collect();
        let effects = changes.into_iter();
        ranked.extend(effects.filter_map(|(id, change)| change.into_effect(id)));
        // The sort is stable: effects of one rank keep the order of the rules.
        ranked.sort_by_key(|(rank, _)| *rank);
        let effect_on = |id: &ObjectRef| {
            let is_recreated = recreated.contains(id);
            let mut effects = ranked.iter().filter(|_| !is_recreated);
            effects.find(|(_, effect)| effect.is_on(id))
        };
        let events = self.events.into_iter();
        let events = events.filter(|(_, condition)| condition.holds(effect_on));
        Step {
            events: events.map(|(event, _)| event).collect(),
            effects: ranked.into_iter().map(|(_, effect)| effect).collect(),
            ..self.step
        }
    }
}

impl EventCondition {
    /// Whether the condition holds, by the effect that the step has on an object. An object has at
    /// most one.
    fn holds<'e>(&self, effect_on: impl Fn(&ObjectRef) -> Option<&'e (Rank, Effect)>) -> bool {
        match self {
            Self::Step => true,
            Self::Effect(ids) => ids.iter().any(|id| effect_on(id).is_some()),
            Self::Part(id, part) => effect_on(id).is_some_and(|(_, effect)| effect.part() == *part),
            Self::Forgetting(id) => {
                effect_on(id).is_some_and(|(rank, _)| *rank == Rank::Forgetting)
            }
        }
    }
}

#[cfg(test)]
mod tests;
