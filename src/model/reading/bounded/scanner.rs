//! The tokens of JSON, in pieces of any length.

/// What a piece of JSON is. The scanner does not know the grammar: the parser behind it
/// refuses what is not JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    OpenMap,
    OpenList,
    Close,
    Comma,
    Colon,
    /// A string with its quotes, or a part of one.
    Text {
        starts: bool,
        ends: bool,
    },
    /// A number or a literal, or a part of one.
    Plain,
    Space,
}

/// Splits JSON into tokens. A string may go on in the next bytes.
#[derive(Default)]
pub(super) struct Scanner {
    in_text: bool,
    is_escaped: bool,
}

impl Scanner {
    /// The first token of the bytes, its piece, and the rest.
    pub(super) fn next<'b>(&mut self, bytes: &'b [u8]) -> Option<(Token, &'b [u8], &'b [u8])> {
        let first = *bytes.first()?;
        if self.in_text {
            return Some(self.text(bytes, 0));
        }
        let (token, length) = match first {
            b'{' => (Token::OpenMap, 1),
            b'[' => (Token::OpenList, 1),
            b'}' | b']' => (Token::Close, 1),
            b',' => (Token::Comma, 1),
            b':' => (Token::Colon, 1),
            b'"' => {
                self.in_text = true;
                return Some(self.text(bytes, 1));
            }
            b' ' | b'\t' | b'\r' | b'\n' => (Token::Space, run(bytes, is_space)),
            _ => (Token::Plain, run(bytes, is_plain)),
        };
        let (piece, rest) = bytes.split_at_checked(length)?;
        Some((token, piece, rest))
    }

    /// The string up to its end. Its first `read` bytes are its opening quote.
    fn text<'b>(&mut self, bytes: &'b [u8], read: usize) -> (Token, &'b [u8], &'b [u8]) {
        let mut length = bytes.len();
        for (at, byte) in bytes.iter().enumerate().skip(read) {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_text = false;
                    length = at + 1;
                    break;
                }
                _ => {}
            }
        }
        let token = Token::Text {
            starts: read > 0,
            ends: !self.in_text,
        };
        let (piece, rest) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
        (token, piece, rest)
    }
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|byte| !belongs(*byte));
    end.unwrap_or(bytes.len())
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

const fn is_plain(byte: u8) -> bool {
    !matches!(byte, b'{' | b'[' | b'}' | b']' | b',' | b':' | b'"') && !is_space(byte)
}
