//! The slices that this side has accepted: the UID of each, and the digest of what it asks for. A
//! slice of that name with another UID or other content is a new slice.

use core::time::Duration;
use std::{collections::BTreeMap, mem};

use serde::{Deserialize, Serialize};

use super::Record;
use crate::{
    crypto::Fingerprint,
    model::{Quantity, ResourceSlice, ResourceSliceSpec, Timestamp, names},
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
    /// Whether this slice is accepted. `has_request` is whether its certificate request is one of
    /// this cluster.
    pub(in crate::consumer) fn knows(&self, slice: &ResourceSlice, has_request: bool) -> bool {
        let mut found = Known::of(slice, None);
        found.request = found.request.filter(|_| has_request);
        let known = self.known_of(&slice.metadata.name);
        known.is_some_and(|known| known.iter().any(|known| known.is(&found)))
    }

    /// Whether a slice of this name was accepted, or is expected.
    pub(in crate::consumer) fn knows_name(&self, name: &str) -> bool {
        self.known_of(name).is_some()
    }

    fn known_of(&self, name: &str) -> Option<&Vec<Known>> {
        self.known.as_ref()?.get(name)
    }

    /// Accepts what `slice` asks for, as it is to be stored.
    pub(in crate::consumer) fn expect(&mut self, slice: &ResourceSlice, now: Timestamp) {
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
    pub(in crate::consumer) fn keep_known<'a>(
        &mut self,
        accepted: impl Iterator<Item = &'a ResourceSlice>,
        is_there: &dyn Fn(&str) -> bool,
        now: Timestamp,
    ) {
        let is_first = self.known.is_none();
        for slice in accepted {
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

/// The time from a request, or from a review, until the slice is stored and seen.
const IN_TRANSIT: Duration = Duration::from_secs(60);
const MOST_EXPECTED: usize = 16;
