//! Textual encoding (RFC 7468): blocks between BEGIN and END lines.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::name::escape_bounded;
use crate::policy::Forms;

/// What is wrong with a text in PEM.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PemError {
    /// There is no line that begins a block.
    #[error("there is no PEM block")]
    NoBlock,
    /// A block does not end, or a BEGIN line is malformed.
    #[error("a PEM block has no END line that fits its BEGIN line")]
    Framing,
    /// A block has another label than the one that belongs here.
    #[error("a PEM block is labelled \"{found}\", not \"{expected}\"")]
    Label {
        /// The label found, escaped and cut to a readable length.
        found: String,
        /// The label that has to be there.
        expected: &'static str,
    },
    /// More than one block where one belongs.
    #[error("a second PEM block follows the first")]
    SecondBlock,
    /// Text before the block.
    #[error("text stands before the PEM block")]
    TextBefore,
    /// Text after the block.
    #[error("text follows the PEM block")]
    TextAfter,
    /// The content is not base64 in its only form.
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

/// The content of the one block that `text` is.
///
/// In the canonical form there is nothing but the block as Go's
/// `pem.EncodeToMemory` writes it. In the compatible form there may be text
/// before it, blank lines, any line length, CR LF, and any number of final
/// newlines; never a second block and never another label.
pub(super) fn read_one(
    text: &[u8],
    label: &'static str,
    forms: Forms,
) -> Result<Vec<u8>, PemError> {
    let block = Block::read(text, label)?;
    if contains(block.after, BEGIN) {
        return Err(PemError::SecondBlock);
    }
    if !block.after.iter().all(u8::is_ascii_whitespace) {
        return Err(PemError::TextAfter);
    }
    if forms == Forms::Canonical && write(label, &block.der).as_bytes() != text {
        return Err(block.why_not_canonical());
    }
    Ok(block.der)
}

/// The contents of the blocks that `text` is: at least one of them, and at
/// most `limit`.
pub(super) fn read_many(
    text: &[u8],
    label: &'static str,
    forms: Forms,
    limit: usize,
) -> Result<Vec<Vec<u8>>, ManyError> {
    let mut blocks = Vec::new();
    let mut rest = text;
    loop {
        let block = Block::read(rest, label)?;
        if blocks.len() == limit {
            return Err(ManyError::TooMany);
        }
        let canonical_end = rest.len() - block.after.len();
        if forms == Forms::Canonical
            && rest.get(..canonical_end) != Some(write(label, &block.der).as_bytes())
        {
            return Err(block.why_not_canonical().into());
        }
        let after = block.after;
        blocks.push(block.der);
        if after.is_empty() {
            return Ok(blocks);
        }
        if !contains(after, BEGIN) {
            if !after.iter().all(u8::is_ascii_whitespace) {
                return Err(PemError::TextAfter.into());
            }
            if forms == Forms::Canonical {
                return Err(PemError::TrailingSpace.into());
            }
            return Ok(blocks);
        }
        rest = after;
    }
}

/// Why many blocks could not be read.
pub(super) enum ManyError {
    Pem(PemError),
    TooMany,
}

