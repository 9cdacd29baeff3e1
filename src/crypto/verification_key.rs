//! RSA and ECDSA keys that verify signatures: by AWS-LC if the feature of the
//! algorithm is on, and in Rust otherwise (feature `rustcrypto`).

#[cfg(any(feature = "rsa", feature = "ecdsa"))]
use super::aws_lc;
#[cfg(feature = "rustcrypto")]
use super::rustcrypto;
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
use super::signature::RsaHash;
use super::{Algorithm, SignatureError, SignatureScheme, signature::check_form};

/// An RSA or ECDSA key.
pub(super) struct VerificationKey {
    algorithm: Algorithm,
    verifier: Verifier,
}

enum Verifier {
    #[cfg(any(feature = "rsa", feature = "ecdsa"))]
    AwsLc(aws_lc::VerificationKey),
    #[cfg(feature = "rustcrypto")]
    RustCrypto(rustcrypto::VerificationKey),
}

impl VerificationKey {
    /// Reads an `RSAPublicKey` in DER, or an uncompressed point.
    pub(super) fn parse(algorithm: Algorithm, key: &[u8]) -> Option<Self> {
        let is_rsa = matches!(algorithm, Algorithm::Rsa { .. });
        if !is_rsa && !algorithm.is_uncompressed(key) {
            return None;
        }
        let verifier = Self::verifier(algorithm, key)?;
        Some(Self {
            algorithm,
            verifier,
        })
    }

    fn verifier(algorithm: Algorithm, key: &[u8]) -> Option<Verifier> {
        #[cfg(feature = "rustcrypto")]
        if !is_by_aws_lc(algorithm) {
            let key = rustcrypto::VerificationKey::parse(algorithm, key)?;
            return Some(Verifier::RustCrypto(key));
        }
        #[cfg(any(feature = "rsa", feature = "ecdsa"))]
        return aws_lc::VerificationKey::parse(algorithm, key).map(Verifier::AwsLc);
        #[cfg(not(any(feature = "rsa", feature = "ecdsa")))]
        None
    }

    pub(super) fn verify(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), SignatureError> {
        let algorithm = self.algorithm;
        if !algorithm.makes(scheme) {
            return Err(SignatureError::Scheme { algorithm, scheme });
        }
        check_form(algorithm, signature)?;
        let verified = match &self.verifier {
            #[cfg(any(feature = "rsa", feature = "ecdsa"))]
            Verifier::AwsLc(key) => key.verifies(scheme, message, signature),
            #[cfg(feature = "rustcrypto")]
            Verifier::RustCrypto(key) => key.verifies(scheme, message, signature),
        };
        if verified {
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

#[cfg(feature = "rustcrypto")]
const fn is_by_aws_lc(algorithm: Algorithm) -> bool {
    let is_rsa = matches!(algorithm, Algorithm::Rsa { .. });
    (cfg!(feature = "rsa") && is_rsa) || (cfg!(feature = "ecdsa") && !is_rsa)
}
