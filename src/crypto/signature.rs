//! The forms of signatures, and why a signature is refused.

use super::{Algorithm, SignatureScheme, der::two_numbers};

/// Why a signature does not verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The signature is longer than the policy allows.
    #[error("the signature has {found} bytes, expected at most {limit}")]
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
    /// A key of this algorithm does not make signatures of this scheme.
    #[error("an {algorithm} key cannot make {scheme} signatures")]
    Scheme {
        /// The key's algorithm.
        algorithm: Algorithm,
        /// The scheme asked for.
        scheme: SignatureScheme,
    },
}

/// An RSA or ECDSA key, in the form of the library that verifies with it.
pub(super) trait Verifier: Send + Sync {
    fn verifies(&self, scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool;
}

/// The hash of an RSA signature in a certificate (RFC 4055 section 5).
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RsaHash {
    Sha256,
    Sha384,
    Sha512,
}

/// Checks the form of a signature, so that the error distinguishes a malformed
/// signature from a wrong one.
pub(super) fn check_form(algorithm: Algorithm, signature: &[u8]) -> Result<(), SignatureError> {
    let Algorithm::Rsa { bits } = algorithm else {
        two_numbers(signature).map_err(|_| SignatureError::Encoding)?;
        return Ok(());
    };
    let expected = usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX);
    match signature.len() {
        found if found == expected => Ok(()),
        found => Err(SignatureError::Length { found, expected }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::der::{INTEGER, SEQUENCE, element};

    #[test]
    fn an_rsa_signature_is_as_long_as_the_modulus() {
        for (bits, expected) in [(2048, 256), (2049, 257), (4096, 512)] {
            let check = |found: usize| check_form(Algorithm::Rsa { bits }, &vec![0; found]);
            assert_eq!(check(expected), Ok(()));
            for found in [0, expected - 1, expected + 1] {
                let error = SignatureError::Length { found, expected };
                assert_eq!(check(found), Err(error));
            }
        }
    }

    #[test]
    fn an_ecdsa_signature_is_two_numbers_and_nothing_else() {
        let number = element(INTEGER, &[&[7]]);
        let of = |numbers: usize, behind: &[u8]| {
            let numbers = vec![&number[..]; numbers];
            [&element(SEQUENCE, &numbers), behind].concat()
        };
        assert_eq!(check_form(Algorithm::EcdsaP256, &of(2, &[])), Ok(()));
        for signature in [of(1, &[]), of(3, &[]), of(2, &[0]), Vec::new()] {
            assert_eq!(
                check_form(Algorithm::EcdsaP256, &signature),
                Err(SignatureError::Encoding)
            );
        }
    }
}
