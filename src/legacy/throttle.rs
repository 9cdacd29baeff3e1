//! Slowing down those who guess.

use core::time::Duration;

use super::Outcome;
use crate::{model::Timestamp, policy::Limits};

/// How many wrong tokens came lately, and how long the next verdict waits.
///
/// The delay doubles with each wrong token, from
/// [`Limits::wrong_token_delay`] to [`Limits::wrong_token_longest_delay`], and
/// halves again as time passes. Keep one for each source address, and tell that
/// address **no verdict**, right or wrong, before the delay is over: a client that
/// closes early does not wait for a refusal. Other addresses are not delayed, and
/// nothing is counted for a cluster ID, so that nobody locks another one out. An
/// empty token is not counted: an honest home sends it first. A token has 512 bits;
/// what this slows down is the load that guessing makes.
///
/// A restart forgets it, which does no harm.
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
    /// How long the next verdict is to be held back after this outcome.
    pub fn delay(
        &mut self,
        outcome: Option<&Outcome>,
        now: Timestamp,
        limits: &Limits,
    ) -> Duration {
        let is_guess = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::WrongToken {
                    is_empty: false,
                    ..
                }
            )
        };
        if !outcome.is_some_and(is_guess) {
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
            is_empty: false,
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
