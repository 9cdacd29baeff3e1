//! Verifies RSA and ECDSA signatures in Rust, for platforms without AWS-LC.
//!
//! There is no operation with a private key, so the time may depend on the
//! arguments: all of them are public.

mod ecdsa;
mod rsa;

#[cfg(any(not(feature = "rsa"), test))]
pub(super) use rsa::verify_rsa;

use super::{Algorithm, SignatureScheme, signature::RsaHash};

/// An `RSAPublicKey`, or a point of a curve.
pub(super) enum VerificationKey {
    Rsa(rsa::Key),
    Ecdsa(ecdsa::Key),
}

impl VerificationKey {
    pub(super) fn parse(algorithm: Algorithm, key: &[u8]) -> Option<Self> {
        match algorithm {
            Algorithm::Ed25519 => None,
            Algorithm::Rsa { .. } => rsa::Key::parse(key).map(Self::Rsa),
            _ => ecdsa::Key::parse(algorithm, key).map(Self::Ecdsa),
        }
    }

    pub(super) fn verifies(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        match self {
            Self::Rsa(key) => key.verifies(RsaHash::Sha256, message, signature),
            Self::Ecdsa(key) => key.verifies(scheme, message, signature),
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod tests;
