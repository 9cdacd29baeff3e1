//! The delay for clients that guess tokens.

use core::time::Duration;

use super::Outcome;
use crate::{model::Timestamp, policy::Limits};

/// The number of recent wrong tokens, and the delay before the next answer.
///
/// The delay doubles with each wrong token, from [`Limits::wrong_token_delay`] to
/// [`Limits::wrong_token_longest_delay`], and halves again as time passes. Keep one
/// throttle for each source address. Until the delay is over, send **no answer** to
/// that address on any connection, whether the token is right or wrong: a guessing
/// client can close a connection before the refusal and open another one. Other
/// addresses are not delayed. Wrong tokens are not counted by cluster ID, so that
/// no client can lock out another cluster. An empty token is not counted, since an
/// honest home cluster sends it first. A token has 512 bits and cannot be guessed.
/// The throttle limits the load that guessing causes.
///
/// A restart resets the throttle, which does no harm.
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
    /// The delay before the next answer, after this outcome.
    pub fn delay(
        &mut self,
        outcome: Option<&Outcome>,
        now: Timestamp,
        limits: &Limits,
    ) -> Duration {
        let Some(Outcome::WrongToken {
            is_empty: false, ..
        }) = outcome
        else {
            return Duration::ZERO;
        };
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

    /// An honest home cluster sends the empty token first.
    #[test]
    fn an_empty_token_is_no_guess() {
        let limits = Limits::default();
        let wrong = |is_empty| Outcome::WrongToken {
            peer: "a".parse().unwrap(),
            is_empty,
        };
        let now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
        let mut throttle = Throttle::default();
        for _ in 0..3 {
            let delay = throttle.delay(Some(&wrong(true)), now, &limits);
            assert_eq!(delay, Duration::ZERO);
        }
        let first = throttle.delay(Some(&wrong(false)), now, &limits);
        assert_eq!(first, limits.wrong_token_delay);
    }

    #[test]
    fn each_wrong_token_doubles_the_delay_and_each_quiet_period_halves_it() {
        let limits = Limits::default();
        let wrong = Outcome::WrongToken {
            peer: "a".parse().unwrap(),
            is_empty: false,
        };
        let mut now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
        let mut throttle = Throttle::default();
        for (quiet, milliseconds) in [
            (0, 250),
            (0, 500),
            (0, 1000),
            (0, 2000),
            (0, 3000),
            (0, 3000),
            // A period is the longest delay.
            (2, 3000),
            (3, 2000),
            (7, 1000),
            (0, 2000),
            (60, 250),
        ] {
            now = now + Duration::from_secs(quiet);
            let delay = throttle.delay(Some(&wrong), now, &limits);
            assert_eq!(delay, Duration::from_millis(milliseconds), "{quiet}");
        }
    }

    #[test]
    fn a_delay_that_has_come_to_the_longest_is_doubled_no_more() {
        let limits = Limits {
            wrong_token_delay: Duration::from_secs(1),
            wrong_token_longest_delay: Duration::from_secs(4),
            ..Limits::default()
        };
        let wrong = Outcome::WrongToken {
            peer: "a".parse().unwrap(),
            is_empty: false,
        };
        let now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
        let mut throttle = Throttle::default();
        for seconds in [1, 2, 4, 4] {
            let delay = throttle.delay(Some(&wrong), now, &limits);
            assert_eq!(delay, Duration::from_secs(seconds));
        }
        // One quiet period halves it.
        let later = now + Duration::from_secs(4);
        let delay = throttle.delay(Some(&wrong), later, &limits);
        assert_eq!(delay, Duration::from_secs(2));
    }

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
