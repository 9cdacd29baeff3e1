//! Durations, as people write them in options and settings.

use std::time::Duration;

/// Numbers with their units, as Go's `time.ParseDuration` reads them, such as `90s`, `1h30m`,
/// `1.5h` or `500ms`, and also days, such as `7d`. At most the longest duration of Go, and not
/// below zero.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    unsigned(text.strip_prefix('+').unwrap_or(text))
}

/// A duration that is compared with times of whole seconds.
pub(crate) fn whole_seconds(text: &str) -> Result<Duration, String> {
    let duration = unsigned(text)?;
    match duration.subsec_nanos() {
        0 => Ok(duration),
        _ => Err(format!("{EXPECTED}, and here whole seconds")),
    }
}

/// A duration without a sign.
fn unsigned(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total: u64 = 0;
    let mut rest = text;
    loop {
        let (number, after) = rest.split_at(prefix(rest, is_of_number));
        let (unit, after) = after.split_at(prefix(after, |letter| !is_of_number(letter)));
        let sum = total.checked_add(part(number, unit)?);
        total = sum.filter(|sum| *sum <= LONGEST).ok_or(TOO_LONG)?;
        if after.is_empty() {
            return Ok(Duration::from_nanos(total));
        }
        rest = after;
    }
}

fn is_of_number(letter: char) -> bool {
    letter == '.' || letter.is_ascii_digit()
}

/// The length of the longest prefix of such letters.
fn prefix(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !of(letter)).unwrap_or(text.len())
}

/// The nanoseconds of one number with its unit. The number has digits and points alone.
fn part(number: &str, unit: &str) -> Result<u64, &'static str> {
    let unit = match unit {
        "ns" => 1,
        // The micro sign, and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 60 * 60 * SECOND,
        "d" => 24 * 60 * 60 * SECOND,
        _ => return Err(EXPECTED),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(EXPECTED);
    }
    let whole: u64 = match whole {
        "" => 0,
        whole => whole.parse().map_err(|_| TOO_LONG)?,
    };
    let whole = whole.checked_mul(unit).ok_or(TOO_LONG)?;
    whole
        .checked_add(of_fraction(fraction, unit))
        .ok_or(TOO_LONG)
}

/// The nanoseconds of these digits behind the point, rounded as Go rounds them. Go reads as many
/// digits as 63 bits hold, and leaves out the others.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go rounds in the same way, and the result is less than the unit"
)]
fn of_fraction(digits: &str, unit: u64) -> u64 {
    let (mut fraction, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes().map(|digit| u64::from(digit - b'0')) {
        if fraction > LONGEST / 10 {
            break;
        }
        let longer = fraction * 10 + digit;
        if longer > LONGEST + 1 {
            break;
        }
        fraction = longer;
        scale *= 10.0;
    }
    (fraction as f64 * (unit as f64 / scale)) as u64
}

const EXPECTED: &str =
    "expected numbers with the units d, h, m, s, ms, us or ns, such as 90s, 1h30m, 1.5h or 7d";
const TOO_LONG: &str = "expected at most 106751d";

/// The nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// The most nanoseconds that a duration of Go has.
const LONGEST: u64 = i64::MAX.unsigned_abs();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        for wrong in ["", "h", "24", "-1s", "1.5", "24 h", "1é", "+", "++1s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_also_gos() {
        for (text, milliseconds) in [
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("500ms", 500),
            ("90s", 90_000),
            ("2m", 120_000),
            ("2m0s", 120_000),
            ("1h30m", 5_400_000),
            ("+1h30m", 5_400_000),
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
            "00", "1h30", "h1", "1hm", "1h 30m", " 1h", "1h ", "1H", "1w", "ms", "1_000s", "٣s",
            "1m-1s", "1e3s", "1,5h", "1m+1s",
        ] {
            assert_eq!(duration(wrong), Err(EXPECTED.to_owned()), "{wrong}");
        }
    }

    /// What Go gives for each of these, in nanoseconds.
    #[test]
    fn fractions_are_gos() {
        for (text, nanoseconds) in [
            ("1.5h", 5_400_000_000_000),
            ("0.5d", 43_200_000_000_000),
            ("1.0s", 1_000_000_000),
            ("1.004s", 1_004_000_000),
            ("1.00s", 1_000_000_000),
            ("5.s", 5_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("10.5s4m", 250_500_000_000),
            ("1h1.5s", 3_601_500_000_000),
            ("12us", 12_000),
            ("12\u{b5}s10ns", 12_010),
            ("12\u{3bc}s10ns", 12_010),
            ("1.9ns", 1),
            ("0.1us", 100),
            ("39h9m14.425s", 140_954_425_000_000),
            ("52763797000ns", 52_763_797_000),
            // More digits than a number holds.
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("0.100000000000000000000h", 360_000_000_000),
            ("0.9223372036854775807s", 922_337_203),
            ("0.9223372036854775809s", 922_337_203),
            ("0.9300000000000000000000000001s", 930_000_000),
            ("0.830103483285477580700h", 2_988_372_539_827),
        ] {
            let expected = Duration::from_nanos(nanoseconds);
            assert_eq!(duration(text), Ok(expected), "{text}");
        }
        for wrong in [".s", "1..5s", "1.5.5s", "1.5", ".", "-1.5h", "1.h5"] {
            assert_eq!(duration(wrong), Err(EXPECTED.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_duration_that_is_too_long_is_refused() {
        for good in [
            "106751d",
            "106751.9d",
            "2562047h47m16.854775807s",
            "9223372036854775807ns",
            "9223372036854775.807us",
            "9223372036854ms",
        ] {
            let nanoseconds = duration(good).unwrap().as_nanos();
            assert!(nanoseconds <= LONGEST.into(), "{good}");
        }
        for long in [
            "106752d",
            "106751.999d",
            "2562047h47m17s",
            "2562047h47m16.854775808s",
            "9223372036854775808ns",
            "9223372036855ms",
            "106751d106751d",
            "18446744073709551615d",
            "18446744073709551615s1s",
            "18446744073709551615ns1s",
            "18446744073709551615.9ns",
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
        assert_eq!(whole_seconds("1.5h"), Ok(Duration::from_secs(5_400)));
        for wrong in ["1m500ms", "1.5s"] {
            let error = whole_seconds(wrong).unwrap_err();
            assert!(error.contains("whole seconds"), "{error}");
        }
        for wrong in ["1w", "+1h"] {
            assert_eq!(whole_seconds(wrong), Err(EXPECTED.to_owned()), "{wrong}");
        }
    }
}
