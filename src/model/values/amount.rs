//! How much a quantity is.

use core::cmp::Ordering;

use crate::model::{Quantity, reading::excerpt::Excerpt};

/// How much a [`Quantity`] is, as an exact number: decimal digits times a power
/// of ten and a power of two.
///
/// Equal amounts are equal however they are written. Source: Kubernetes
/// `resource.ParseQuantity`, which also rounds what is finer than a billionth
/// up to the next; here nothing is rounded.
///
/// # Examples
/// ```
/// use liqo_auth::model::Quantity;
///
/// let amount = |text: &str| Quantity::from(text).amount();
/// assert!(amount("4Gi")? > amount("4G")?);
/// assert_eq!(amount("0.5")?, amount("500m")?);
/// assert_eq!(amount("1e3")?, amount("1k")?);
/// # Ok::<(), liqo_auth::model::QuantityError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    negative: bool,
    digits: u128,
    /// The power of ten.
    tens: i32,
    /// The power of two.
    twos: u32,
}

/// Why a text is no quantity, or none that can be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// There is no number.
    #[error("there is no number in {found}")]
    NoNumber {
        /// The text, shortened and escaped.
        found: String,
    },
    /// What follows the number is no suffix of Kubernetes.
    #[error(
        "{found} ends in no suffix of Kubernetes (n, u, m, k, M, G, T, P, E, Ki to Ei, e and a number)"
    )]
    Suffix {
        /// The text, shortened and escaped.
        found: String,
    },
    /// It has more digits, or a larger exponent, than are read.
    #[error(
        "the number has more than {DIGITS} digits or an exponent of more than {EXPONENT}: {found}"
    )]
    TooLong {
        /// The text, shortened and escaped.
        found: String,
    },
}

impl Quantity {
    /// How much it is.
    ///
    /// # Errors
    /// [`QuantityError`] if it is no quantity of Kubernetes, or longer than
    /// anybody needs.
    pub fn amount(&self) -> Result<Amount, QuantityError> {
        let text = self.as_str();
        let found = || Excerpt(text).to_string();
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let number_end = unsigned
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned
            .split_at_checked(number_end)
            .unwrap_or((unsigned, ""));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.is_empty() && fraction.is_empty() {
            return Err(QuantityError::NoNumber { found: found() });
        }
        let (tens, twos) = match suffix_powers(suffix) {
            Some(powers) => powers,
            None => match exponent(suffix) {
                Some(Some(tens)) => (tens, 0),
                Some(None) => return Err(QuantityError::TooLong { found: found() }),
                None => return Err(QuantityError::Suffix { found: found() }),
            },
        };
        // Zeros at either end say nothing.
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        if whole.len().saturating_add(fraction.len()) > DIGITS {
            return Err(QuantityError::TooLong { found: found() });
        }
        let digits = whole
            .bytes()
            .chain(fraction.bytes())
            .fold(0_u128, |sum, digit| {
                sum * 10 + u128::from(digit.wrapping_sub(b'0'))
            });
        let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        Ok(Amount {
            negative: negative && digits != 0,
            digits,
            tens: tens - places,
            twos,
        })
    }
}

impl Amount {
    /// Whether it is less than nothing.
    pub const fn is_negative(&self) -> bool {
        self.negative
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => compare(self, other),
            (true, true) => compare(other, self),
        }
    }
}

/// Compares by size: both as whole numbers, the power of ten that both have
/// taken away. The numbers are written in limbs of 32 bits, lowest first; the
/// limits keep them to some 700 bits.
fn compare(one: &Amount, other: &Amount) -> Ordering {
    if one.digits == 0 || other.digits == 0 {
        return one.digits.cmp(&other.digits);
    }
    let lowest = one.tens.min(other.tens);
    let limbs = |amount: &Amount| {
        let mut limbs: Vec<u32> = Vec::new();
        let mut rest = amount.digits;
        while rest > 0 {
            limbs.push(u32::try_from(rest & u128::from(u32::MAX)).unwrap_or(u32::MAX));
            rest >>= 32;
        }
        for _ in lowest..amount.tens {
            multiply(&mut limbs, 10);
        }
        for _ in 0..amount.twos / 10 {
            multiply(&mut limbs, 1 << 10);
        }
        limbs
    };
    let (one, other) = (limbs(one), limbs(other));
    one.len()
        .cmp(&other.len())
        .then_with(|| one.iter().rev().cmp(other.iter().rev()))
}

