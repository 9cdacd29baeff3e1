//! The watches that show an object.

use std::collections::BTreeSet;

/// A set of the watches of one mirror, by their indexes. The first 64 watches need no
/// memory of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WatchSet {
    /// One bit for each of the first watches.
    first: u64,
    others: BTreeSet<usize>,
}

impl WatchSet {
    pub(super) fn insert(&mut self, watch: usize) {
        match bit(watch) {
            Some(bit) => self.first |= bit,
            None => drop(self.others.insert(watch)),
        }
    }

    pub(super) fn remove(&mut self, watch: usize) {
        match bit(watch) {
            Some(bit) => self.first &= !bit,
            None => drop(self.others.remove(&watch)),
        }
    }

    pub(super) fn contains(&self, watch: usize) -> bool {
        match bit(watch) {
            Some(bit) => self.first & bit != 0,
            None => self.others.contains(&watch),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first == 0 && self.others.is_empty()
    }
}

/// The bit of one of the first watches.
fn bit(watch: usize) -> Option<u64> {
    1_u64.checked_shl(u32::try_from(watch).ok()?)
}
