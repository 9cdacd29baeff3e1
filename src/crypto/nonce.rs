//! The nonce: the text that a consumer signs.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use sha2::{Digest, Sha256};

use super::{Entropy, StructuredNonce};
use crate::{
    model::Timestamp,
    policy::{Forms, Policy},
};

/// The text of a nonce, in a form that may be signed. The text is stored exactly as
/// received, since the consumer signs the text, not the decoded bytes.
///
/// The strict policy accepts 88 characters, the padded base64 (RFC 4648 section 4)
/// of 64 bytes. The bytes have at least 16 different values, so that a constant or
/// a padded counter is not accepted as a nonce. The compatible policy accepts the
/// padded base64 of 16 to 96 bytes in either alphabet, with at most one final
/// newline. Source: Liqo `authentication.GenerateNonce`.
///
/// # Examples
/// ```
/// use liqo_auth::{crypto::{Entropy, Nonce, NonceError}, policy::Policy};
///
/// let nonce = Nonce::random(&Entropy::from_bytes([7; 32]));
/// assert_eq!(Nonce::parse(nonce.as_str().as_bytes(), &Policy::strict())?, nonce);
/// assert_eq!(Nonce::parse(b"", &Policy::strict()), Err(NonceError::Empty));
/// # Ok::<(), NonceError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, derive_more::Debug, derive_more::Display)]
#[display("{text}")]
#[debug("Nonce({text:?})")]
pub struct Nonce {
    text: Box<str>,
    structured: Option<StructuredNonce>,
}

/// Why bytes are not a [`Nonce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NonceError {
    /// The nonce is empty.
    #[error("the nonce is empty")]
    Empty,
    /// The nonce is longer than the policy allows.
    #[error("the nonce has {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The nonce has too few base64 digits.
    #[error("the nonce has {found} base64 digits, expected at least {shortest}")]
    TooShort {
        /// The number of digits.
        found: usize,
        /// The fewest allowed.
        shortest: usize,
    },
    /// The nonce ends in a newline, which the strict policy refuses.
    #[error("the nonce ends in a newline")]
    FinalNewline,
    /// The nonce is in the URL-safe alphabet, which the strict policy refuses.
    #[error("the nonce is in the URL-safe alphabet of base64, not in the standard one")]
    UrlSafe,
    /// A byte is in no alphabet of base64. The text may be a message of another
    /// protocol.
    #[error("the nonce is not base64: byte {at} is in no base64 alphabet")]
    Alphabet {
        /// The position of the byte, counted from 0.
        at: usize,
    },
    /// The digits are not canonical padded base64.
    #[error("the nonce is not canonical padded base64")]
    Encoding,
    /// The nonce decodes to too few or too many bytes.
    #[error("the nonce decodes to {found} bytes, expected {shortest} to {longest}")]
    Length {
        /// The number of decoded bytes.
        found: usize,
        /// The fewest allowed.
        shortest: usize,
        /// The most allowed.
        longest: usize,
    },
    /// The bytes repeat too often to be random.
    #[error(
        "the nonce has only {found} different byte values, expected at least {expected} of a random nonce"
    )]
    NotRandom {
        /// The number of different byte values.
        found: usize,
        /// The fewest allowed.
        expected: usize,
    },
}

impl Nonce {
    /// Reads a nonce.
    ///
    /// # Errors
    /// [`NonceError`] names the broken rule.
    pub fn parse(text: &[u8], policy: &Policy) -> Result<Self, NonceError> {
        let (found, limit) = (text.len(), policy.limits.nonce);
        if text.is_empty() {
            return Err(NonceError::Empty);
        }
        if found > limit {
            return Err(NonceError::TooLong { found, limit });
        }
        let bytes = decode(text, policy.forms)?;
        let (shortest, longest) = match policy.forms {
            Forms::Canonical => (LENGTH, LENGTH),
            Forms::Compatible => (16, 96),
        };
        if !(shortest..=longest).contains(&bytes.len()) {
            return Err(NonceError::Length {
                found: bytes.len(),
                shortest,
                longest,
            });
        }
        if policy.forms == Forms::Canonical {
            let (found, expected) = (distinct(&bytes), DISTINCT);
            if found < expected {
                return Err(NonceError::NotRandom { found, expected });
            }
        }
        let text = core::str::from_utf8(text).map_err(|_| NonceError::Encoding)?;
        Ok(Self {
            text: text.into(),
            structured: StructuredNonce::read(&bytes),
        })
    }

