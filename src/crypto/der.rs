//! The parts of DER (ITU-T X.690) that this library writes and compares.

use core::fmt;

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0c;
pub(super) const PRINTABLE_STRING: u8 = 0x13;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const CONTEXT_PRIMITIVE_0: u8 = 0x80;
pub(super) const CONTEXT_0: u8 = 0xa0;
pub(super) const CONTEXT_3: u8 = 0xa3;
/// A whole `NULL`: its tag and its length.
pub(super) const NULL: &[u8] = &[5, 0];

/// A fault of a DER encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DerError {
    /// The bytes end inside an element.
    #[error("the DER ends inside an element")]
    Truncated,
    /// Bytes follow the element.
    #[error("{count} bytes follow the end of the DER")]
    TrailingBytes {
        /// The number of bytes.
        count: usize,
    },
    /// A length is not in the shortest form, or is indefinite.
    #[error("a DER length is not in its shortest form")]
    Length,
    /// A tag is in the high-tag-number form, which no structure here uses.
    #[error("a DER tag has more than one byte")]
    Tag,
    /// An element has another tag than the expected one.
    #[error("a DER element has tag {found:#04x}, not {expected:#04x}")]
    Unexpected {
        /// The tag found.
        found: u8,
        /// The expected tag.
        expected: u8,
    },
    /// The content of an element breaks the rules of its type: a padded or
    /// negative integer, unused bits.
    #[error("the content of a DER element is not in its canonical form")]
    Content,
}

/// One element with the given tag. Its content is the concatenation of the parts.
pub(super) fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = parts.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(length + 6);
    out.push(tag);
    write_length(&mut out, length);
    for part in parts {
        out.extend_from_slice(part);
    }
    out
}

/// A `BIT STRING` of whole bytes.
pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes])
}

/// The content of the only element in `input`.
pub(super) fn single(input: &[u8], tag: u8) -> Result<&[u8], DerError> {
    let mut reader = Reader::new(input);
    let content = reader.expect(tag)?;
    reader.end()?;
    Ok(content)
}

/// The numbers in the only element in `input`, a sequence of two non-negative integers:
/// an `RSAPublicKey` (RFC 8017 appendix A.1.1) or an `ECDSA-Sig-Value` (RFC 3279 section
/// 2.2.3).
pub(super) fn two_numbers(input: &[u8]) -> Result<[&[u8]; 2], DerError> {
    let mut numbers = Reader::new(single(input, SEQUENCE)?);
    let both = [numbers.unsigned()?, numbers.unsigned()?];
    numbers.end()?;
    Ok(both)
}

/// Reads elements one after another, with lengths in their shortest form.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// One element: its tag, its content, and all of its bytes.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    pub(super) raw: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(input: &'a [u8]) -> Self {
        Self { rest: input }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn next(&mut self) -> Result<Element<'a>, DerError> {
        let start = self.rest;
        let (&tag, rest) = start.split_first().ok_or(DerError::Truncated)?;
        if tag & 0x1f == 0x1f {
            return Err(DerError::Tag);
        }
        let (length, rest) = read_length(rest)?;
        let (content, rest) = rest.split_at_checked(length).ok_or(DerError::Truncated)?;
        let (raw, _) = start
            .split_at_checked(start.len() - rest.len())
            .ok_or(DerError::Truncated)?;
        self.rest = rest;
        Ok(Element { tag, content, raw })
    }

    pub(super) fn expect(&mut self, expected: u8) -> Result<&'a [u8], DerError> {
        let element = self.next()?;
        if element.tag != expected {
            return Err(DerError::Unexpected {
                found: element.tag,
                expected,
            });
        }
        Ok(element.content)
    }

    /// The content of the next element, if that element has this tag.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, DerError> {
        match self.rest.first() {
            Some(found) if *found == tag => self.expect(tag).map(Some),
            _ => Ok(None),
        }
    }

    /// The bytes of a `BIT STRING` without unused bits.
    pub(super) fn bit_string(&mut self) -> Result<&'a [u8], DerError> {
        match self.expect(BIT_STRING)?.split_first() {
            Some((0, bytes)) => Ok(bytes),
            _ => Err(DerError::Content),
        }
    }

    /// The magnitude of a non-negative `INTEGER`, without the sign byte.
    pub(super) fn unsigned(&mut self) -> Result<&'a [u8], DerError> {
        match self.expect(INTEGER)? {
            [] | [0x80..=0xff, ..] | [0, 0..=0x7f, ..] => Err(DerError::Content),
            [0, magnitude @ ..] | magnitude => Ok(magnitude),
        }
    }

    pub(super) fn end(&self) -> Result<(), DerError> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(DerError::TrailingBytes { count }),
        }
    }
}

/// An object identifier in its dotted form, cut off after 16 arcs.
pub(super) struct DottedOid<'a>(pub(super) &'a [u8]);

impl fmt::Display for DottedOid<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arc: u64 = 0;
        let mut written = 0;
        for byte in self.0 {
            if arc > u64::MAX >> 7 {
                return formatter.write_str("…");
            }
            arc = (arc << 7) | u64::from(byte & 0x7f);
            if byte & 0x80 != 0 {
                continue;
            }
            if written == 16 {
                return formatter.write_str("…");
            }
            if written == 0 {
                // X.690, 8.19.4: the first two arcs share one number.
                let first = (arc / 40).min(2);
                write!(formatter, "{first}.{}", arc - 40 * first)?;
            } else {
                write!(formatter, ".{arc}")?;
            }
            written += 1;
            arc = 0;
        }
        Ok(())
    }
}

/// Checks that all elements in `input`, down to this depth, have lengths in their
/// shortest form.
pub(super) fn check_lengths(input: &[u8], depth: usize) -> Result<(), DerError> {
    let mut reader = Reader::new(input);
    while !reader.is_empty() {
        let element = reader.next()?;
        if element.tag & 0x20 != 0 && depth > 0 {
            check_lengths(element.content, depth - 1)?;
        }
    }
    Ok(())
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let count = u8::try_from(bytes.len() - zeros).unwrap_or(u8::MAX);
            out.push(0x80 | count);
            out.extend(bytes.iter().skip(zeros));
        }
    }
}

fn read_length(input: &[u8]) -> Result<(usize, &[u8]), DerError> {
    let (&first, rest) = input.split_first().ok_or(DerError::Truncated)?;
    if first < 0x80 {
        return Ok((usize::from(first), rest));
    }
    let count = usize::from(first & 0x7f);
    if count == 0 {
        return Err(DerError::Length);
    }
    // A longer length exceeds 4 GiB, and no input is that long.
    if count > 4 {
        return Err(DerError::Truncated);
    }
    let (bytes, rest) = rest.split_at_checked(count).ok_or(DerError::Truncated)?;
    let length = bytes
        .iter()
        .fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
    if bytes.first() == Some(&0) || length < 0x80 {
        return Err(DerError::Length);
    }
    Ok((length, rest))
}

#[cfg(test)]
mod tests;
