//! Amounts of resources.

use core::{fmt, str::FromStr};
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::model::ValueError;

/// An amount of a resource as it is written, such as `2`, `500m` or `4Gi`.
///
/// The value may also be a text of another form, so that the object remains
/// readable. Source: Kubernetes `resource.Quantity`, which reads a JSON number as
/// well as a text.
///
/// # Examples
/// ```
/// use liqo_auth::model::Quantity;
///
/// let cpu: Quantity = serde_json::from_str("2")?;
/// assert_eq!(cpu, Quantity::from("2"));
/// assert_eq!(serde_json::to_string(&cpu)?, "\"2\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(
    Default,
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    derive_more::Display,
    derive_more::From,
)]
#[from(String, &str)]
pub struct Quantity(String);

/// Amounts of resources as in `cpu=4, memory=8Gi`, escaped.
pub(crate) struct Amounts<'a>(pub(crate) &'a BTreeMap<String, Quantity>);

impl Quantity {
    /// The text as it was written. A provider grants amounts in the spelling of Kubernetes, such as
    /// `500m` for `0.5`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text has the form of the resource definition:
    /// `(\+|-)?NUMBER(SUFFIX)?`.
    pub(crate) fn is_well_formed(&self) -> bool {
        self.number_and_exponent().is_some()
    }

    /// The reason why this quantity cannot be granted to a slice; `None` if it can.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let Some((number, exponent)) = self.number_and_exponent() else {
            return Some("it does not have the form of a quantity");
        };
        let is_zero = number.bytes().all(|digit| matches!(digit, b'0' | b'.'));
        let exponent = exponent.map_or(Ok(0), str::parse::<i32>);
        if self.0.starts_with('-') && !is_zero {
            Some("it is negative")
        } else if number.trim_matches('0').len() > DIGITS {
            Some("its number has too many digits")
        } else if exponent.is_ok_and(|exponent| exponent.unsigned_abs() <= EXPONENT) {
            None
        } else {
            Some("its exponent is not a whole number or is too large")
        }
    }

    /// The amount in billionths, rounded up, as Kubernetes counts it. `None` if the
    /// quantity cannot be granted to a slice. An amount that is larger than Kubernetes can
    /// count is the largest number.
    pub(crate) fn billionths(&self) -> Option<u128> {
        if self.fault().is_some() {
            return None;
        }
        let (number, suffix) = self.number_and_suffix()?;
        let (ten, two) = match UNITS.iter().find(|(unit, ..)| *unit == suffix) {
            Some((_, ten, two)) => (*ten, *two),
            None => (suffix.strip_prefix(['e', 'E'])?.parse().ok()?, 0),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let part = part.trim_end_matches('0');
        let digits = format!("{whole}{part}");
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Some(0);
        }
        let counted = scaled(digits, ten, part.len(), two);
        let counted = counted.filter(|amount| *amount <= MOST_BILLIONTHS);
        Some(counted.unwrap_or(u128::MAX))
    }

    /// So many billionths, in the largest decimal unit that gives a whole number.
    pub(crate) fn of_billionths(amount: u128) -> Self {
        Self::default().spelled(amount)
    }

    /// The same amount as Kubernetes spells it (`resource.Quantity`, its canonical form): a whole
    /// number with the largest unit of the same kind. An amount that Kubernetes cannot count stays
    /// as it is.
    pub(crate) fn canonical(self) -> Self {
        match self.billionths() {
            None | Some(u128::MAX) => self,
            Some(amount) => self.spelled(amount),
        }
    }

    /// So many billionths, in the kind of unit that this quantity has.
    fn spelled(&self, amount: u128) -> Self {
        if amount == 0 {
            return Self::from("0");
        }
        let (_, suffix) = self.number_and_suffix().unwrap_or_default();
        let whole = amount.checked_div(ONE).unwrap_or_default();
        if suffix.ends_with('i') && whole >= 1024 && amount.is_multiple_of(ONE) {
            let (number, power) = without_factors(whole, 1024);
            let power = power.saturating_mul(10);
            let unit = UNITS
                .iter()
                .find(|(_, ten, two)| *ten == 0 && *two == power);
            return Self(format!("{number}{}", unit.map_or("", |(unit, ..)| *unit)));
        }
        let (number, power) = without_factors(amount, 1000);
        let power = i32::try_from(power).unwrap_or_default();
        let power = power.saturating_mul(3).saturating_sub(BILLIONTHS);
        let is_exponent = UNITS.iter().all(|(unit, ..)| *unit != suffix);
        let unit = UNITS
            .iter()
            .find(|(_, ten, two)| *ten == power && *two == 0);
        Self(match unit {
            Some((unit, ..)) if power == 0 || !is_exponent => format!("{number}{unit}"),
            _ => format!("{number}e{power}"),
        })
    }

    /// Whether Kubernetes can count the amount.
    pub(crate) fn is_countable(&self) -> bool {
        self.billionths().is_some_and(|amount| amount != u128::MAX)
    }

    /// The number without its sign, and the exponent if the suffix is an exponent.
    fn number_and_exponent(&self) -> Option<(&str, Option<&str>)> {
        let (number, suffix) = self.number_and_suffix()?;
        let exponent = match UNITS.iter().any(|(unit, ..)| *unit == suffix) {
            true => None,
            false => Some(suffix.strip_prefix(['e', 'E'])?),
        };
        let power = exponent.map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
        (is_number(number) && power.is_none_or(is_number)).then_some((number, exponent))
    }

    /// The digits and points after the sign, and the rest.
    fn number_and_suffix(&self) -> Option<(&str, &str)> {
        let unsigned = self.0.strip_prefix(['+', '-']).unwrap_or(&self.0);
        let end = unsigned
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(unsigned.len());
        unsigned.split_at_checked(end)
    }
}

