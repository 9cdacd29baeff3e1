//! Textual encoding (RFC 7468): blocks between BEGIN and END lines.

use core::iter;

use base64::{Engine, engine::general_purpose::STANDARD};
use memchr::{memchr, memchr_iter};
use zeroize::Zeroizing;

use super::name::escape_bounded;
use crate::{model::SecretText, policy::Forms};

/// A fault of a PEM text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PemError {
    /// No line begins a block.
    #[error("there is no PEM block")]
    NoBlock,
    /// A block does not end, or a BEGIN line is malformed.
    #[error("a PEM block has no END line that fits its BEGIN line")]
    Framing,
    /// A block has another label than the expected one.
    #[error("a PEM block is labelled \"{found}\", not \"{expected}\"")]
    Label {
        /// The label found, escaped and shortened.
        found: String,
        /// The expected label.
        expected: &'static str,
    },
    /// The text has more than one block.
    #[error("a second PEM block follows the first")]
    SecondBlock,
    /// Text precedes the block.
    #[error("text precedes the PEM block")]
    TextBefore,
    /// Text follows the block.
    #[error("text follows the PEM block")]
    TextAfter,
    /// The content is not canonical base64.
    #[error("the content of a PEM block is not base64")]
    Base64,
    /// Lines end in CR LF.
    #[error("the lines of a PEM block end in CR LF, not in LF")]
    CarriageReturn,
    /// The last line has no newline.
    #[error("the last line of a PEM block has no newline")]
    NoFinalNewline,
    /// White space follows the last line.
    #[error("white space follows the PEM block's last line")]
    TrailingSpace,
    /// The lines are not of 64 characters.
    #[error("the lines of a PEM block are not of 64 characters")]
    LineLength,
}

/// The content of the only block of a text.
///
/// In the canonical form the text is the block as Go's `pem.EncodeToMemory` writes
/// it. The compatible form allows text before the block, any line length, CR LF,
/// and any white space after the block. A second block or another label is never
/// allowed.
pub(super) fn read_one(
    text: &[u8],
    label: &'static str,
    forms: Forms,
) -> Result<Vec<u8>, PemError> {
    let block = Block::find(text, label)?;
    let der = block.decode()?;
    block.check_only(forms)?;
    Ok(der)
}

/// As [`read_one`], for a private key: the content is decoded in constant time, and
/// is wiped on drop.
pub(super) fn read_secret(
    text: &[u8],
    label: &'static str,
    forms: Forms,
) -> Result<Zeroizing<Vec<u8>>, PemError> {
    let block = Block::find(text, label)?;
    // The decoder refuses header lines (RFC 1421) and blanks.
    let (_, der) = pem_rfc7468::decode_vec(block.raw).map_err(|_| PemError::Base64)?;
    let der = Zeroizing::new(der);
    block.check_only(forms)?;
    Ok(der)
}

/// The contents of the blocks of a text, at least one. If the text has more than
/// `limit` blocks, `limit + 1` blocks are read.
pub(super) fn read_many(
    text: &[u8],
    label: &'static str,
    forms: Forms,
    limit: usize,
) -> Result<Vec<Vec<u8>>, PemError> {
    let mut blocks = Vec::new();
    let mut rest = text;
    loop {
        let block = Block::find(rest, label)?;
        blocks.push(block.decode()?);
        if blocks.len() > limit {
            return Ok(blocks);
        }
        if forms == Forms::Canonical {
            block.check_canonical()?;
        }
        rest = block.after;
        if rest.is_empty() {
            return Ok(blocks);
        }
        match block.check_alone() {
            Err(PemError::SecondBlock) => {}
            Err(error) => return Err(error),
            Ok(()) if forms == Forms::Canonical => return Err(PemError::TrailingSpace),
            Ok(()) => return Ok(blocks),
        }
    }
}

/// One block with lines of 64 characters, LF, and one final newline.
pub(super) fn write(label: &str, der: &[u8]) -> String {
    let digits = STANDARD.encode(der);
    let mut text = String::with_capacity(digits.len() + digits.len() / LINE + 2 * label.len() + 40);
    let mut rest = digits.as_str();
    text.extend(["-----BEGIN ", label, "-----\n"]);
    while !rest.is_empty() {
        // All digits are ASCII.
        let (line, after) = rest.split_at_checked(LINE).unwrap_or((rest, ""));
        text.extend([line, "\n"]);
        rest = after;
    }
    text.extend(["-----END ", label, "-----\n"]);
    text
}

/// As [`write`], for a private key: no copy of it stays in memory.
pub(super) fn write_secret(label: &'static str, der: &[u8]) -> Result<SecretText, PemError> {
    pem_rfc7468::encode_string(label, pem_rfc7468::LineEnding::LF, der)
        .map(SecretText::from)
        .map_err(|_| PemError::Base64)
}

