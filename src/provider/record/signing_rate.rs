//! The rate limit for the requests of a peer's slices.

use core::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    crypto::update_part,
    model::{Bytes, ResourceSlice, Secret, Timestamp},
    policy::Limits,
    verify::VerifiedSlice,
};

/// A token bucket. Each request takes one token; one token returns per interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SigningRate {
    /// When the bucket is full, in seconds since the Unix epoch.
    full_at: i64,
    /// The last requests that took a token. If the provider crashes before it
    /// writes a slice's record, the slice's request does not take another token.
    taken: Vec<Bytes>,
}

/// The digest of a slice's request and of the present version of the slice's
/// record.
pub(crate) struct RequestDigest([u8; 32]);

impl RequestDigest {
    /// The digest covers the record's version. So an earlier request counts as a new
    /// request if the record has contained another request since.
    pub(crate) fn of(
        slice: &ResourceSlice,
        verified: &VerifiedSlice,
        record: Option<&Secret>,
    ) -> Self {
        let version = record.map_or("", |secret| &secret.metadata.resource_version);
        let mut hash = Sha256::new();
        hash.update(verified.csr.digest());
        for part in [&slice.metadata.name, &slice.metadata.uid, version] {
            update_part(&mut hash, part.as_bytes());
        }
        Self(hash.finalize().into())
    }
}

impl SigningRate {
    /// Takes a token for one request.
    ///
    /// # Errors
    /// The time at which the next token is available, if the bucket is empty.
    pub(crate) fn take(
        &mut self,
        request: &RequestDigest,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<(), Timestamp> {
        if self.taken.iter().any(|taken| taken.as_slice() == request.0) {
            return Ok(());
        }
        let interval = limits.signing_interval;
        let whole = interval.saturating_mul(limits.signing_burst);
        // If the clock was ahead before, a request waits no longer than with an
        // empty bucket.
        let full_at = now.unix().max(self.full_at);
        let full_at = full_at.min((now + whole).unix());
        let next = full_at.saturating_add(seconds(interval));
        if next <= (now + whole).unix() {
            self.full_at = next;
            self.taken.push(Bytes::from(request.0.as_slice()));
            let surplus = self.taken.len().saturating_sub(limits.resource_slices);
            self.taken.drain(..surplus);
            return Ok(());
        }
        self.full_at = full_at;
        let wait = next
            .saturating_sub(now.unix())
            .saturating_sub(seconds(whole));
        Err(now + Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
    }
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
