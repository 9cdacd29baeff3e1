//! The times at which a certificate is renewed and expires.

use core::time::Duration;

use crate::model::Timestamp;

/// When a certificate is due for renewal: after two thirds of the lifetime that
/// remained when this side issued or received it, by this side's own clock.
///
/// The time is not measured from notBefore, because signers backdate notBefore. If
/// a certificate's lifetime were shorter than the backdating, the certificate would
/// always be due at once.
pub(crate) fn due_at(received: Timestamp, until: Timestamp) -> Timestamp {
    received + until.since(received) / 3 * 2
}

/// The first time at which a certificate with this notAfter is no longer valid. A
/// certificate is valid through the whole second of its notAfter.
pub(crate) fn expired_at(until: Timestamp) -> Timestamp {
    until + Duration::from_secs(1)
}
