//! Time and randomness. The library itself has no source of either.

use std::{
    str::FromStr,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use base64::{Engine, engine::general_purpose::STANDARD};
use getrandom::SysRng;
use liqo_auth::{crypto::Entropy, legacy::AuthToken, machine::Env, model::Timestamp};

use crate::{
    failure::{Failure, Result},
    values::durations,
};

/// The source of the present time: the system's clock, or the option `--now`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Option<Now>);

/// The value of `--now`, which replaces the present time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Now {
    At(Timestamp),
    /// This long after the system's time.
    In(Duration),
}

impl Clock {
    /// The system's clock, or `other` instead of it.
    pub(crate) const fn new(other: Option<Now>) -> Self {
        Self(other)
    }

    pub(crate) fn now(self) -> Result<Timestamp> {
        let ahead = match self.0 {
            Some(Now::At(fixed)) => return Ok(fixed),
            Some(Now::In(ahead)) => ahead,
            None => Duration::ZERO,
        };
        Ok(Timestamp::try_from(SystemTime::now()).context("the system's clock")? + ahead)
    }

    /// The same clock, which stays at the present time. Errors that name it can be compared.
    pub(crate) fn stopped(self) -> Result<Self> {
        Ok(Self(Some(Now::At(self.now()?))))
    }

    /// The same clock for a controller, which runs on.
    pub(crate) fn running(self) -> Result<liqo_auth_kube::Clock> {
        let ahead = match self.0 {
            Some(Now::At(_)) => {
                return Err(Failure::usage(
                    "a controller cannot stay at one time: give --now a time in the future, such as +2h",
                ));
            }
            Some(Now::In(ahead)) => ahead,
            None => Duration::ZERO,
        };
        let seconds = i64::try_from(ahead.as_secs()).context("--now")?;
        Ok(liqo_auth_kube::Clock::shifted(seconds))
    }

    pub(crate) fn env(self) -> Result<Env> {
        Ok(Env {
            now: self.now()?,
            entropy: entropy()?,
        })
    }
}

impl FromStr for Now {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(ahead) = text.strip_prefix('+') else {
            let at = text.parse().map_err(|error| format!("{error}"))?;
            return Ok(Self::At(at));
        };
        durations::whole_seconds(ahead)
            .map(Self::In)
            .map_err(|error| format!("a time after now: {error}"))
    }
}

/// 32 bytes of the operating system's randomness.
pub(crate) fn entropy() -> Result<Entropy> {
    Ok(Entropy::draw(&mut SysRng).context("the operating system gave no randomness")?)
}

/// Random bytes that are not secret.
pub(crate) fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).context("the operating system gave no randomness")?;
    Ok(bytes)
}

/// A random token for a service account, in base64. A real API server signs a token
/// instead.
pub(crate) fn service_account_token() -> anyhow::Result<String> {
    let entropy = Entropy::draw(&mut SysRng).context("the operating system gave no randomness")?;
    Ok(STANDARD.encode(AuthToken::make(&entropy).expose()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_time_is_one_or_so_far_ahead() {
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!("+300d".parse(), Ok(Now::In(day * 300)));
        assert_eq!("+90s".parse(), Ok(Now::In(Duration::from_secs(90))));
        let at = "2026-11-20T13:00:00Z";
        assert_eq!(at.parse(), Ok(Now::At(at.parse().unwrap())));
        for wrong in ["+", "+d", "+1", "+1w", "+-1d", "+1dd", "tomorrow", ""] {
            assert!(wrong.parse::<Now>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_stopped_clock_stays_at_the_time_of_the_running_one() {
        let ahead = Clock::new(Some(Now::In(Duration::from_secs(3600))));
        let before = ahead.now().unwrap();
        let Clock(Some(Now::At(stopped))) = ahead.stopped().unwrap() else {
            panic!("it runs");
        };
        assert!((before..=ahead.now().unwrap()).contains(&stopped));
    }
}
