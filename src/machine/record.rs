//! The working copy of a record.

use std::rc::Rc;

use crate::model::Secret;

/// A record as it was observed, and as the plan changes it.
///
/// If the plan both adds content and removes content, the step writes only the
/// additions. A later step removes the content, once the additions are stored.
#[derive(Clone)]
pub(crate) struct WorkingRecord<'a, T> {
    stored: Option<&'a Secret>,
    observed: Option<&'a T>,
    planned: Option<Rc<T>>,
    forgotten: Option<Rc<T>>,
    /// An unreadable record is never written.
    is_readable: bool,
}

impl<'a, T: Clone + PartialEq> WorkingRecord<'a, T> {
    /// The working copy of the observed record.
    pub(crate) fn of(stored: Option<&'a Secret>, observed: Option<&'a T>) -> Self {
        Self {
            stored,
            observed,
            planned: None,
            forgotten: None,
            is_readable: true,
        }
    }

    /// The working copy of a record that exists but cannot be read: it ignores
    /// every change.
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

    /// Whether the record exists, or the plan creates it.
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

    /// Makes the record if there is none, and changes it.
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

    /// Removes content from the record, at the end of a step.
    pub(crate) fn forget(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(observed) = self.observed {
            let copy = || Rc::new(observed.clone());
            change(Rc::make_mut(self.forgotten.get_or_insert_with(copy)));
        }
    }

    /// The record to write, and whether the write only removes content; `None` if
    /// the record is unchanged.
    pub(crate) fn changed(&self) -> Option<(&T, bool)> {
        let differs = |other: &&T| self.observed != Some(*other);
        let planned = self.planned.as_deref().filter(differs);
        let forgotten = self.forgotten.as_deref().filter(differs);
        match planned {
            Some(planned) => Some((planned, false)),
            None => forgotten.map(|forgotten| (forgotten, true)),
        }
    }

    /// The record after the plan.
    pub(crate) fn planned(&self) -> Option<&T> {
        self.planned.as_deref().or(self.observed)
    }
}
