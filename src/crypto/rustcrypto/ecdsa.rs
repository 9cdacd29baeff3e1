//! ECDSA (FIPS 186-5 section 6.4.2).

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::crypto::{Algorithm, SignatureScheme, signature::ecdsa_numbers};

/// A point of a curve.
pub(in crate::crypto) enum Key {
    P256(p256::ecdsa::VerifyingKey),
    P384(p384::ecdsa::VerifyingKey),
    P521(p521::ecdsa::VerifyingKey),
}

impl Key {
    pub(super) fn parse(algorithm: Algorithm, point: &[u8]) -> Option<Self> {
        use p256::ecdsa::VerifyingKey as P256;
        use p384::ecdsa::VerifyingKey as P384;
        use p521::ecdsa::VerifyingKey as P521;

        match algorithm {
            Algorithm::EcdsaP256 => P256::from_sec1_bytes(point).ok().map(Self::P256),
            Algorithm::EcdsaP384 => P384::from_sec1_bytes(point).ok().map(Self::P384),
            Algorithm::EcdsaP521 => P521::from_sec1_bytes(point).ok().map(Self::P521),
            _ => None,
        }
    }

    pub(super) fn verifies(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let digest = match scheme {
            SignatureScheme::EcdsaSha256 => Sha256::digest(message).to_vec(),
            SignatureScheme::EcdsaSha384 => Sha384::digest(message).to_vec(),
            SignatureScheme::EcdsaSha512 => Sha512::digest(message).to_vec(),
            _ => return false,
        };
        match self {
            Self::P256(key) => numbers(signature, 32).is_some_and(|numbers| {
                p256::ecdsa::Signature::from_slice(&numbers)
                    .is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
            }),
            Self::P384(key) => numbers(signature, 48).is_some_and(|numbers| {
                p384::ecdsa::Signature::from_slice(&numbers)
                    .is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
            }),
            Self::P521(key) => numbers(signature, 66).is_some_and(|numbers| {
                p521::ecdsa::Signature::from_slice(&numbers)
                    .is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
            }),
        }
    }
}

/// The numbers r and s, each with the length of a coordinate.
fn numbers(signature: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut both = Vec::with_capacity(2 * size);
    for number in ecdsa_numbers(signature)? {
        let padding = size.checked_sub(number.len())?;
        both.extend(core::iter::repeat_n(0, padding));
        both.extend(number);
    }
    Some(both)
}
