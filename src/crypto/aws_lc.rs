//! Verifies RSA and ECDSA signatures with AWS-LC.

#[cfg(feature = "ecdsa")]
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P256_SHA512_ASN1, ECDSA_P384_SHA256_ASN1,
    ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA512_ASN1, ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1,
    ECDSA_P521_SHA512_ASN1,
};
use aws_lc_rs::signature::{ParsedPublicKey, UnparsedPublicKey, VerificationAlgorithm};

use super::{Algorithm, SignatureError, SignatureScheme};

/// A key that AWS-LC has parsed, with its bytes: an `RSAPublicKey` in DER, or an
/// uncompressed point.
pub(super) struct VerificationKey {
    algorithm: Algorithm,
    bytes: Box<[u8]>,
    // The key, parsed for the scheme of nonces. Other schemes are rare and parse
    // `bytes` again.
    parsed: ParsedPublicKey,
}

impl VerificationKey {
    pub(super) fn parse(algorithm: Algorithm, key: &[u8]) -> Option<Self> {
        let verification = verification(algorithm, algorithm.nonce_scheme())?;
        let parsed = ParsedPublicKey::new(verification, key).ok()?;
        Some(Self {
            algorithm,
            bytes: key.into(),
            parsed,
        })
    }

    #[cfg(feature = "rsa")]
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn verify(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), SignatureError> {
        let algorithm = self.algorithm;
        let verification =
            verification(algorithm, scheme).ok_or(SignatureError::Scheme { algorithm, scheme })?;
        check_form(algorithm, signature)?;
        if scheme == algorithm.nonce_scheme() {
            self.parsed.verify_sig(message, signature)
        } else {
            UnparsedPublicKey::new(verification, &self.bytes).verify(message, signature)
        }
        .map_err(|_| SignatureError::Mismatch)
    }
}

fn verification(
    algorithm: Algorithm,
    scheme: SignatureScheme,
) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match (algorithm, scheme) {
        #[cfg(feature = "rsa")]
        (Algorithm::Rsa { .. }, SignatureScheme::RsaPkcs1Sha256) => {
            &aws_lc_rs::signature::RSA_PKCS1_2048_8192_SHA256
        }
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP256, SignatureScheme::EcdsaSha256) => &ECDSA_P256_SHA256_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP256, SignatureScheme::EcdsaSha384) => &ECDSA_P256_SHA384_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP256, SignatureScheme::EcdsaSha512) => &ECDSA_P256_SHA512_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP384, SignatureScheme::EcdsaSha256) => &ECDSA_P384_SHA256_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP384, SignatureScheme::EcdsaSha384) => &ECDSA_P384_SHA384_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP384, SignatureScheme::EcdsaSha512) => &ECDSA_P384_SHA512_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP521, SignatureScheme::EcdsaSha256) => &ECDSA_P521_SHA256_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP521, SignatureScheme::EcdsaSha384) => &ECDSA_P521_SHA384_ASN1,
        #[cfg(feature = "ecdsa")]
        (Algorithm::EcdsaP521, SignatureScheme::EcdsaSha512) => &ECDSA_P521_SHA512_ASN1,
        _ => return None,
    })
}

/// Checks the form of a signature, so that the error distinguishes a malformed
/// signature from a wrong one.
fn check_form(algorithm: Algorithm, signature: &[u8]) -> Result<(), SignatureError> {
    use super::der::{Reader, SEQUENCE, single};

    if let Algorithm::Rsa { bits } = algorithm {
        let expected = usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX);
        if signature.len() != expected {
            return Err(SignatureError::Length {
                found: signature.len(),
                expected,
            });
        }
        return Ok(());
    }
    single(signature, SEQUENCE)
        .and_then(|content| {
            let mut numbers = Reader::new(content);
            numbers.unsigned()?;
            numbers.unsigned()?;
            numbers.end()
        })
        .map_err(|_| SignatureError::Encoding)
}
