//! Slowing down those who guess.

use core::time::Duration;

use super::Outcome;
use crate::{model::Timestamp, policy::Limits};

/// How many wrong tokens came lately, and how long the next refusal waits.
///
/// The delay doubles with each wrong token, from
/// [`Limits::wrong_token_delay`] to [`Limits::wrong_token_longest_delay`], and
/// halves again as time passes. It holds back **the refusal only**: a right
/// token is answered at once whatever others did, and nothing is counted for a
/// cluster ID, so that nobody locks another one out. A token has 512 bits; what
/// this slows down is the load that guessing makes.
///
/// Keep one for the whole server, or one for each source address where the
/// transport knows those. A restart forgets it, which does no harm.
///
/// # Examples
/// ```
/// use core::time::Duration;
/// use liqo_auth::{legacy::{Outcome, Throttle}, policy::Limits};
///
/// let (mut throttle, limits) = (Throttle::default(), Limits::default());
/// let now = "2026-11-20T13:00:00Z".parse()?;
/// let wrong = Outcome::WrongToken { peer: "cl-home".parse()?, is_empty: false };
/// let first = throttle.delay(Some(&wrong), now, &limits);
/// assert_eq!(first, limits.wrong_token_delay);
/// assert_eq!(throttle.delay(Some(&wrong), now, &limits), 2 * first);
/// assert_eq!(throttle.delay(None, now, &limits), Duration::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttle {
    doublings: u32,
    since: Option<Timestamp>,
}

impl Throttle {
    /// How long the response is to be held back, for the outcome that came with
    /// it.
    pub fn delay(
        &mut self,
        outcome: Option<&Outcome>,
        now: Timestamp,
        limits: &Limits,
    ) -> Duration {
        if !matches!(outcome, Some(Outcome::WrongToken { .. })) {
            return Duration::ZERO;
        }
        let longest = limits.wrong_token_longest_delay;
        let quiet = self.since.map_or(Duration::ZERO, |since| now.since(since));
        let periods = quiet.as_secs() / longest.as_secs().max(1);
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        self.doublings = self.doublings.saturating_sub(periods);
        self.since = Some(now);
        let factor = 1_u32.checked_shl(self.doublings).unwrap_or(u32::MAX);
        let delay = limits.wrong_token_delay.saturating_mul(factor);
        if delay < longest {
            self.doublings += 1;
        }
        delay.min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_passes() {
        let limits = Limits::default();
        let wrong = Outcome::WrongToken {
            peer: "a".parse().unwrap(),
            is_empty: true,
        };
        let now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
        let mut throttle = Throttle::default();
        let mut last = Duration::ZERO;
        for _ in 0..100 {
            let delay = throttle.delay(Some(&wrong), now, &limits);
            assert!(delay >= last && delay <= limits.wrong_token_longest_delay);
            last = delay;
        }
        assert_eq!(last, limits.wrong_token_longest_delay);
        let later = now + Duration::from_secs(3600);
        assert_eq!(
            throttle.delay(Some(&wrong), later, &limits),
            limits.wrong_token_delay
        );
    }
}
