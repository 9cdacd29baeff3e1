//! What a status must say of a side that is at rest.

use liqo_auth::{
    Machine,
    machine::{Step, View},
    model::Timestamp,
};

/// Checks that the status says what the last step of a side says, although it does not ask
/// a backend.
#[track_caller]
pub(crate) fn agrees(machine: &dyn Machine, view: &View<'_>, step: &Step, now: Timestamp) {
    let status = machine.look(view, now).unwrap();
    assert!(!status.is_due, "{status:#?} {step:#?}");
    for notice in &step.notices {
        assert!(status.notices.contains(notice), "{notice:?}: {status:#?}");
    }
    for awaited in &step.wait.awaiting {
        assert!(status.awaits.contains(awaited), "{awaited:?}: {status:#?}");
    }
    // A backend that fails or denies is asked again, and a look awaits its answer.
    if step.refused.is_empty() {
        assert_eq!(status.awaits, step.wait.awaiting, "{status:#?}");
        assert_eq!(status.refused, []);
    }
}
