//! Verifies RSA and ECDSA signatures in Rust, for platforms without AWS-LC.
//!
//! There is no operation with a private key, so the time may depend on the
//! arguments: all of them are public.

mod ecdsa;
mod rsa;

#[cfg(any(not(feature = "rsa"), test))]
pub(super) use rsa::verify_rsa;

use super::{Algorithm, signature::Verifier};

/// Reads an `RSAPublicKey` in DER, or a point of a curve.
pub(super) fn parse(algorithm: Algorithm, key: &[u8]) -> Option<Box<dyn Verifier>> {
    match algorithm {
        Algorithm::Rsa { .. } => Some(Box::new(rsa::Key::parse(key)?)),
        _ => ecdsa::parse(algorithm, key),
    }
}

#[cfg(test)]
#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod tests;
