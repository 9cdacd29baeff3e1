//! The shared token of the protocol of Liqo 0.2 to 0.10.

use core::fmt::Write;

use hmac::Mac;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Entropy, keyed};
use crate::{
    model::Hex,
    policy::{Forms, Policy},
};

/// A token that a home cluster shows to a foreign cluster: 64 random bytes as 128
/// lower-case hexadecimal digits. The compatible policy accepts any visible ASCII
/// text of up to 512 bytes, since administrators set tokens by hand.
///
/// The token is wiped on drop, and `Debug` does not show it. Source: Liqo
/// `auth.GenerateToken`.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{AuthToken, Entropy, TokenError},
///     policy::Policy,
/// };
///
/// let token = AuthToken::make(&Entropy::from_bytes([7; 32]));
/// assert_eq!(token.expose().len(), 128);
/// assert!(token.matches(token.expose().as_bytes()));
/// assert!(!token.matches(b""));
/// assert_eq!(format!("{token:?}"), "AuthToken(…)");
/// assert_eq!(AuthToken::parse(b"", &Policy::compatible()), Err(TokenError::Empty));
/// # Ok::<(), TokenError>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop, derive_more::Debug)]
#[debug("AuthToken(…)")]
pub struct AuthToken(String);

/// Why bytes are not an [`AuthToken`]. The error shows none of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is empty. An empty token would admit everyone.
    #[error("the token is empty")]
    Empty,
    /// The token has too many bytes.
    #[error("the token has {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The token does not have the length of Liqo's tokens.
    #[error("the token has {found} characters, expected {expected}")]
    Length {
        /// The length found.
        found: usize,
        /// The length of a token.
        expected: usize,
    },
    /// The token has a byte that is not allowed.
    #[error("byte {at} of the token is not allowed in a token")]
    Character {
        /// The position of the byte, counted from 0.
        at: usize,
    },
}

impl AuthToken {
    /// Makes a token.
    pub fn make(entropy: &Entropy) -> Self {
        Self::derive(entropy, "own")
    }

    /// Reads a token.
    ///
    /// # Errors
    /// [`TokenError`] says what is wrong.
    pub fn parse(bytes: &[u8], policy: &Policy) -> Result<Self, TokenError> {
        let found = bytes.len();
        if found == 0 {
            return Err(TokenError::Empty);
        }
        if found > LONGEST {
            let limit = LONGEST;
            return Err(TokenError::TooLong { found, limit });
        }
        let is_allowed = match policy.forms {
            Forms::Canonical if found != LENGTH => {
                let expected = LENGTH;
                return Err(TokenError::Length { found, expected });
            }
            Forms::Canonical => |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Forms::Compatible => u8::is_ascii_graphic,
        };
        if let Some(at) = bytes.iter().position(|byte| !is_allowed(byte)) {
            return Err(TokenError::Character { at });
        }
        // All bytes are ASCII.
        Ok(Self(bytes.iter().copied().map(char::from).collect()))
    }

    /// Whether these bytes are the token. The time of the comparison reveals nothing
    /// about the token.
    pub fn matches(&self, given: &[u8]) -> bool {
        tag(given)
            .verify_slice(&tag(self.0.as_bytes()).finalize().into_bytes())
            .is_ok()
    }

    /// The secret text.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn derive(entropy: &Entropy, context: &str) -> Self {
        let mut bytes: [u8; LENGTH / 2] = entropy.derive("auth token", &[context.as_bytes()]);
        // The capacity suffices: a growing buffer would leave copies in memory.
        let mut text = String::with_capacity(LENGTH);
        // Writing to a String cannot fail.
        let _ = write!(text, "{}", Hex(&bytes));
        bytes.zeroize();
        Self(text)
    }
}

impl PartialEq for AuthToken {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other.0.as_bytes())
    }
}

impl Eq for AuthToken {}

const LENGTH: usize = 128;
const LONGEST: usize = 512;

/// The MAC of a token. Tokens are compared by their MACs, so that the time reveals
/// neither content nor length. The MAC key does not have to be secret.
fn tag(token: &[u8]) -> hmac::Hmac<sha2::Sha256> {
    let mut mac = keyed(b"liqo-auth token comparison key 1");
    mac.update(token);
    mac
}

#[cfg(test)]
mod tests;
