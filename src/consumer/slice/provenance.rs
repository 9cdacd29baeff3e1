//! Where a slice comes from. The provider may have made it, if it is a consumer of this cluster
//! as well: then it may write in its tenant namespace here.
//!
//! The record keeps what this side has accepted (`record/known_slices.rs`).

use core::time::Duration;

use super::Slice;
use crate::{
    consumer::{look::Look, record::Plan},
    error::{Error, PolicyRefusal},
    machine::replication,
    model::{Resource, ResourceSlice, Timestamp},
};

impl<'a> Look<'a> {
    /// Checks that the provider did not make the slice. A slice with a request of this cluster
    /// was accepted by Liqo or by an earlier version, if the record says nothing of slices yet.
    /// `has_request` is whether the slice has one.
    pub(super) fn check_provenance(
        &self,
        slice: &'a ResourceSlice,
        has_request: bool,
    ) -> Result<&'a ResourceSlice, Error> {
        let record = self.observed.record();
        let metadata = &slice.metadata;
        let name = &metadata.name;
        let is_from_before = || match record {
            Some(record) => {
                has_request && record.known.is_none()
                    || record.requested.contains(name) && !record.knows_name(name)
            }
            None => has_request,
        };
        if record.is_some_and(|record| record.knows(slice, has_request))
            || self.settings().sign_slices_made_by_anyone
            || is_from_before()
        {
            return Ok(slice);
        }
        let until = record.and_then(|record| record.doubted_until);
        // A store that does not give the time of creation does not show that a slice is later.
        let is_later = |until| metadata.creation_timestamp.is_some_and(|made| made > until);
        match until.is_some_and(|until| !is_later(until)) || self.is_of_a_consumer()? {
            true => Err(Error::found_in(slice, "", PolicyRefusal::SliceNotRequested)),
            false => Ok(slice),
        }
    }

    /// Records the slices that are accepted, and until when the provider may have made others.
    pub(super) fn record_provenance(
        &self,
        slices: &[Slice<'_>],
        is_there: &dyn Fn(&str) -> bool,
        plan: &mut Plan<'_>,
    ) {
        let has_record = self.observed.record.is_some();
        if has_record {
            plan.records
                .change(|record| record.keep_known(accepted(slices), is_there, self.now));
        }
        let known = self.observed.record();
        let until = known.and_then(|record| record.doubted_until);
        let doubted = match self.is_of_a_consumer().unwrap_or(true) {
            true if has_record || !slices.is_empty() => Some(open_end()),
            false if until == Some(open_end()) => Some(self.now),
            _ => until,
        };
        if doubted != until {
            plan.records.change(|record| record.doubted_until = doubted);
        }
    }

    /// Accepts a slice that somebody writes who is no user of the provider. A change of a stored
    /// slice does not make another slice of it: what was not accepted before stays so.
    pub(in crate::consumer) fn judge_slice(
        &self,
        slice: &ResourceSlice,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let metadata = &slice.metadata;
        let is_own = replication::is_requested_from(metadata, self.peer())
            && metadata.namespace == self.observed.namespace_name();
        let is_over = metadata.deletion_timestamp.is_some();
        if is_over || !is_own || !self.is_of_a_consumer()? {
            return Ok(());
        }
        let id = slice.id();
        let stored: Option<&ResourceSlice> = self.view.find(&id.namespace, &id.name)?;
        let slices = self.slices(None);
        let record = self.observed.record();
        let is_accepted = |stored: &ResourceSlice| {
            record.is_some_and(|record| record.knows(stored, true))
                || accepted(&slices).any(|slice| slice.metadata.uid == stored.metadata.uid)
        };
        let known = record.and_then(|record| record.known.as_ref());
        let has_room = known.is_none_or(|known| known.len() < MOST_NAMES);
        if has_room && stored.is_none_or(is_accepted) {
            plan.records.change(|record| {
                if record.known.is_none() {
                    record.keep_known(accepted(&slices), &|_| true, self.now);
                }
                record.expect(slice, self.now);
            });
        }
        Ok(())
    }
}

fn accepted<'a>(slices: &[Slice<'a>]) -> impl Iterator<Item = &'a ResourceSlice> {
    slices.iter().filter_map(|slice| slice.accepted)
}

/// While the provider may write, whatever is made later is doubted as well.
fn open_end() -> Timestamp {
    Timestamp::EPOCH + Duration::MAX
}

/// So many names leave room in a record.
const MOST_NAMES: usize = 1024;
