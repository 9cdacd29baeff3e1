use core::{cell::Cell, cmp::Ordering};
use std::rc::Rc;

use super::*;

/// A key that counts how often keys are compared.
#[derive(Clone)]
struct Counted {
    number: usize,
    compared: Rc<Cell<usize>>,
}

struct Value {
    number: usize,
    copied: Rc<Cell<usize>>,
}

impl Clone for Value {
    fn clone(&self) -> Self {
        self.copied.set(self.copied.get() + 1);
        Self {
            number: self.number,
            copied: Rc::clone(&self.copied),
        }
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compared.set(self.compared.get() + 1);
        self.number.cmp(&other.number)
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Counted {}

/// The number of comparisons of keys and of copies of values for this number of rules.
/// Each rule changes a value of its own three times. Every second rule fails.
fn work(rules: usize) -> usize {
    let (compared, copied) = (Rc::default(), Rc::default());
    let mut journal = Journal::default();
    for number in 0..rules {
        let key = Counted {
            number,
            compared: Rc::clone(&compared),
        };
        let value = Value {
            number,
            copied: Rc::clone(&copied),
        };
        let mark = journal.mark();
        assert!(!journal.contains(&key));
        journal.set(key.clone(), value.clone());
        journal.get_mut(&key).unwrap().number += 1;
        journal.get_or_make(key, || value).number += 1;
        if number % 2 == 1 {
            journal.return_to(mark);
        }
    }
    let left = journal.values().map(|value| value.number);
    assert!(left.eq((0..rules).step_by(2).map(|number| number + 2)));
    compared.get() + copied.get()
}

#[test]
fn the_work_of_a_rule_does_not_grow_with_the_others_changes() {
    // Four times as many rules, and two more levels in each search.
    assert!(work(4000) < 6 * work(1000));
}

#[test]
fn what_was_changed_since_a_mark_goes_back() {
    let mut journal = Journal::default();
    journal.set("kept", 1);
    journal.set("changed", 2);
    journal.set("removed", 3);
    let outer = journal.mark();
    journal.set("changed", 4);
    journal.remove(&"removed");
    journal.remove(&"absent");
    let inner = journal.mark();
    *journal.get_or_make("made", || 5) += 1;
    *journal.get_mut(&"changed").unwrap() += 1;
    journal.set("removed", 7);
    assert!(journal.get_mut(&"absent").is_none());
    journal.return_to(inner);
    let now: Vec<_> = journal.values.clone().into_iter().collect();
    assert_eq!(now, [("changed", 4), ("kept", 1)]);
    journal.return_to(outer);
    let now: Vec<_> = journal.into_iter().collect();
    assert_eq!(now, [("changed", 2), ("kept", 1), ("removed", 3)]);
}
