//! A point in time.

use core::{fmt, str::FromStr, time::Duration};
use std::time::SystemTime;

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::model::{ValueError, as_text};

/// A point in time in whole seconds since the Unix epoch. The caller passes the
/// time as an argument: the library does not read a clock.
///
/// The text form is RFC 3339, as in Kubernetes (`metav1.Time`). The years 0 to
/// 9999 are allowed, so that every timestamp has a text form.
///
/// # Examples
/// ```
/// use core::time::Duration;
/// use liqo_auth::model::Timestamp;
///
/// let now: Timestamp = "2026-11-20T13:00:00Z".parse()?;
/// assert_eq!(now.unix(), 1_795_179_600);
/// assert_eq!((now + Duration::from_secs(60)).to_string(), "2026-11-20T13:01:00Z");
/// # Ok::<(), liqo_auth::model::ValueError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The Unix epoch, 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);
    const MIN: i64 = -62_167_219_200;
    const MAX: i64 = 253_402_300_799;

    /// The time that is `seconds` after the Unix epoch.
    ///
    /// # Errors
    /// [`ValueError`] outside the years 0 to 9999.
    pub const fn from_unix(seconds: i64) -> Result<Self, ValueError> {
        if seconds < Self::MIN || seconds > Self::MAX {
            return Err(RANGE);
        }
        Ok(Self(seconds))
    }

    /// Seconds since the Unix epoch.
    pub const fn unix(self) -> i64 {
        self.0
    }

    /// The duration from `earlier` to this time; zero if `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    pub(crate) fn to_date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(self.0).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    fn saturating(seconds: i64) -> Self {
        Self(seconds.clamp(Self::MIN, Self::MAX))
    }
}

/// The second that a time lies in. The caller reads the clock.
impl TryFrom<SystemTime> for Timestamp {
    type Error = ValueError;

    fn try_from(time: SystemTime) -> Result<Self, ValueError> {
        let seconds = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i128::from(after.as_secs()),
            Err(before) => {
                let before = before.duration();
                -i128::from(before.as_secs()) - i128::from(before.subsec_nanos().min(1))
            }
        };
        Self::from_unix(i64::try_from(seconds).map_err(|_| RANGE)?)
    }
}

/// Adds whole seconds; saturates at the end of the year 9999.
impl core::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self::saturating(self.0.saturating_add_unsigned(duration.as_secs()))
    }
}

/// Subtracts whole seconds; saturates at the beginning of the year 0.
impl core::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self::saturating(self.0.saturating_sub_unsigned(duration.as_secs()))
    }
}

impl FromStr for Timestamp {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| FORMAT)?;
        Self::from_unix(time.unix_timestamp())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.to_date_time();
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            time.year(),
            u8::from(time.month()),
            time.day(),
            time.hour(),
            time.minute(),
            time.second(),
        )
    }
}

as_text!(Timestamp);

const FORMAT: ValueError =
    ValueError("not a date and time of RFC 3339, such as 2026-11-20T13:00:00Z");
const RANGE: ValueError = ValueError("the time is outside the years 0 to 9999");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_seconds_agree() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2024-08-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
        assert_eq!(
            "2024-08-01T02:00:00+02:00"
                .parse::<Timestamp>()
                .unwrap()
                .to_string(),
            "2024-08-01T00:00:00Z"
        );
        assert_eq!("yesterday".parse::<Timestamp>(), Err(FORMAT));
        assert_eq!(Timestamp::from_unix(i64::MAX), Err(RANGE));
    }

    #[test]
    fn a_time_of_a_clock_is_rounded_down() {
        let at = |seconds: u64, nanoseconds: u32| Duration::new(seconds, nanoseconds);
        let epoch = SystemTime::UNIX_EPOCH;
        for (time, expected) in [
            (epoch + at(5, 999_999_999), Ok(5)),
            (epoch, Ok(0)),
            (epoch - at(0, 1), Ok(-1)),
            (epoch - at(5, 0), Ok(-5)),
            (epoch + at(253_402_300_800, 0), Err(RANGE)),
        ] {
            assert_eq!(Timestamp::try_from(time).map(Timestamp::unix), expected);
        }
    }

    #[test]
    fn arithmetic_saturates() {
        let end = Timestamp(Timestamp::MAX);
        assert_eq!(end + Duration::MAX, end);
        assert_eq!(
            Timestamp(Timestamp::MIN) - Duration::from_secs(1),
            Timestamp(Timestamp::MIN)
        );
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }
}
