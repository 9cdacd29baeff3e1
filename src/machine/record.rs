//! The working copy of a record.

use std::rc::Rc;

use crate::model::Secret;

/// A record as it was observed, and as a plan leaves it.
///
/// A record that both keeps something new and forgets something is written with
/// what is new; the forgetting waits for the next look, when what is new is
/// stored.
#[derive(Clone)]
pub(crate) struct WorkingRecord<'a, T> {
    stored: Option<&'a Secret>,
    observed: Option<&'a T>,
    planned: Option<Rc<T>>,
    forgotten: Option<Rc<T>>,
    /// A record that cannot be read is never written.
    is_readable: bool,
}

impl<'a, T: Clone + PartialEq> WorkingRecord<'a, T> {
    /// The working copy of what was observed.
    pub(crate) fn of(stored: Option<&'a Secret>, observed: Option<&'a T>) -> Self {
        Self {
            stored,
            observed,
            planned: None,
            forgotten: None,
            is_readable: true,
        }
    }

    /// The working copy of a record that is there and cannot be read: every
    /// change is lost.
    pub(crate) fn unreadable() -> Self {
        Self {
            is_readable: false,
            ..Self::of(None, None)
        }
    }

    /// The Secret in which the record is stored.
    pub(crate) fn stored(&self) -> Option<&'a Secret> {
        self.stored
    }

    /// Whether there is a record, or will be.
    pub(crate) fn exists(&self) -> bool {
        self.observed.is_some() || self.planned.is_some()
    }

    /// Changes the record, if there is one.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(observed) = self.observed {
            let copy = || Rc::new(observed.clone());
            change(Rc::make_mut(self.planned.get_or_insert_with(copy)));
        } else if let Some(planned) = &mut self.planned {
            change(Rc::make_mut(planned));
        }
    }

    /// Changes the record, or a new one.
    pub(crate) fn change_or_make(&mut self, make: impl FnOnce() -> T, change: impl FnOnce(&mut T)) {
        self.make(make);
        self.change(change);
    }

    /// Makes the record, unless there is one.
    pub(crate) fn make(&mut self, make: impl FnOnce() -> T) {
        if !self.exists() && self.is_readable {
            self.planned = Some(Rc::new(make()));
        }
    }

    /// Changes the record as what comes last in a step.
    pub(crate) fn forget(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(observed) = self.observed {
            let copy = || Rc::new(observed.clone());
            change(Rc::make_mut(self.forgotten.get_or_insert_with(copy)));
        }
    }

    /// What the record is to be, and whether that only forgets; nothing where it
    /// stays as it is.
    pub(crate) fn changed(&self) -> Option<(&T, bool)> {
        let differs = |other: &&T| self.observed != Some(*other);
        let planned = self.planned.as_deref().filter(differs);
        let forgotten = self.forgotten.as_deref().filter(differs);
        match planned {
            Some(planned) => Some((planned, false)),
            None => forgotten.map(|forgotten| (forgotten, true)),
        }
    }

    /// What the record is after the plan.
    pub(crate) fn planned(&self) -> Option<&T> {
        self.planned.as_deref().or(self.observed)
    }
}
