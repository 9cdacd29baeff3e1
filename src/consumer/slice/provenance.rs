//! Where a slice comes from. The provider may have made it, if it is a consumer of this cluster
//! as well: then it may write in its tenant namespace here.
//!
//! The record keeps what this side has accepted: the UID of each slice, and the digest of what
//! the slice asks for. A slice of that name with another UID or other content is a new slice.

use core::time::Duration;
use std::{collections::BTreeMap, mem};

use serde::{Deserialize, Serialize};

use super::Slice;
use crate::{
    consumer::{
        look::Look,
        record::{Plan, Record},
    },
    crypto::Fingerprint,
    error::{Error, PolicyRefusal},
    machine::replication,
    model::{Quantity, Resource, ResourceSlice, ResourceSliceSpec, Timestamp, names},
};

/// A slice that this side has accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Known {
    /// `None` for a request, until its slice is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    /// The digest of what the slice asks for.
    asks: Fingerprint,
    /// The digest of the certificate request without which the slice is not accepted: that of a
    /// slice of which nothing was known but this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<Fingerprint>,
    /// When this side has requested the slice, or has let it through. The slice may not be
    /// stored yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<Timestamp>,
}

/// The accepted slices, by their names. `None` in a record of an earlier version, and until the
/// first slice is accepted: what Liqo or the earlier version has signed is then accepted once.
pub(crate) type KnownSlices = BTreeMap<String, Vec<Known>>;

impl Known {
    /// A slice as it is, with its certificate request.
    fn of(slice: &ResourceSlice, expected: Option<Timestamp>) -> Self {
        let request = slice.spec.csr.as_slice();
        Self {
            uid: Some(slice.metadata.uid.clone()),
            asks: digest(&slice.spec),
            request: (!request.is_empty()).then(|| Fingerprint::of(request)),
            expected,
        }
    }

    fn is(&self, slice: &Self) -> bool {
        (self.uid.is_none() || self.uid == slice.uid)
            && self.asks == slice.asks
            && (self.request.is_none() || self.request == slice.request)
    }

    fn is_expected(&self, now: Timestamp) -> bool {
        self.expected
            .is_some_and(|since| now.since(since) < IN_TRANSIT)
    }
}

impl Record {
    fn knows(&self, slice: &ResourceSlice) -> bool {
        let found = Known::of(slice, None);
        let known = self.known_of(&slice.metadata.name);
        known.is_some_and(|known| known.iter().any(|known| known.is(&found)))
    }

    /// Whether a slice of this name was accepted, or is expected.
    fn knows_name(&self, name: &str) -> bool {
        self.known_of(name).is_some()
    }

    fn known_of(&self, name: &str) -> Option<&Vec<Known>> {
        self.known.as_ref()?.get(name)
    }

    /// Accepts what `slice` asks for, as it is to be stored.
    pub(super) fn expect(&mut self, slice: &ResourceSlice, now: Timestamp) {
        let mut expected = Known::of(slice, Some(now));
        expected.uid = expected.uid.filter(|uid| !uid.is_empty());
        let known = self.known.get_or_insert_default();
        let of_name = known.entry(slice.metadata.name.clone()).or_default();
        let has_uid = expected.uid.is_some();
        let is_same = |known: &Known| known.is(&expected);
        if has_uid && of_name.iter().any(is_same) {
            return;
        }
        of_name.retain(|known| !is_same(known));
        expected.request = None;
        // What is stored stays on record.
        let (mut waiting, stored): (Vec<Known>, _) = mem::take(of_name)
            .into_iter()
            .partition(|known| known.expected.is_some());
        waiting.push(expected);
        let surplus = waiting.len().saturating_sub(MOST_EXPECTED);
        of_name.extend(stored.into_iter().chain(waiting.into_iter().skip(surplus)));
    }

    /// Keeps on record what is stored, and what may be stored soon.
    fn keep_known(
        &mut self,
        slices: &[Slice<'_>],
        is_there: &dyn Fn(&str) -> bool,
        now: Timestamp,
    ) {
        let is_first = self.known.is_none();
        for slice in slices.iter().filter_map(|slice| slice.accepted) {
            let name = &slice.metadata.name;
            let known = self.known.get_or_insert_default();
            let of_name = known.entry(name.clone()).or_default();
            let mut stored = Known::of(slice, None);
            let mut same = of_name.iter().filter(|known| known.is(&stored)).peekable();
            let needs_request = match same.peek() {
                Some(_) => same.all(|known| known.request.is_some()),
                None => is_first && !self.requested.contains(name),
            };
            stored.request = stored.request.filter(|_| needs_request);
            of_name.retain(|known| !known.is(&stored) && known.is_expected(now));
            of_name.insert(0, stored);
        }
        if let Some(known) = &mut self.known {
            known.retain(|name, of_name| {
                // What a slice was accepted with stays beside a slice that is not accepted.
                if !is_there(name) {
                    of_name.retain(|known| known.is_expected(now));
                }
                !of_name.is_empty()
            });
        }
    }
}

impl<'a> Look<'a> {
    /// Checks that the provider did not make the slice. A slice with a request of this cluster
    /// was accepted by Liqo or by an earlier version, if the record says nothing of slices yet.
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
        if record.is_some_and(|record| record.knows(slice))
            || self.settings().sign_slices_made_by_anyone
            || is_from_before()
        {
            return Ok(slice);
        }
        let until = record.and_then(|record| record.doubted_until);
        // A store that gives no time of creation shows no slice to be a later one.
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
                .change(|record| record.keep_known(slices, is_there, self.now));
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
    /// slice makes no other slice of it: what was not accepted before stays so.
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
            let mut accepted = slices.iter().filter_map(|slice| slice.accepted);
            record.is_some_and(|record| record.knows(stored))
                || accepted.any(|accepted| accepted.metadata.uid == stored.metadata.uid)
        };
        let known = record.and_then(|record| record.known.as_ref());
        let has_room = known.is_none_or(|known| known.len() < MOST_NAMES);
        if has_room && stored.is_none_or(is_accepted) {
            plan.records.change(|record| {
                if record.known.is_none() {
                    record.keep_known(&slices, &|_| true, self.now);
                }
                record.expect(slice, self.now);
            });
        }
        Ok(())
    }
}

/// The digest of what a slice asks for. This side writes the rest of the spec, and checks it.
/// Liqo spells amounts anew.
fn digest(spec: &ResourceSliceSpec) -> Fingerprint {
    let class = match spec.class.as_str() {
        "" => names::DEFAULT_RESOURCE_SLICE_CLASS,
        class => class,
    };
    let amount = |amount: &Quantity| match amount.billionths().filter(|it| *it != u128::MAX) {
        Some(billionths) => billionths.to_string(),
        None => format!("as written: {amount}"),
    };
    let amounts = spec.resources.iter();
    let amounts: BTreeMap<&str, String> = amounts
        .map(|(name, quantity)| (name.as_str(), amount(quantity)))
        .collect();
    // Cannot fail: every map key is a string.
    Fingerprint::of(&serde_json::to_vec(&(class, amounts)).unwrap_or_default())
}

/// While the provider may write, whatever is made later is doubted as well.
fn open_end() -> Timestamp {
    Timestamp::EPOCH + Duration::MAX
}

/// The time from a request, or from a review, until the slice is stored and seen.
const IN_TRANSIT: Duration = Duration::from_secs(60);
const MOST_EXPECTED: usize = 16;
/// So many names leave room in a record.
const MOST_NAMES: usize = 1024;
