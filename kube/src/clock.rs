use std::time::SystemTime;

use getrandom::SysRng;
use liqo_auth::{crypto::Entropy, machine::Env, model::Timestamp};

use crate::Error;

/// The clock of a controller: the system's clock, optionally shifted.
///
/// A shifted clock is for tests: it shows how a controller behaves near the end of a
/// certificate, or on a machine whose clock is wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    shift: i64,
}

impl Clock {
    /// A clock that is this many seconds ahead of the system's clock. With a negative
    /// number, the clock is behind.
    #[must_use]
    pub const fn shifted(seconds: i64) -> Self {
        Self { shift: seconds }
    }

    /// The present time.
    ///
    /// # Errors
    /// [`Error::Machine`] if the system's clock, or the shifted time, is not in the years 0 to
    /// 9999.
    pub fn now(self) -> Result<Timestamp, Error> {
        let now = Timestamp::try_from(SystemTime::now()).ok();
        let seconds = now.and_then(|now| now.unix().checked_add(self.shift));
        let time = seconds.and_then(|seconds| Timestamp::from_unix(seconds).ok());
        time.ok_or(Error::Machine(WRONG_CLOCK))
    }

    pub(crate) fn env(self) -> Result<Env, Error> {
        Ok(Env {
            now: self.now()?,
            entropy: entropy()?,
        })
    }
}

pub(crate) fn entropy() -> Result<Entropy, Error> {
    Entropy::draw(&mut SysRng).map_err(|_| Error::Machine(NO_RANDOMNESS))
}

const WRONG_CLOCK: &str = "the clock of this machine shows a time outside the years 0 to 9999";
pub(crate) const NO_RANDOMNESS: &str = "this machine provides no randomness";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_clock_is_ahead_or_behind() {
        let at = |shift| Clock::shifted(shift).now().unwrap().unix();
        let (behind, now, ahead) = (at(-7200), at(0), at(7200));
        // A second may pass between two readings.
        assert!((7200..=7201).contains(&(now - behind)));
        assert!((7200..=7201).contains(&(ahead - now)));
    }

    #[test]
    fn a_time_outside_the_years_0_to_9999_is_refused() {
        for shift in [i64::MIN, -100_000_000_000, 400_000_000_000, i64::MAX] {
            let error = Clock::shifted(shift).now().unwrap_err();
            assert!(matches!(error, Error::Machine(_)), "{error}");
        }
    }
}
