//! The instants of the model.

use core::time::Duration;

use liqo_auth::model::Timestamp;

/// The five instants: the start; the nonces still hold; they have expired; the
/// certificates are due; they have ended.
pub const INSTANTS: [u64; 5] = [0, HOUR, 25 * HOUR, 61 * DAY, 120 * DAY];

pub fn instant(number: u8) -> Timestamp {
    let start: Timestamp = "2026-11-20T13:00:00Z".parse().expect("it is a time");
    start + Duration::from_secs(INSTANTS[usize::from(number)])
}

const HOUR: u64 = 3600;
pub const DAY: u64 = 24 * HOUR;