/// The number without the factors of that base, and how many they are.
fn without_factors(mut number: u128, base: u128) -> (u128, u32) {
    let mut count: u32 = 0;
    while number > 0
        && let Some((rest, 0)) = number.checked_div(base).zip(number.checked_rem(base))
    {
        number = rest;
        count = count.saturating_add(1);
    }
    (number, count)
}

/// The digits times powers of ten and of two, in billionths, rounded up. The last `places`
/// digits are behind the point. `None` if the number is too large.
fn scaled(digits: &str, ten: i32, places: usize, two: u32) -> Option<u128> {
    let number: u128 = digits.parse().ok()?;
    let amount = number.checked_mul(2_u128.checked_pow(two)?)?;
    let places = i32::try_from(places).ok()?;
    let power = ten.checked_add(BILLIONTHS)?.checked_sub(places)?;
    let scale = 10_u128.checked_pow(power.unsigned_abs());
    match (power.is_negative(), scale) {
        (false, scale) => amount.checked_mul(scale?),
        (true, Some(scale)) => Some(amount.div_ceil(scale)),
        // Less than a billionth.
        (true, None) => Some(1),
    }
}

/// `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        None => !text.is_empty() && digits(text),
        Some((whole, part)) => {
            digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty())
        }
    }
}

/// Each suffix that is no exponent, with its power of ten and its power of two.
const UNITS: [(&str, i32, u32); 16] = [
    ("", 0, 0),
    ("Ki", 0, 10),
    ("Mi", 0, 20),
    ("Gi", 0, 30),
    ("Ti", 0, 40),
    ("Pi", 0, 50),
    ("Ei", 0, 60),
    ("n", -9, 0),
    ("u", -6, 0),
    ("m", -3, 0),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("P", 15, 0),
    ("E", 18, 0),
];
/// The power of ten of the smallest amount that Kubernetes counts.
const BILLIONTHS: i32 = 9;
/// One, in billionths.
const ONE: u128 = 1_000_000_000;
/// The largest amount that Kubernetes counts: 2^63 - 1.
const MOST_BILLIONTHS: u128 = ((1 << 63) - 1) * ONE;
/// No amount of a resource needs more digits.
const DIGITS: usize = 38;
/// No amount of a resource needs a larger power of ten.
const EXPONENT: u32 = 30;

/// Reads only a quantity that can be granted to a slice: it has the form of a quantity,
/// is not negative, and is not too large or too precise.
impl FromStr for Quantity {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let quantity = Self::from(text);
        match quantity.fault() {
            None => Ok(quantity),
            Some(fault) => Err(ValueError(fault)),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrNumber;
        impl de::Visitor<'_> for TextOrNumber {
            type Value = Quantity;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a quantity")
            }

            fn visit_str<E>(self, text: &str) -> Result<Quantity, E> {
                Ok(Quantity::from(text))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }
        }
        deserializer.deserialize_any(TextOrNumber)
    }
}

