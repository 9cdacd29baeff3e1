//! One unit of work: what a call changes, compared once at its end.
//!
//! Rules decide by what was observed and write only to the plan. The plan
//! keeps one working copy of each object and of each record. At the end it
//! compares the copies with what was observed; the difference is the [`Step`].
//! "Nothing changed" is the empty difference.
//!
//! ```text
//!   (1) withdrawals ─▶ (2) namespaces, records ─▶ (3) everything else
//!                      ─▶ (4) released finalizers ─▶ (5) forgettings
//! ```
//!
//! - No object has two effects in a step. A deletion stands before a status
//!   that takes something away, that before the main part, and that before any
//!   other status. What is put off keeps its events for the step in which it
//!   happens.
//! - A rule that fails inside [`Plan::attempt`] leaves no change and no event.

use std::rc::Rc;

use serde_json::{Value, json};

use super::{Awaited, Effect, Message, Notice, Part, Refused, Step, Version, Wait, merge_patch};
use crate::{
    audit::Event,
    error::Error,
    model::{Kind, Metadata, Object, ObjectRef, Resource, Secret, Timestamp, Unreadable},
};

/// What a call changes, with the working copies of the records `R`.
pub(crate) struct Plan<R> {
    /// The records' working copies.
    pub(crate) records: R,
    /// Shared with the savepoints of rules under way.
    changes: Vec<Rc<Change>>,
    outbox: Vec<Message>,
    refused: Vec<Refused>,
    notices: Vec<Notice>,
    events: Vec<(Event, Upon)>,
    wait: Wait,
}

/// A plan as it was before a rule.
struct Savepoint<R> {
    records: R,
    changes: Vec<Rc<Change>>,
    outbox: usize,
    refused: usize,
    notices: usize,
    events: usize,
    awaiting: usize,
    wake_at: Option<Timestamp>,
}

/// The records of a plan, once all rules have written to them.
pub(crate) trait Records: Clone {
    /// What is to be written, the peer's record before those of its slices.
    fn writes(self) -> Vec<RecordWrite>;
}

/// A plan without records.
impl Records for () {
    fn writes(self) -> Vec<RecordWrite> {
        Vec::new()
    }
}

/// A record that differs from what is stored.
pub(crate) struct RecordWrite {
    /// The record as a Secret.
    pub(crate) secret: Secret,
    /// The version that it replaces; none for a new one.
    pub(crate) over: Option<Version>,
    /// Whether the write only forgets something, and so comes last.
    pub(crate) forgets: bool,
}

impl RecordWrite {
    /// The write of a sealed record, unless exactly that is stored.
    pub(crate) fn of(secret: Secret, stored: Option<&Secret>, forgets: bool) -> Option<Self> {
        if stored.is_some_and(|stored| stored.data == secret.data) {
            return None;
        }
        Some(Self {
            over: stored.map(|stored| Version::of(&stored.metadata)),
            secret,
            forgets,
        })
    }
}

/// On what an event depends: it is told once that has happened.
#[derive(Clone, PartialEq, Eq)]
enum Upon {
    /// On nothing but the step.
    Step,
    /// On any effect on one of these objects.
    Effect(Vec<ObjectRef>),
    /// On this part of this object.
    Part(ObjectRef, Part),
    /// On the write of this record that forgets something.
    Forgetting(ObjectRef),
}

#[derive(Clone)]
struct Change {
    id: ObjectRef,
    version: Version,
    wanted: Wanted,
    rank: Rank,
}

#[derive(Clone)]
enum Wanted {
    New(Box<Object>),
    Replaced(Box<Object>),
    /// Some fields are changed; others' fields survive.
    Edited {
        before: Box<Object>,
        after: Box<Object>,
        /// The status takes something away, and goes before the main part.
        status_first: bool,
    },
    /// A finalizer is taken off what cannot be read.
    Released(Value),
    Deleted,
}

/// When an effect comes, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Withdrawal,
    Namespace,
    Record,
    Rule,
    Release,
    Forgetting,
}

impl<R: Records> Plan<R> {
    /// A plan that changes nothing yet.
    pub(crate) fn new(records: R) -> Self {
        Self {
            records,
            changes: Vec::new(),
            outbox: Vec::new(),
            refused: Vec::new(),
            notices: Vec::new(),
            events: Vec::new(),
            wait: Wait::default(),
        }
    }

    /// Runs a rule as a whole: one that fails leaves no change and no event.
    pub(crate) fn attempt<T>(
        &mut self,
        rule: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let savepoint = Savepoint {
            records: self.records.clone(),
            changes: self.changes.clone(),
            outbox: self.outbox.len(),
            refused: self.refused.len(),
            notices: self.notices.len(),
            events: self.events.len(),
            awaiting: self.wait.awaiting.len(),
            wake_at: self.wait.wake_at,
        };
        rule(self).inspect_err(|_| self.return_to(savepoint))
    }

