//! How many requests of a peer's slices were taken of late.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{model::Timestamp, policy::Limits};

/// A bucket that each request empties by one, and that time fills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::provider) struct SigningRate {
    /// When the bucket is full, in seconds since the Unix epoch.
    full_at: i64,
}

impl SigningRate {
    /// Takes one request.
    ///
    /// # Errors
    /// When the next request can be taken, if the bucket is empty.
    pub(in crate::provider) fn take(
        &mut self,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<(), Timestamp> {
        let interval = limits.signing_interval;
        let whole = interval.saturating_mul(limits.signing_burst);
        // A clock that was ahead makes nothing wait longer than an empty bucket.
        let full_at = now.unix().max(self.full_at);
        let full_at = full_at.min((now + whole).unix());
        let next = full_at.saturating_add(seconds(interval));
        if next <= (now + whole).unix() {
            self.full_at = next;
            return Ok(());
        }
        self.full_at = full_at;
        let wait = next
            .saturating_sub(now.unix())
            .saturating_sub(seconds(whole));
        Err(now + Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
    }

    /// Whether no request was ever taken.
    pub(super) fn is_unused(&self) -> bool {
        *self == Self::default()
    }
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
