//! The working copy of a record.

use std::rc::Rc;

use super::{
    plan::{RecordWrite, Records},
    sealed::Opened,
};
use crate::model::Secret;

/// The observed record, and the record as the plan changes it.
///
/// If the plan adds content and also removes content, the step writes only the
/// additions. A later step removes the content, once the additions are stored.
#[derive(Clone)]
pub(crate) struct WorkingRecord<'a, T> {
    stored: Option<&'a Secret>,
    observed: Option<&'a T>,
    planned: Option<Rc<T>>,
    forgotten: Option<Rc<T>>,
    /// An unreadable record is never written.
    is_readable: bool,
    /// Whether the stored record has to be sealed again, because an earlier record
    /// key made its seal.
    is_stale: bool,
}

impl<'a, T: Clone + PartialEq> WorkingRecord<'a, T> {
    /// The working copy of the observed record, and the Secret that stores it.
    pub(crate) fn of(observed: Option<(&'a Secret, &'a T)>) -> Self {
        let (stored, observed) = observed.unzip();
        Self {
            stored,
            observed,
            planned: None,
            forgotten: None,
            is_readable: true,
            is_stale: false,
        }
    }

    /// The working copy of a record whose seal was checked.
    pub(crate) fn opened(secret: &'a Secret, opened: &'a Opened<T>) -> Self {
        Self {
            is_stale: opened.is_stale,
            ..Self::of(Some((secret, &opened.record)))
        }
    }

    /// The working copy of a record that exists but cannot be read. It ignores
    /// every change, and `exists` returns `false`.
    pub(crate) fn unreadable() -> Self {
        Self {
            is_readable: false,
            ..Self::of(None)
        }
    }

    /// Whether a readable record exists, or the plan creates one.
    pub(crate) fn exists(&self) -> bool {
        self.observed.is_some() || self.planned.is_some()
    }

    /// Changes the record, if it exists.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(observed) = self.observed {
            let copy = || Rc::new(observed.clone());
            change(Rc::make_mut(self.planned.get_or_insert_with(copy)));
        } else if let Some(planned) = &mut self.planned {
            change(Rc::make_mut(planned));
        }
    }

    /// Creates the record if it does not exist, and changes it.
    pub(crate) fn change_or_make(&mut self, make: impl FnOnce() -> T, change: impl FnOnce(&mut T)) {
        self.make(make);
        self.change(change);
    }

    /// Creates the record if it does not exist.
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

    /// The write of the record in its sealed form; `None` if the record is
    /// unchanged and its seal is not stale, or if `seal` returns `None`.
    pub(crate) fn write(&self, seal: impl FnOnce(&T) -> Option<Secret>) -> Option<RecordWrite> {
        let differs = |other: &&T| self.observed != Some(*other);
        let planned = self.planned.as_deref().filter(differs);
        let forgotten = self.forgotten.as_deref().filter(differs);
        let stale = self.observed.filter(|_| self.is_stale);
        let forgets = planned.is_none() && forgotten.is_some();
        let record = planned.or(forgotten).or(stale)?;
        RecordWrite::of(seal(record)?, self.stored, forgets)
    }

    /// The record after the plan.
    pub(crate) fn planned(&self) -> Option<&T> {
        self.planned.as_deref().or(self.observed)
    }
}

type ToSecret<'a, T> = Box<dyn Fn(&T) -> Option<Secret> + 'a>;

/// The one record that a side has for a peer, and its form as a Secret.
pub(crate) struct OneRecord<'a, T> {
    /// The working copy.
    pub(crate) peer: WorkingRecord<'a, T>,
    to_secret: ToSecret<'a, T>,
}

impl<T: Clone + PartialEq + Default> OneRecord<'_, T> {
    /// Changes the record. A missing record is created.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut T)) {
        self.peer.change_or_make(T::default, change);
    }
}

impl<'a, T: Clone + PartialEq> OneRecord<'a, T> {
    /// The record as it was observed. If `to_secret` returns `None`, the record is not
    /// written.
    pub(crate) fn of(
        observed: Option<&'a (&'a Secret, T)>,
        to_secret: impl Fn(&T) -> Option<Secret> + 'a,
    ) -> Self {
        Self {
            peer: WorkingRecord::of(observed.map(|(stored, record)| (*stored, record))),
            to_secret: Box::new(to_secret),
        }
    }
}

impl<'a, T: Clone + PartialEq> Records for OneRecord<'a, T> {
    type Mark = WorkingRecord<'a, T>;

    fn mark(&self) -> Self::Mark {
        self.peer.clone()
    }

    fn return_to(&mut self, peer: Self::Mark) {
        self.peer = peer;
    }

    fn writes(self) -> Vec<RecordWrite> {
        self.peer.write(self.to_secret).into_iter().collect()
    }
}