/// One block with lines of 64 characters, LF, and one final newline.
pub(super) fn write(label: &str, der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let mut out = String::with_capacity(base64.len() + base64.len() / 64 + 2 * label.len() + 34);
    out.push_str("-----BEGIN ");
    out.push_str(label);
    out.push_str("-----\n");
    let mut rest = base64.as_str();
    while let Some((line, tail)) = rest.split_at_checked(64) {
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    if !rest.is_empty() {
        out.push_str(rest);
        out.push('\n');
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}

const BEGIN: &[u8] = b"-----BEGIN";

struct Block<'a> {
    before: &'a [u8],
    /// All from the BEGIN line to the newline of the END line.
    raw: &'a [u8],
    after: &'a [u8],
    der: Vec<u8>,
}

impl<'a> Block<'a> {
    fn read(text: &'a [u8], label: &'static str) -> Result<Self, PemError> {
        let start = find_line(text, b"-----BEGIN ").ok_or(PemError::NoBlock)?;
        let (before, framed) = text.split_at_checked(start).ok_or(PemError::NoBlock)?;
        let header = framed
            .strip_prefix(b"-----BEGIN ")
            .ok_or(PemError::NoBlock)?;
        let (line, body) = split_line(header);
        let found = line.strip_suffix(b"-----").ok_or(PemError::Framing)?;
        if found != label.as_bytes() {
            return Err(PemError::Label {
                found: escape_bounded(found),
                expected: label,
            });
        }
        let end = find_line(body, b"-----").ok_or(PemError::Framing)?;
        let (base64, footer) = body.split_at_checked(end).ok_or(PemError::Framing)?;
        let (line, after) = split_line(footer);
        let closing = line
            .strip_prefix(b"-----END ")
            .and_then(|line| line.strip_suffix(b"-----"))
            .ok_or(PemError::Framing)?;
        if closing != label.as_bytes() {
            return Err(PemError::Framing);
        }
        let raw = framed
            .get(..framed.len() - after.len())
            .ok_or(PemError::Framing)?;
        Ok(Self {
            before,
            raw,
            after,
            der: decode(base64)?,
        })
    }

    fn why_not_canonical(&self) -> PemError {
        if !self.before.is_empty() {
            PemError::TextBefore
        } else if self.raw.contains(&b'\r') {
            PemError::CarriageReturn
        } else if !self.raw.ends_with(b"\n") {
            PemError::NoFinalNewline
        } else if !self.after.is_empty() {
            PemError::TrailingSpace
        } else {
            PemError::LineLength
        }
    }
}

impl From<PemError> for ManyError {
    fn from(error: PemError) -> Self {
        Self::Pem(error)
    }
}

fn decode(base64: &[u8]) -> Result<Vec<u8>, PemError> {
    let mut digits = Vec::with_capacity(base64.len());
    for line in base64.split(|byte| *byte == b'\n') {
        digits.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
    }
    let der = STANDARD.decode(&digits).map_err(|_| PemError::Base64);
    // The text may be that of a private key.
    zeroize::Zeroize::zeroize(&mut digits);
    der
}

/// Where a line begins with `start`.
fn find_line(text: &[u8], start: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(start) {
            return Some(at);
        }
        at += rest.iter().position(|byte| *byte == b'\n')? + 1;
    }
}

/// The first line without its end, and what follows it.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match text.iter().position(|byte| *byte == b'\n') {
        Some(at) => match text.split_at_checked(at + 1) {
            Some((line, rest)) => (line.strip_suffix(b"\n").unwrap_or(line), rest),
            None => (text, &[][..]),
        },
        None => (text, &[][..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: &str = "PUBLIC KEY";

    fn read(text: &str, forms: Forms) -> Result<Vec<u8>, PemError> {
        read_one(text.as_bytes(), LABEL, forms)
    }

    #[test]
    fn the_canonical_form_is_read_back() {
        for length in [0, 1, 47, 48, 49, 96, 500] {
            let der = vec![9; length];
            let text = write(LABEL, &der);
            assert_eq!(read(&text, Forms::Canonical), Ok(der.clone()));
            assert_eq!(read(&text, Forms::Compatible), Ok(der));
        }
    }

    #[test]
    fn other_framing_is_compatible_only() {
        use PemError::*;
        let der = vec![9; 100];
        let text = write(LABEL, &der);
        for (text, error) in [
            (format!("Public key:\n{text}"), TextBefore),
            (format!("\n{text}"), TextBefore),
            (text.replace('\n', "\r\n"), CarriageReturn),
            (text.trim_end().to_owned(), NoFinalNewline),
            (format!("{text}\n"), TrailingSpace),
            (text.replacen("CQk", "CQ\nk", 1), LineLength),
        ] {
            assert_eq!(read(&text, Forms::Canonical), Err(error), "{text}");
            assert_eq!(read(&text, Forms::Compatible), Ok(der.clone()), "{text}");
        }
    }

    #[test]
    fn what_is_not_one_block_is_refused_in_every_form() {
        use PemError::*;
        let text = write(LABEL, &[9; 100]);
        let other = write("CERTIFICATE", &[9; 100]);
        let label = || Label {
            found: "CERTIFICATE".to_owned(),
            expected: LABEL,
        };
        for (text, error) in [
            (String::new(), NoBlock),
            ("\u{1}\u{2}".to_owned(), NoBlock),
            (format!("{text}{text}"), SecondBlock),
            (format!("{text}{other}"), SecondBlock),
            (format!("{text}-----BEGIN"), SecondBlock),
            (other.clone(), label()),
            (format!("{other}{text}"), label()),
            (format!("{text}and more"), TextAfter),
            (text.replace("-----END PUBLIC", "-----END PRIVATE"), Framing),
            (text.replace("-----END", "----END"), Framing),
            (text.replace("KEY-----\nCQ", "KEY----\nCQ"), Framing),
            (text.replacen("CQk", "C k", 1), Base64),
            (text.replacen("CQk", "Proc-Type: 4\n\nCQk", 1), Base64),
            (text.replace("==", "="), Base64),
        ] {
            for forms in [Forms::Canonical, Forms::Compatible] {
                assert_eq!(read(&text, forms), Err(error.clone()), "{text}");
            }
        }
    }
}
