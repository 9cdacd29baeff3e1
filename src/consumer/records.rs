//! The working copy of the record, and the plan that changes it.

use super::{configuration::Configuration, observed::Observed, record::Record};
use crate::{
    machine::{self, plan::RecordWrite, record::WorkingRecord},
    model::ClusterId,
};

/// The changes that a call of the consumer plans.
pub(super) type Plan<'a> = machine::plan::Plan<Records<'a>>;

/// The working copy of a provider's record. The consumer has one record for each
/// provider.
pub(super) struct Records<'a> {
    configuration: &'a Configuration,
    peer: &'a ClusterId,
    record: WorkingRecord<'a, Record>,
}

impl<'a> Records<'a> {
    /// The record as it was observed.
    pub(super) fn of(configuration: &'a Configuration, observed: &'a Observed<'a>) -> Self {
        let stored = observed.record.as_ref();
        Self {
            configuration,
            peer: &observed.peer,
            record: WorkingRecord::of(stored.map(|(secret, record)| (*secret, record))),
        }
    }

    /// Changes the record. A missing record is created.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Record)) {
        self.record.change_or_make(Record::default, change);
    }
}

impl<'a> machine::plan::Records for Records<'a> {
    type Mark = WorkingRecord<'a, Record>;

    fn mark(&self) -> Self::Mark {
        self.record.clone()
    }

    fn return_to(&mut self, record: Self::Mark) {
        self.record = record;
    }

    fn writes(self) -> Vec<RecordWrite> {
        let id = self.configuration.record_id(self.peer);
        let write = self.record.write(|record| record.to_secret(id, self.peer));
        // An empty record is not created.
        let is_empty = self.record.planned() == Some(&Record::default());
        let write = write.filter(|write| write.over.is_some() || !is_empty);
        write.into_iter().collect()
    }
}
