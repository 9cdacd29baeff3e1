//! When a certificate is to be renewed.

use crate::model::Timestamp;

/// When a certificate is due: two thirds into what was left of its life when
/// it was issued or received, by this side's own clock.
///
/// It is not measured from notBefore, which signers set back: a certificate
/// that lives shorter than that would be due at once, again and again.
///
/// # Examples
/// ```
/// use liqo_auth::machine;
///
/// let received = "2026-11-20T13:00:00Z".parse()?;
/// let until = "2026-11-20T13:01:30Z".parse()?;
/// assert_eq!(machine::due_at(received, until).to_string(), "2026-11-20T13:01:00Z");
/// # Ok::<(), liqo_auth::model::ValueError>(())
/// ```
pub fn due_at(received: Timestamp, until: Timestamp) -> Timestamp {
    received + until.since(received) / 3 * 2
}
