//! Verifies RSA and ECDSA signatures with AWS-LC.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P256_SHA512_ASN1, ECDSA_P384_SHA256_ASN1,
    ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA512_ASN1, ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1,
    ECDSA_P521_SHA512_ASN1, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};

#[cfg(feature = "rsa")]
use super::signature::RsaHash;
use super::{Algorithm, SignatureScheme, signature::Verifier};

/// A key that AWS-LC has parsed, with its bytes: an `RSAPublicKey` in DER, or an
/// uncompressed point.
struct VerificationKey {
    algorithm: Algorithm,
    bytes: Box<[u8]>,
    // The key, parsed for the scheme of nonces. For the other schemes, which are
    // rare, `bytes` are parsed again.
    parsed: ParsedPublicKey,
}

pub(super) fn parse(algorithm: Algorithm, key: &[u8]) -> Option<Box<dyn Verifier>> {
    let verification = verification(algorithm, algorithm.nonce_scheme())?;
    let parsed = ParsedPublicKey::new(verification, key).ok()?;
    Some(Box::new(VerificationKey {
        algorithm,
        bytes: key.into(),
        parsed,
    }))
}

impl Verifier for VerificationKey {
    fn verifies(&self, scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
        if scheme == self.algorithm.nonce_scheme() {
            return self.parsed.verify_sig(message, signature).is_ok();
        }
        verification(self.algorithm, scheme).is_some_and(|verification| {
            UnparsedPublicKey::new(verification, &self.bytes)
                .verify(message, signature)
                .is_ok()
        })
    }
}

/// Verifies the signature of a certificate by an `RSAPublicKey`.
#[cfg(feature = "rsa")]
pub(super) fn verify_rsa(key: &[u8], hash: RsaHash, message: &[u8], signature: &[u8]) -> bool {
    use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512};

    let verification = match hash {
        RsaHash::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
        RsaHash::Sha384 => &RSA_PKCS1_2048_8192_SHA384,
        RsaHash::Sha512 => &RSA_PKCS1_2048_8192_SHA512,
    };
    UnparsedPublicKey::new(verification, key)
        .verify(message, signature)
        .is_ok()
}

fn verification(
    algorithm: Algorithm,
    scheme: SignatureScheme,
) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match (algorithm, scheme) {
        (Algorithm::Rsa { .. }, SignatureScheme::RsaPkcs1Sha256) => &RSA_PKCS1_2048_8192_SHA256,
        (Algorithm::EcdsaP256, SignatureScheme::EcdsaSha256) => &ECDSA_P256_SHA256_ASN1,
        (Algorithm::EcdsaP256, SignatureScheme::EcdsaSha384) => &ECDSA_P256_SHA384_ASN1,
        (Algorithm::EcdsaP256, SignatureScheme::EcdsaSha512) => &ECDSA_P256_SHA512_ASN1,
        (Algorithm::EcdsaP384, SignatureScheme::EcdsaSha256) => &ECDSA_P384_SHA256_ASN1,
        (Algorithm::EcdsaP384, SignatureScheme::EcdsaSha384) => &ECDSA_P384_SHA384_ASN1,
        (Algorithm::EcdsaP384, SignatureScheme::EcdsaSha512) => &ECDSA_P384_SHA512_ASN1,
        (Algorithm::EcdsaP521, SignatureScheme::EcdsaSha256) => &ECDSA_P521_SHA256_ASN1,
        (Algorithm::EcdsaP521, SignatureScheme::EcdsaSha384) => &ECDSA_P521_SHA384_ASN1,
        (Algorithm::EcdsaP521, SignatureScheme::EcdsaSha512) => &ECDSA_P521_SHA512_ASN1,
        _ => return None,
    })
}
