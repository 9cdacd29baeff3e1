//! Why a text is no value, and hexadecimal digits.

use core::fmt;

/// Why a text or a number is no value of its type. The error says what form the
/// value has, and shows nothing of what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(pub(crate) &'static str);

/// Writes hexadecimal digits, in lower case.
pub(crate) fn write_hex(bytes: &[u8], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes
        .iter()
        .try_for_each(|byte| write!(formatter, "{byte:02x}"))
}

/// Reads 64 hexadecimal digits, in either case.
pub(crate) fn read_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        for digit in pair {
            let value = char::from(*digit).to_digit(16)?;
            *byte = (*byte << 4) | u8::try_from(value).ok()?;
        }
    }
    Some(bytes)
}
