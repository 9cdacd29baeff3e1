//! Why a signature is refused.

use super::{Algorithm, SignatureScheme};

/// Why a signature does not verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The signature is longer than the policy allows.
    #[error("the signature has {found} bytes; at most {limit} are read")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The signature does not have the length of the key's signatures.
    #[error("the signature has {found} bytes, not {expected}")]
    Length {
        /// The length found, in bytes.
        found: usize,
        /// The length that a signature of the key has.
        expected: usize,
    },
    /// An ECDSA signature is not a DER sequence of two positive integers.
    #[error("the signature is not a DER sequence of two positive integers")]
    Encoding,
    /// The signature was not made by the key over this message.
    #[error("the signature does not fit the key and the message")]
    Mismatch,
    /// A key of this algorithm makes no signatures of this scheme.
    #[error("an {algorithm} key makes no {scheme} signatures")]
    Scheme {
        /// The key's algorithm.
        algorithm: Algorithm,
        /// The scheme asked for.
        scheme: SignatureScheme,
    },
}
