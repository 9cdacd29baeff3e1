//! The objects that have recently disappeared from a mirror.

use std::collections::{HashSet, VecDeque};

/// The UIDs of the objects that disappeared last. The limit is far above the
/// number of objects that disappear between a write and its answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Recall {
    order: VecDeque<Box<str>>,
    uids: HashSet<Box<str>>,
}

impl Recall {
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
        let mut recall = Recall::default();
        recall.note("");
        for number in 0..=MOST {
            recall.note(&number.to_string());
            recall.note(&number.to_string());
        }
        assert!(!recall.contains("0") && !recall.contains(""));
        assert!(recall.contains("1") && recall.contains(&MOST.to_string()));
        assert_eq!((recall.order.len(), recall.uids.len()), (MOST, MOST));
    }
}
