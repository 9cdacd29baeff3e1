//! The values of the options that take a duration.

use std::time::Duration;

/// Numbers with their units, as Go has them, such as `90s`, `1h30m` or `500ms`, and also days,
/// such as `7d`. At most the longest duration of Go.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    loop {
        let (number, after) = rest.split_at(prefix(rest, |letter| letter.is_ascii_digit()));
        let (unit, after) = after.split_at(prefix(after, |letter| !letter.is_ascii_digit()));
        let sum = total.checked_add(part(number, unit)?);
        total = sum.filter(|sum| *sum <= LONGEST).ok_or(TOO_LONG)?;
        if after.is_empty() {
            return Ok(total);
        }
        rest = after;
    }
}

/// A duration that is compared with times of whole seconds.
pub(crate) fn whole_seconds(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    match duration.subsec_nanos() {
        0 => Ok(duration),
        _ => Err(format!("{EXPECTED}, and here whole seconds")),
    }
}

/// The length of the longest prefix of such letters.
fn prefix(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !of(letter)).unwrap_or(text.len())
}

/// One number with its unit. The number has digits alone.
fn part(number: &str, unit: &str) -> Result<Duration, &'static str> {
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return Err(EXPECTED),
    };
    if number.is_empty() {
        return Err(EXPECTED);
    }
    let number: u64 = number.parse().map_err(|_| TOO_LONG)?;
    let part = number.checked_mul(milliseconds).ok_or(TOO_LONG)?;
    Ok(Duration::from_millis(part))
}

const EXPECTED: &str = "expected numbers with the units d, h, m, s or ms, such as 90s, 1h30m or 7d";
const TOO_LONG: &str = "expected at most 106751d";

/// The most nanoseconds that a duration of Go has.
const LONGEST: Duration = Duration::from_nanos(i64::MAX.unsigned_abs());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        for wrong in ["", "h", "24", "-1s", "1.5h", "24 h", "1é"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_also_gos() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("500ms", 500),
            ("90s", 90_000),
            ("2m", 120_000),
            ("2m0s", 120_000),
            ("1h30m", 5_400_000),
            ("1h0m0s", 3_600_000),
            ("1m500ms", 60_500),
            ("1d12h", 129_600_000),
            ("0007d", 604_800_000),
            // Go takes these, too.
            ("30m1h", 5_400_000),
            ("1s1s", 2_000),
        ] {
            let expected = Duration::from_millis(milliseconds);
            assert_eq!(duration(text), Ok(expected), "{text}");
        }
        for wrong in [
            "00", "1h30", "h1", "1hm", "1h 30m", " 1h", "1h ", "+1h", "1H", "1w", "1us", "ms",
            "1_000s", "٣s", "1m-1s",
        ] {
            assert_eq!(duration(wrong), Err(EXPECTED.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_duration_that_is_too_long_is_refused() {
        for good in ["106751d", "2562047h47m16s", "9223372036854ms"] {
            assert!(duration(good).is_ok_and(|long| long <= LONGEST), "{good}");
        }
        for long in [
            "106752d",
            "2562047h47m17s",
            "9223372036855ms",
            "106751d106751d",
            "18446744073709551615d",
            "18446744073709551615s1s",
            "18446744073709551615ms18446744073709551615ms",
            "99999999999999999999999999s",
        ] {
            let error = duration(long).unwrap_err();
            assert!(error.contains("106751d"), "{long}: {error}");
        }
    }

    #[test]
    fn some_durations_are_whole_seconds() {
        assert_eq!(whole_seconds("1m1000ms"), Ok(Duration::from_secs(61)));
        let error = whole_seconds("1m500ms").unwrap_err();
        assert!(error.contains("whole seconds"), "{error}");
        assert_eq!(whole_seconds("1w"), Err(EXPECTED.to_owned()));
    }
}
