//! Makes RSA and ECDSA signatures and keys with AWS-LC.

#[cfg(feature = "rsa")]
pub(super) use rsa::*;

#[cfg(feature = "ecdsa")]
pub(super) use ecdsa::*;

#[cfg(feature = "rsa")]
mod rsa {
    use aws_lc_rs::{
        encoding::{AsDer, Pkcs8V1Der},
        rand::SystemRandom,
        rsa::{KeyPair, KeySize},
        signature::RSA_PKCS1_SHA256,
    };
    use zeroize::Zeroizing;

    use crate::crypto::{BoxError, KeyPairError, SignatureScheme, signing_key::Signer};

    impl Signer for KeyPair {
        fn sign(
            &self,
            scheme: SignatureScheme,
            message: &[u8],
        ) -> Result<Option<Vec<u8>>, BoxError> {
            if scheme != SignatureScheme::RsaPkcs1Sha256 {
                return Ok(None);
            }
            let (random, mut signature) = (SystemRandom::new(), vec![0; self.public_modulus_len()]);
            self.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)?;
            Ok(Some(signature))
        }
    }

    /// A new key in PKCS#8.
    pub(crate) fn generate_rsa(bits: u32) -> Result<Zeroizing<Vec<u8>>, KeyPairError> {
        let size = match bits {
            3072 => KeySize::Rsa3072,
            4096 => KeySize::Rsa4096,
            _ => KeySize::Rsa2048,
        };
        let key = KeyPair::generate(size).map_err(|_| KeyPairError::Random)?;
        let der: Pkcs8V1Der<'_> = key.as_der().map_err(|_| KeyPairError::Random)?;
        Ok(Zeroizing::new(der.as_ref().to_vec()))
    }
}

#[cfg(feature = "ecdsa")]
mod ecdsa {
    use aws_lc_rs::{
        digest::{Digest, SHA256, SHA384, SHA512, digest},
        signature::{
            ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
            ECDSA_P521_SHA512_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
        },
    };
    use zeroize::Zeroizing;

    use crate::crypto::{Algorithm, BoxError, KeyPairError, SignatureScheme, signing_key::Signer};

    impl Signer for EcdsaKeyPair {
        /// Signs with any of the three hashes on any of the three curves.
        ///
        /// AWS-LC signs only a digest of the length that belongs to the curve, but Liqo
        /// signs nonces over SHA-256 on every curve. ECDSA reads a digest that is
        /// shorter than the curve's order as a number (FIPS 186-5 section 6.4.1), so
        /// leading zeros do not change the signature.
        fn sign(
            &self,
            scheme: SignatureScheme,
            message: &[u8],
        ) -> Result<Option<Vec<u8>>, BoxError> {
            let wide = if self.algorithm() == &ECDSA_P256_SHA256_ASN1_SIGNING {
                &SHA256
            } else if self.algorithm() == &ECDSA_P384_SHA384_ASN1_SIGNING {
                &SHA384
            } else {
                &SHA512
            };
            let narrow = match scheme {
                SignatureScheme::EcdsaSha256 => &SHA256,
                SignatureScheme::EcdsaSha384 => &SHA384,
                SignatureScheme::EcdsaSha512 => &SHA512,
                _ => return Ok(None),
            };
            let hash = digest(narrow, message);
            let mut padded = vec![0; wide.output_len().saturating_sub(narrow.output_len())];
            padded.extend_from_slice(hash.as_ref());
            let signature = self.sign_digest(&Digest::import_less_safe(&padded, wide)?)?;
            Ok(Some(signature.as_ref().to_vec()))
        }
    }

    /// A new key in PKCS#8.
    pub(crate) fn generate_ecdsa(algorithm: Algorithm) -> Result<Zeroizing<Vec<u8>>, KeyPairError> {
        let key = EcdsaKeyPair::generate(signing(algorithm)).map_err(|_| KeyPairError::Random)?;
        let der = key.to_pkcs8v1().map_err(|_| KeyPairError::Random)?;
        Ok(Zeroizing::new(der.as_ref().to_vec()))
    }

    pub(crate) fn read_ecdsa(algorithm: Algorithm, der: &[u8]) -> Option<EcdsaKeyPair> {
        EcdsaKeyPair::from_pkcs8(signing(algorithm), der).ok()
    }

    fn signing(algorithm: Algorithm) -> &'static EcdsaSigningAlgorithm {
        match algorithm {
            Algorithm::EcdsaP384 => &ECDSA_P384_SHA384_ASN1_SIGNING,
            Algorithm::EcdsaP521 => &ECDSA_P521_SHA512_ASN1_SIGNING,
            _ => &ECDSA_P256_SHA256_ASN1_SIGNING,
        }
    }
}
