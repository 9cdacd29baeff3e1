//! Bytes as hexadecimal digits.

use core::fmt::{self, Write as _};

/// Bytes as text: two digits a byte, in lower case.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl<'a> Hex<'a> {
    /// The first bytes, as a part of a name.
    pub(crate) fn first(bytes: &'a [u8], count: usize) -> Self {
        Self(bytes.get(..count).unwrap_or(bytes))
    }
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let halves = self.0.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        halves
            .filter_map(|half| char::from_digit(half.into(), 16))
            .try_for_each(|digit| formatter.write_char(digit))
    }
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