/// One block, and the text before and after it. The BEGIN and the END of a block
/// have to be whole lines with the right label.
struct Block<'a> {
    before: &'a [u8],
    /// The text from the BEGIN line to the newline of the END line.
    raw: &'a [u8],
    /// The lines between the BEGIN and the END line.
    base64: &'a [u8],
    after: &'a [u8],
}

impl<'a> Block<'a> {
    fn find(text: &'a [u8], label: &'static str) -> Result<Self, PemError> {
        let (before, framed) = split_at_line(text, b"-----BEGIN ").ok_or(PemError::NoBlock)?;
        let (first, body) = split_line(framed);
        let found = boundary(first, b"-----BEGIN ").ok_or(PemError::Framing)?;
        if found != label.as_bytes() {
            return Err(PemError::Label {
                found: escape_bounded(found),
                expected: label,
            });
        }
        let (base64, footer) = split_at_line(body, b"-----").ok_or(PemError::Framing)?;
        let (last, after) = split_line(footer);
        if boundary(last, b"-----END ") != Some(label.as_bytes()) {
            return Err(PemError::Framing);
        }
        let raw = framed
            .get(..framed.len() - after.len())
            .ok_or(PemError::Framing)?;
        Ok(Self {
            before,
            raw,
            base64,
            after,
        })
    }

    /// Checks that only white space follows the block.
    fn check_alone(&self) -> Result<(), PemError> {
        if self.after.windows(BEGIN.len()).any(|part| part == BEGIN) {
            Err(PemError::SecondBlock)
        } else if !self.after.iter().all(u8::is_ascii_whitespace) {
            Err(PemError::TextAfter)
        } else {
            Ok(())
        }
    }

    /// Checks that the forms allow this block as the only one of a text.
    fn check_only(&self, forms: Forms) -> Result<(), PemError> {
        self.check_alone()?;
        if forms == Forms::Canonical {
            self.check_canonical()?;
            if !self.after.is_empty() {
                return Err(PemError::TrailingSpace);
            }
        }
        Ok(())
    }

    /// Checks that the block has the form that [`write`] writes.
    fn check_canonical(&self) -> Result<(), PemError> {
        if !self.before.is_empty() {
            Err(PemError::TextBefore)
        } else if self.raw.contains(&b'\r') {
            Err(PemError::CarriageReturn)
        } else if !self.raw.ends_with(b"\n") {
            Err(PemError::NoFinalNewline)
        } else if !has_full_lines(self.base64) {
            Err(PemError::LineLength)
        } else {
            Ok(())
        }
    }

    /// The content: canonical base64 in lines that end in LF or CR LF.
    fn decode(&self) -> Result<Vec<u8>, PemError> {
        let mut digits = Vec::with_capacity(self.base64.len());
        // The decoder refuses header lines (RFC 1421) and blanks.
        let mut lines = self.base64;
        while let [b'\r' | b'\n', rest @ ..] = lines {
            lines = rest;
        }
        while !lines.is_empty() {
            let (line, rest) = split_line(lines);
            // A blank line would end headers (RFC 1421), which are not allowed.
            if line.is_empty() {
                return Err(PemError::Base64);
            }
            digits.extend_from_slice(line);
            lines = rest;
        }
        STANDARD.decode(digits).map_err(|_| PemError::Base64)
    }
}

/// Whether all lines but the last one have 64 characters.
fn has_full_lines(base64: &[u8]) -> bool {
    let Some(lines) = base64.strip_suffix(b"\n") else {
        return base64.is_empty();
    };
    let (lines, last) = lines.as_chunks::<{ LINE + 1 }>();
    let are_full = lines.iter().all(|line| memchr(b'\n', line) == Some(LINE));
    are_full && !last.is_empty() && memchr(b'\n', last).is_none()
}

const LINE: usize = 64;
const BEGIN: &[u8] = b"-----BEGIN";

/// The label in a BEGIN or END line.
fn boundary<'a>(line: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    line.strip_prefix(start)?.strip_suffix(b"-----")
}

/// The text before the first line that begins with `start`, and the rest.
fn split_at_line<'a>(text: &'a [u8], start: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    iter::once(0)
        .chain(memchr_iter(b'\n', text).map(|at| at + 1))
        .filter_map(|at| text.split_at_checked(at))
        .find(|(_, rest)| rest.starts_with(start))
}

/// The first line without its end, and the rest of the text.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let length = memchr(b'\n', text).map_or(text.len(), |at| at + 1);
    let (line, rest) = text.split_at_checked(length).unwrap_or((text, &[]));
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

#[cfg(test)]
mod tests;