fn multiply(limbs: &mut Vec<u32>, factor: u32) {
    let mut carry = 0_u64;
    for limb in limbs.iter_mut() {
        let product = u64::from(*limb) * u64::from(factor) + carry;
        *limb = u32::try_from(product & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        carry = product >> 32;
    }
    if carry > 0 {
        limbs.push(u32::try_from(carry).unwrap_or(u32::MAX));
    }
}

/// The powers of ten and of two that a suffix stands for.
fn suffix_powers(suffix: &str) -> Option<(i32, u32)> {
    Some(match suffix {
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "" => (0, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        _ => return None,
    })
}

/// The number behind `e` or `E`, if it is one; nothing inside if it is too
/// large.
fn exponent(suffix: &str) -> Option<Option<i32>> {
    let number = suffix.strip_prefix(['e', 'E'])?;
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = number.parse::<i32>().ok();
    Some(exponent.filter(|exponent| exponent.unsigned_abs() <= EXPONENT))
}

/// The most digits that are read: 10^38 is less than 2^128.
const DIGITS: usize = 38;
/// The largest exponent that is read.
const EXPONENT: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount(text: &str) -> Result<Amount, QuantityError> {
        Quantity::from(text).amount()
    }

    #[test]
    fn amounts_are_equal_however_they_are_written() {
        for (one, other) in [
            ("1", "1000m"),
            ("1", "1.000"),
            ("0.1", "100m"),
            (".5", "500m"),
            ("5.", "5"),
            ("1k", "1e3"),
            ("1E", "1e18"),
            ("1Ki", "1024"),
            ("1.5Gi", "1536Mi"),
            ("1Ei", "1152921504606846976"),
            ("+2", "2"),
            ("-0", "0"),
            ("0Ei", "0n"),
            ("1E3", "1e+3"),
            ("1000e-3", "1"),
            ("007", "7"),
        ] {
            assert_eq!(amount(one).unwrap(), amount(other).unwrap(), "{one}");
        }
    }

    #[test]
    fn amounts_have_an_order() {
        let ordered = [
            "-1Ei",
            "-2",
            "-1",
            "-1n",
            "0",
            "1n",
            "1u",
            "1m",
            "0.5",
            "1",
            "1k",
            "1Ki",
            "1M",
            "1Mi",
            "1G",
            "1Gi",
            "4G",
            "4Gi",
            "1T",
            "1Ti",
            "1P",
            "1Pi",
            "1E",
            "1Ei",
            "1e30",
            "99999999999999999999999999999999999999Ei",
        ];
        for (at, one) in ordered.iter().enumerate() {
            for (other_at, other) in ordered.iter().enumerate() {
                let compared = amount(one).unwrap().cmp(&amount(other).unwrap());
                assert_eq!(compared, at.cmp(&other_at), "{one} and {other}");
            }
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "-", ".", "Gi", "1.2.3", " 1", "--1"] {
            let found = Excerpt(text).to_string();
            let error = amount(text).unwrap_err();
            assert!(
                error
                    == QuantityError::NoNumber {
                        found: found.clone()
                    }
                    || error == QuantityError::Suffix { found },
                "{text:?}: {error}"
            );
        }
        for text in ["1Zi", "1 ", "1K", "1e", "1e+", "1ee3", "0x10", "1,5", "NaN"] {
            let error = amount(text).unwrap_err();
            assert!(
                matches!(
                    error,
                    QuantityError::Suffix { .. } | QuantityError::NoNumber { .. }
                ),
                "{text:?}: {error}"
            );
        }
        for text in ["1e31", "1e-31", "1e99999999999", &"9".repeat(39)] {
            let error = amount(text).unwrap_err();
            assert!(matches!(error, QuantityError::TooLong { .. }), "{text:?}");
            assert!(error.to_string().len() < 250);
        }
        assert!(amount(&format!("{}1", "0".repeat(10_000))).is_ok());
    }

    proptest! {
        #[test]
        fn whole_numbers_compare_as_numbers(one: i64, other: i64) {
            let (left, right) = (amount(&one.to_string()).unwrap(), amount(&other.to_string()).unwrap());
            prop_assert_eq!(left.cmp(&right), one.cmp(&other));
        }

        #[test]
        fn no_text_is_too_much(text: String) {
            let _ = amount(&text);
        }
    }
}
