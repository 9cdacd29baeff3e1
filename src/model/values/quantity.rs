//! Amounts of resources.

use core::{fmt, str::FromStr};

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

impl Quantity {
    /// The text as it was written.
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

    /// The number without its sign, and the exponent if the suffix is an exponent.
    fn number_and_exponent(&self) -> Option<(&str, Option<&str>)> {
        let unsigned = self.0.strip_prefix(['+', '-']).unwrap_or(&self.0);
        let end = unsigned
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at_checked(end)?;
        let exponent = match SUFFIXES.contains(&suffix) {
            true => None,
            false => Some(suffix.strip_prefix(['e', 'E'])?),
        };
        let power = exponent.map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
        (is_number(number) && power.is_none_or(is_number)).then_some((number, exponent))
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

const SUFFIXES: [&str; 16] = [
    "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P", "E",
];
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
}
