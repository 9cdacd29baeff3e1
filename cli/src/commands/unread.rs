//! What is there, and cannot be read: it is not absent.

use liqo_auth::model::Unreadable;

use crate::{failure::Failure, home::Home};

/// The failure of a command that needs this object: what is wrong, where it is, and what to do.
pub(super) fn failure(home: &Home, unreadable: &Unreadable, then: &str) -> Failure {
    Failure::at_odds(format!(
        "{} is in {}, and cannot be read: {}. Restore it from a backup, or delete it if all of it may be lost: {}. {then}",
        unreadable.id,
        home.site(),
        unreadable.reason,
        home.site_of(&unreadable.id)
    ))
}