    /// A nonce as Liqo makes it: 64 random bytes.
    pub fn random(entropy: &Entropy) -> Self {
        Self::build(|counter| entropy.derive("random nonce", &[&counter.to_be_bytes()]))
    }

    /// Whether both nonces commit their provider to the same key. `false` if a
    /// nonce has no commitment.
    pub(crate) fn commits_as(&self, other: &Self) -> bool {
        let (one, other) = (self.structured(), other.structured());
        one.zip(other)
            .is_some_and(|(one, other)| one.commits_as(other))
    }

    /// The bytes of the text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The text. The consumer signs exactly this.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The content of the nonce, if this library made it.
    ///
    /// By chance, one in 2^32 nonces of unmodified Liqo begins with the same four
    /// bytes. Such a nonce does not name the two clusters.
    pub const fn structured(&self) -> Option<&StructuredNonce> {
        self.structured.as_ref()
    }

    /// When the nonce expires. `None` if it does not name its end.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.structured().map(StructuredNonce::expires)
    }

    /// The SHA-256 of the text.
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.as_bytes()).into()
    }

    /// The SHA-256 of the decoded bytes, the same for all encodings of them.
    pub(crate) fn bytes_digest(&self) -> [u8; 32] {
        let bytes = decode(self.as_bytes(), Forms::Compatible);
        Sha256::digest(bytes.unwrap_or_default()).into()
    }

    /// The first of 257 candidates with enough different bytes, or the last of them. In
    /// practice, this is always the first candidate.
    pub(super) fn build(candidate: impl Fn(u32) -> [u8; LENGTH]) -> Self {
        let bytes = (0..256_u32)
            .map(&candidate)
            .find(|bytes| distinct(bytes) >= DISTINCT)
            .unwrap_or_else(|| candidate(256));
        Self {
            text: STANDARD.encode(bytes).into(),
            structured: StructuredNonce::read(&bytes),
        }
    }
}

/// The length of a nonce of Liqo, in bytes.
pub(super) const LENGTH: usize = 64;
/// The fewest different values that the bytes must have. 64 random bytes have fewer
/// with a probability of about 10^-50.
const DISTINCT: usize = 16;

fn decode(text: &[u8], forms: Forms) -> Result<Vec<u8>, NonceError> {
    let digits = text.strip_suffix(b"\n").unwrap_or(text);
    let standard = STANDARD.decode(digits);
    let url_safe = standard.is_err() && is_url_safe(digits)?;
    if forms == Forms::Canonical {
        if digits.len() != text.len() {
            return Err(NonceError::FinalNewline);
        }
        if url_safe {
            return Err(NonceError::UrlSafe);
        }
    }
    let shortest = match forms {
        Forms::Canonical => 88,
        Forms::Compatible => 24,
    };
    let found = digits.len();
    if found < shortest {
        return Err(NonceError::TooShort { found, shortest });
    }
    let decoded = match url_safe {
        true => URL_SAFE.decode(digits),
        false => standard,
    };
    decoded.map_err(|_| NonceError::Encoding)
}

/// Whether a digit is of the URL-safe alphabet alone.
fn is_url_safe(digits: &[u8]) -> Result<bool, NonceError> {
    let ours = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
    };
    match digits.iter().position(|byte| !ours(byte)) {
        Some(at) => Err(NonceError::Alphabet { at }),
        None => Ok(digits.iter().any(|byte| matches!(byte, b'-' | b'_'))),
    }
}

/// How many different values the bytes have.
fn distinct(bytes: &[u8]) -> usize {
    let mut seen = [false; 256];
    let is_new = |byte: &&u8| {
        let seen = seen.get_mut(usize::from(**byte));
        seen.is_some_and(|seen| !core::mem::replace(seen, true))
    };
    bytes.iter().filter(is_new).count()
}

#[cfg(test)]
mod tests;
