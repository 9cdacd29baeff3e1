//! When the next run is due.

use core::time::Duration;

use crate::{
    machine::{Awaited, Wait},
    model::Timestamp,
};

impl Wait {
    /// How long to wait for the next run, if no object of the peer changes: until the
    /// step's wake-up time, and at most `poll` while a backend has not answered. No watch
    /// reports such an answer. `None` if only a change of an object leads on.
    pub fn next_run(&self, now: Timestamp, poll: Duration) -> Option<Duration> {
        let at_wake = self.wake_at.map(|wake_at| {
            let seconds = wake_at.unix().saturating_sub(now.unix());
            Duration::from_secs(seconds.max(1).unsigned_abs())
        });
        let asks_a_backend = self.awaiting.iter().any(is_answered_outside);
        at_wake
            .into_iter()
            .chain(asks_a_backend.then_some(poll))
            .min()
    }
}

/// Whether a backend gives the answer.
const fn is_answered_outside(awaited: &Awaited) -> bool {
    match awaited {
        Awaited::Names
        | Awaited::Approval
        | Awaited::Credential(_)
        | Awaited::OwnKey
        | Awaited::Signature(_)
        | Awaited::Resources(_) => true,
        Awaited::Invitation
        | Awaited::Nonce
        | Awaited::Tenant
        | Awaited::Identity
        | Awaited::SliceDecision(_)
        | Awaited::Renewal(_)
        | Awaited::End(_)
        | Awaited::Uid(_)
        | Awaited::SliceRequest(_)
        | Awaited::AwsRevocation { .. }
        | Awaited::Token(_) => false,
    }
}