impl fmt::Display for Amounts<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (resource, amount)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            let (resource, amount) = (resource.escape_debug(), amount.0.escape_debug());
            write!(formatter, "{comma}{resource}={amount}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_the_form_of_the_resource_definition() {
        for good in [
            "0", "2", "500m", "4Gi", "+1", "-1", "1.", ".5", "1.5k", "1e3", "1E-3", "12e+.5", "1E",
            "100Ki", "1n", "1u", "1P",
        ] {
            assert!(Quantity::from(good).is_well_formed(), "{good}");
        }
        for bad in [
            "", ".", "+", "1..2", "1ki", "1K", "1e", "1e3k", "e3", "1 ", " 1", "1ee3", "--1",
            "1Gi1", "١", "1kk", "-", "Gi", "1.2.3", "1Zi", "1e+", "0x10", "1,5", "NaN",
        ] {
            let bad = Quantity::from(bad);
            assert!(!bad.is_well_formed() && bad.fault().is_some(), "{bad}");
        }
    }

    #[test]
    fn only_what_kubernetes_can_count_is_granted() {
        for good in [
            "-0", "+2", "0Ei", "1E3", "1000e-3", "1e30", "007", ".5", "1.5Gi",
        ] {
            assert_eq!(Quantity::from(good).fault(), None, "{good}");
            assert_eq!(good.parse(), Ok(Quantity::from(good)));
        }
        assert_eq!(
            Quantity::from(format!("{}1", "0".repeat(10_000))).fault(),
            None
        );
        for negative in ["-1", "-1n", "-.5", "-1Ei"] {
            assert_eq!(Quantity::from(negative).fault(), Some("it is negative"));
            assert!(negative.parse::<Quantity>().is_err());
        }
        for text in ["1e31", "1e-31", "1e99999999999", "12e+.5", &"9".repeat(39)] {
            assert!(Quantity::from(text).fault().is_some(), "{text}");
        }
    }

    /// The spellings are those of Go's `resource.Quantity` (apimachinery 0.35) in JSON.
    #[test]
    fn granted_amounts_are_spelled_as_kubernetes_spells_them() {
        for (text, expected) in [
            ("-0", "0"),
            ("0Gi", "0"),
            ("2", "2"),
            (".5", "500m"),
            ("0.5", "500m"),
            ("1500m", "1500m"),
            ("1000m", "1"),
            ("0.1n", "1n"),
            ("1000n", "1u"),
            ("1.5k", "1500"),
            ("2000", "2k"),
            ("1000k", "1M"),
            ("1e1", "10"),
            ("1e3", "1e3"),
            ("15e2", "1500"),
            ("1e-1", "100e-3"),
            ("1e-30", "1e-9"),
            ("12345e-4", "1234500e-6"),
            ("1E", "1E"),
            ("4Gi", "4Gi"),
            ("0.5Gi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1024", "1024"),
            ("0.5Ki", "512"),
            ("1023Ki", "1023Ki"),
            ("1.0001Ki", "1024102400u"),
            ("1.5", "1500m"),
            ("7Ei", "7Ei"),
            ("1048576Ki", "1Gi"),
            ("1.1Gi", "1181116006400m"),
            ("9223372036854775807", "9223372036854775807"),
            ("1000000Gi", "1000000Gi"),
            ("3.3333333333", "3333333334n"),
            // Nobody can count or read these.
            ("1e20", "1e20"),
            ("much", "much"),
        ] {
            let spelled = Quantity::from(text).canonical();
            assert_eq!(spelled.as_str(), expected, "{text}");
            assert_eq!(spelled.billionths(), Quantity::from(text).billionths());
            assert_eq!(spelled.clone().canonical(), spelled);
        }
    }

    #[test]
    fn sums_are_written_in_whole_numbers() {
        for (amount, text) in [
            (0, "0"),
            (4_000_000_000, "4"),
            (1_500_000_000, "1500m"),
            (8_000_000_000_000, "8k"),
            (1_501, "1501n"),
            (2_000, "2u"),
            (1, "1n"),
        ] {
            let quantity = Quantity::of_billionths(amount);
            assert_eq!(quantity.as_str(), text);
            assert_eq!(quantity.billionths(), Some(amount));
        }
    }

    #[test]
    fn amounts_are_counted_as_kubernetes_counts_them() {
        let billionths = |text: &str| Quantity::from(text).billionths();
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("0e30", 0),
            ("1n", 1),
            ("0.1n", 1),
            ("1e-30", 1),
            (".5", 500_000_000),
            ("1500m", 1_500_000_000),
            ("1.50000000000000000000000000000000000000", 1_500_000_000),
            ("4", 4_000_000_000),
            ("4e3", 4_000_000_000_000),
            ("8Gi", 8_589_934_592_000_000_000),
            ("1.5Ki", 1_536_000_000_000),
            ("9223372036854775807", MOST_BILLIONTHS),
        ] {
            assert_eq!(billionths(text), Some(expected), "{text}");
        }
        let zeros = format!("1{}", "0".repeat(60));
        for text in ["1e20", "8Ei", "9223372036854775808", &zeros] {
            assert_eq!(billionths(text), Some(u128::MAX), "{text}");
            assert!(!Quantity::from(text).is_countable(), "{text}");
        }
        for text in ["", "much", "-1"] {
            assert_eq!(billionths(text), None, "{text}");
        }
    }
}
