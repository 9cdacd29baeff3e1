//! RSA and ECDSA keys that verify signatures: by AWS-LC if the feature of the
//! algorithm is on, and in Rust otherwise (feature `rustcrypto`).

#[cfg(any(feature = "rsa", feature = "ecdsa"))]
use super::aws_lc;
#[cfg(feature = "rustcrypto")]
use super::rustcrypto;
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
use super::signature::RsaHash;
use super::{
    Algorithm, KeyError, SignatureError, SignatureScheme,
    signature::{Verifier, check_form},
};

/// An RSA or ECDSA key.
pub(super) struct VerificationKey {
    algorithm: Algorithm,
    verifier: Box<dyn Verifier>,
}

impl VerificationKey {
    /// Reads an `RSAPublicKey` in DER, or an uncompressed point. Always `None` if the
    /// features of the algorithm are off.
    pub(super) fn parse(algorithm: Algorithm, key: &[u8]) -> Option<Self> {
        let is_rsa = matches!(algorithm, Algorithm::Rsa { .. });
        if !is_rsa && !algorithm.is_uncompressed(key) {
            return None;
        }
        let verifier: Option<Box<dyn Verifier>> = match feature_of(algorithm) {
            #[cfg(any(feature = "rsa", feature = "ecdsa"))]
            (_, true) => aws_lc::parse(algorithm, key),
            #[cfg(feature = "rustcrypto")]
            (_, false) => rustcrypto::parse(algorithm, key),
            #[cfg(not(all(any(feature = "rsa", feature = "ecdsa"), feature = "rustcrypto")))]
            _ => None,
        };
        verifier.map(|verifier| Self {
            algorithm,
            verifier,
        })
    }

    /// Verifies a signature of a scheme that the key's algorithm makes.
    pub(super) fn verify(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), SignatureError> {
        check_form(self.algorithm, signature)?;
        if self.verifier.verifies(scheme, message, signature) {
            Ok(())
        } else {
            Err(SignatureError::Mismatch)
        }
    }
}

/// Verifies the RSA signature of a certificate by an `RSAPublicKey` in DER. The
/// exponent may be any odd number of up to 33 bits.
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
pub(super) fn verify_rsa(key: &[u8], hash: RsaHash, message: &[u8], signature: &[u8]) -> bool {
    #[cfg(feature = "rsa")]
    return aws_lc::verify_rsa(key, hash, message, signature);
    #[cfg(not(feature = "rsa"))]
    rustcrypto::verify_rsa(key, hash, message, signature)
}

/// Whether this build verifies with keys of this RSA or ECDSA algorithm.
pub(super) fn check_enabled(algorithm: Algorithm) -> Result<(), KeyError> {
    match feature_of(algorithm) {
        #[cfg(not(feature = "rustcrypto"))]
        (feature, false) => Err(KeyError::FeatureNotEnabled { algorithm, feature }),
        _ => Ok(()),
    }
}

/// The feature with which AWS-LC makes and verifies signatures of this RSA or ECDSA
/// algorithm, and whether it is on.
pub(super) const fn feature_of(algorithm: Algorithm) -> (&'static str, bool) {
    match algorithm {
        Algorithm::Rsa { .. } => ("rsa", cfg!(feature = "rsa")),
        _ => ("ecdsa", cfg!(feature = "ecdsa")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsa_and_ecdsa_have_a_feature_each() {
        let rsa = ("rsa", cfg!(feature = "rsa"));
        assert_eq!(feature_of(Algorithm::Rsa { bits: 2048 }), rsa);
        let ecdsa = ("ecdsa", cfg!(feature = "ecdsa"));
        for curve in [
            Algorithm::EcdsaP256,
            Algorithm::EcdsaP384,
            Algorithm::EcdsaP521,
        ] {
            assert_eq!(feature_of(curve), ecdsa);
        }
    }
}
