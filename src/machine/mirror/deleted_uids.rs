//! The objects that have recently disappeared from a mirror.

use std::collections::{HashSet, VecDeque};

/// The UIDs of the objects that disappeared most recently. The limit is far above
/// the number of objects that disappear between a write and its answer.
#[derive(Debug, Clone, Default)]
pub(super) struct DeletedUids {
    order: VecDeque<Box<str>>,
    uids: HashSet<Box<str>>,
}

impl DeletedUids {
    pub(super) fn note(&mut self, uid: &str) {
        if uid.is_empty() || !self.uids.insert(uid.into()) {
            return;
        }
        self.order.push_back(uid.into());
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }
}

const MOST: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let mut deleted = DeletedUids::default();
        deleted.note("");
        for number in 0..=MOST {
            deleted.note(&number.to_string());
            deleted.note(&number.to_string());
        }
        assert!(!deleted.contains("0") && !deleted.contains(""));
        assert!(deleted.contains("1") && deleted.contains(&MOST.to_string()));
        assert_eq!((deleted.order.len(), deleted.uids.len()), (MOST, MOST));
    }
}