    fn return_to(&mut self, savepoint: Savepoint<R>) {
        self.records = savepoint.records;
        self.changes = savepoint.changes;
        self.outbox.truncate(savepoint.outbox);
        self.refused.truncate(savepoint.refused);
        self.notices.truncate(savepoint.notices);
        self.events.truncate(savepoint.events);
        self.wait.awaiting.truncate(savepoint.awaiting);
        self.wait.wake_at = savepoint.wake_at;
    }

    /// Makes an object, unless the plan makes one of that name already.
    pub(crate) fn create(&mut self, object: impl Into<Object>) {
        let object = object.into();
        let id = object.id();
        let rank = match id.kind {
            Kind::Namespace => Rank::Namespace,
            _ => Rank::Rule,
        };
        if self.change_of(&id).is_none() {
            self.changes.push(Rc::new(Change {
                id,
                version: Version::unknown(),
                wanted: Wanted::New(Box::new(object)),
                rank,
            }));
        }
    }

    /// Puts `secret`, which is wholly ours, in the place of the stored one.
    pub(crate) fn put(&mut self, stored: Option<&Secret>, secret: Secret) {
        match stored {
            None => self.create(secret),
            Some(stored) => {
                let id = stored.id();
                self.changes.retain(|change| change.id != id);
                self.changes.push(Rc::new(Change {
                    id,
                    version: Version::of(&stored.metadata),
                    wanted: Wanted::Replaced(Box::new(secret.into())),
                    rank: Rank::Rule,
                }));
            }
        }
    }

    /// Changes fields of a stored object. An edit that changes nothing is none.
    pub(crate) fn edit<K: Resource + Clone + PartialEq>(
        &mut self,
        stored: &K,
        change: impl FnOnce(&mut K),
    ) {
        self.edit_with(stored, false, change);
    }

    /// Changes the status of a stored object so that it takes something away: a
    /// peer that keeps changing labels does not put that off.
    pub(crate) fn take_away<K: Resource + Clone + PartialEq>(
        &mut self,
        stored: &K,
        change: impl FnOnce(&mut K),
    ) {
        self.edit_with(stored, true, change);
    }

    fn edit_with<K: Resource + Clone + PartialEq>(
        &mut self,
        stored: &K,
        takes_away: bool,
        change: impl FnOnce(&mut K),
    ) {
        let id = stored.id();
        if let Some(present) = self.change_of(&id) {
            if let Wanted::Edited {
                after,
                status_first,
                ..
            } = &mut present.wanted
                && let Some(after) = K::from_object_mut(after)
            {
                change(after);
                *status_first |= takes_away;
            }
            return;
        }
        let mut after = stored.clone();
        change(&mut after);
        if after == *stored {
            return;
        }
        self.changes.push(Rc::new(Change {
            id,
            version: Version::of(stored.metadata()),
            wanted: Wanted::Edited {
                before: Box::new(stored.clone().into()),
                after: Box::new(after.into()),
                status_first: takes_away,
            },
            rank: Rank::Rule,
        }));
    }

    /// Deletes an object that carries rights, before anything else happens.
    pub(crate) fn withdraw(&mut self, stored: &impl Resource) {
        self.delete_at(stored.id(), stored.metadata(), Rank::Withdrawal);
    }

    /// Deletes an object.
    pub(crate) fn delete(&mut self, stored: &impl Resource) {
        self.delete_at(stored.id(), stored.metadata(), Rank::Rule);
    }

    /// Deletes an object that cannot be read.
    pub(crate) fn delete_unreadable(&mut self, stored: &Unreadable) {
        self.delete_at(stored.id.clone(), &stored.metadata, Rank::Rule);
    }

    /// Takes a finalizer off an object that cannot be read.
    pub(crate) fn release_unreadable(&mut self, stored: &Unreadable, finalizer: &str) {
        let finalizers = stored.metadata.finalizers.iter();
        let others: Vec<&String> = finalizers.filter(|other| *other != finalizer).collect();
        if self.change_of(&stored.id).is_none() {
            self.changes.push(Rc::new(Change {
                id: stored.id.clone(),
                version: Version::of(&stored.metadata),
                wanted: Wanted::Released(json!({ "metadata": { "finalizers": others } })),
                rank: Rank::Release,
            }));
        }
    }

    /// Deletes a record, after everything that it is about.
    pub(crate) fn forget(&mut self, record: &Secret) {
        self.delete_at(record.id(), &record.metadata, Rank::Forgetting);
    }

    /// An object that is being deleted already is not deleted again: a finalizer
    /// of the peer's would make an effect of each look.
    fn delete_at(&mut self, id: ObjectRef, metadata: &Metadata, rank: Rank) {
        self.changes.retain(|change| change.id != id);
        if metadata.deletion_timestamp.is_none() {
            self.changes.push(Rc::new(Change {
                id,
                version: Version::of(metadata),
                wanted: Wanted::Deleted,
                rank,
            }));
        }
    }

    /// Says what the peer should have by now.
    pub(crate) fn send(&mut self, message: Message) {
        self.outbox.push(message);
    }

