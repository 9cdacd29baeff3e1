//! ECDSA (FIPS 186-5 section 6.4.2).

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::crypto::{Algorithm, SignatureScheme, der::two_numbers, signature::Verifier};

/// Reads a point of a curve.
pub(super) fn parse(algorithm: Algorithm, point: &[u8]) -> Option<Box<dyn Verifier>> {
    use p256::ecdsa::VerifyingKey as P256;
    use p384::ecdsa::VerifyingKey as P384;
    use p521::ecdsa::VerifyingKey as P521;

    Some(match algorithm {
        Algorithm::EcdsaP256 => Box::new(P256::from_sec1_bytes(point).ok()?),
        Algorithm::EcdsaP384 => Box::new(P384::from_sec1_bytes(point).ok()?),
        Algorithm::EcdsaP521 => Box::new(P521::from_sec1_bytes(point).ok()?),
        _ => return None,
    })
}

macro_rules! verifiers {
    ($($curve:ident: $size:literal),*) => {$(
        impl Verifier for $curve::ecdsa::VerifyingKey {
            fn verifies(&self, scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
                let Some(digest) = digest(scheme, message) else { return false };
                let numbers = numbers(signature, $size).unwrap_or_default();
                $curve::ecdsa::Signature::from_slice(&numbers)
                    .is_ok_and(|signature| self.verify_prehash(&digest, &signature).is_ok())
            }
        }
    )*};
}

// The curves, and the length of a coordinate.
verifiers! { p256: 32, p384: 48, p521: 66 }

fn digest(scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
    Some(match scheme {
        SignatureScheme::EcdsaSha256 => Sha256::digest(message).to_vec(),
        SignatureScheme::EcdsaSha384 => Sha384::digest(message).to_vec(),
        SignatureScheme::EcdsaSha512 => Sha512::digest(message).to_vec(),
        _ => return None,
    })
}

/// The numbers r and s, each with the length of a coordinate.
fn numbers(signature: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut both = Vec::with_capacity(2 * size);
    for number in two_numbers(signature).ok()? {
        let padding = size.checked_sub(number.len())?;
        both.extend(core::iter::repeat_n(0, padding));
        both.extend(number);
    }
    Some(both)
}