    /// Says what was refused.
    pub(crate) fn refuse(&mut self, error: Error) {
        let object = error.at().object.clone();
        self.refused.push(Refused { object, error });
    }

    /// Says what was refused, at this object.
    pub(crate) fn refuse_at(&mut self, object: ObjectRef, error: Error) {
        let object = Some(object);
        self.refused.push(Refused { object, error });
    }

    /// Says what a person may want to know.
    pub(crate) fn notify(&mut self, notice: Notice) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Says what is missing.
    pub(crate) fn await_for(&mut self, awaited: Awaited) {
        if !self.wait.awaiting.contains(&awaited) {
            self.wait.awaiting.push(awaited);
        }
    }

    /// Looks again at this time at the latest, if there is one.
    pub(crate) fn wake_by(&mut self, time: Option<Timestamp>) {
        self.wait.wake_by(time);
    }

    /// Tells of a decision that the step carries out.
    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push((event, Upon::Step));
    }

    /// Tells of a decision once the object is changed.
    pub(crate) fn tell_upon(&mut self, id: ObjectRef, event: Event) {
        self.tell_upon_any([id], event);
    }

    /// Tells of a decision once one of the objects is changed.
    pub(crate) fn tell_upon_any(&mut self, ids: impl Into<Vec<ObjectRef>>, event: Event) {
        self.events.push((event, Upon::Effect(ids.into())));
    }

    /// Tells of a decision once this part of the object is changed.
    pub(crate) fn tell_upon_part(&mut self, id: ObjectRef, part: Part, event: Event) {
        self.events.push((event, Upon::Part(id, part)));
    }

    /// Tells of a decision once the record forgets something.
    pub(crate) fn tell_upon_forgetting(&mut self, record: ObjectRef, event: Event) {
        self.events.push((event, Upon::Forgetting(record)));
    }

    /// The step: the difference between what was observed and the plan.
    pub(crate) fn finish(self) -> Step {
        let mut ranked: Vec<(Rank, Effect)> = Vec::new();
        for write in self.records.writes() {
            let id = write.secret.id();
            if self.changes.iter().any(|change| change.id == id) {
                // A record that is deleted is not written.
                continue;
            }
            let rank = if write.forgets {
                Rank::Forgetting
            } else {
                Rank::Record
            };
            let object = write.secret.into();
            ranked.push((
                rank,
                match write.over {
                    None => Effect::Create(object),
                    Some(version) => Effect::Replace { object, version },
                },
            ));
        }
        let changes = self.changes.into_iter().map(Rc::unwrap_or_clone);
        ranked.extend(changes.filter_map(Change::into_effect));
        // The sort is stable: inside a rank the rules' order stays.
        ranked.sort_by_key(|(rank, _)| *rank);
        let events = self.events.into_iter();
        let events = events.filter(|(_, upon)| upon.happens(&ranked));
        Step {
            events: events.map(|(event, _)| event).collect(),
            effects: ranked.into_iter().map(|(_, effect)| effect).collect(),
            outbox: self.outbox,
            refused: self.refused,
            notices: self.notices,
            wait: self.wait,
        }
    }

    fn change_of(&mut self, id: &ObjectRef) -> Option<&mut Change> {
        let mut changes = self.changes.iter_mut();
        changes.find(|change| change.id == *id).map(Rc::make_mut)
    }
}

impl Change {
    fn into_effect(self) -> Option<(Rank, Effect)> {
        let Self {
            id,
            version,
            wanted,
            rank,
        } = self;
        let effect = match wanted {
            Wanted::New(object) => Effect::Create(*object),
            Wanted::Replaced(object) => Effect::Replace {
                object: *object,
                version,
            },
            Wanted::Deleted => Effect::Delete { id, version },
            Wanted::Released(patch) => Effect::Patch {
                id,
                version,
                part: Part::Main,
                patch,
            },
            Wanted::Edited {
                before,
                after,
                status_first,
            } => {
                let releases = releases_finalizer(&before, &after);
                let (part, patch) = merge_patch::of_one_part(&before, &after, status_first)?;
                let rank = match part {
                    Part::Main if releases => Rank::Release,
                    _ => rank,
                };
                return Some((
                    rank,
                    Effect::Patch {
                        id,
                        version,
                        part,
                        patch,
                    },
                ));
            }
        };
        Some((rank, effect))
    }
}

impl Upon {
    fn happens(&self, ranked: &[(Rank, Effect)]) -> bool {
        *self == Self::Step
            || ranked.iter().any(|(rank, effect)| match self {
                Self::Step => true,
                Self::Effect(ids) => ids.contains(&effect.id()),
                Self::Part(id, part) => effect.id() == *id && effect.part() == *part,
                Self::Forgetting(id) => *rank == Rank::Forgetting && effect.id() == *id,
            })
    }
}

fn releases_finalizer(before: &Object, after: &Object) -> bool {
    let finalizers = |object: &Object| {
        object
            .metadata()
            .map(|metadata: &Metadata| metadata.finalizers.len())
    };
    finalizers(after) < finalizers(before)
}

#[cfg(test)]
mod tests;
