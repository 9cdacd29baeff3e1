//! Keys for `rcgen`, with which tests make certificates that this library cannot
//! write.

use core::cell::OnceCell;

use rcgen::{PublicKeyData, SignatureAlgorithm};

use super::{Algorithm, BoxError, Payload, PublicKey, Purpose, SigningKey, sign_verified};

/// Any signing key, as a key that signs certificates for `rcgen`.
pub(super) struct Signer<'a> {
    key: &'a dyn SigningKey,
    // An error of rcgen cannot contain the key's error.
    failure: OnceCell<BoxError>,
}

/// A public key for a certificate that has no signature or is signed by another key.
pub(super) struct Unsigned<'a>(pub(super) &'a PublicKey);

impl<'a> Signer<'a> {
    pub(super) const fn new(key: &'a dyn SigningKey) -> Self {
        let failure = OnceCell::new();
        Self { key, failure }
    }
}

impl rcgen::SigningKey for Signer<'_> {
    fn sign(&self, to_be_signed: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let payload = Payload::of(Purpose::Certificate, to_be_signed, self.key.public_key());
        let signature = sign_verified(self.key, &payload);
        // rcgen cannot wait.
        match signature.and_then(|signature| Ok(signature.at_once()?)) {
            Ok(signature) => Ok(signature.0),
            Err(error) => {
                // rcgen asks for one signature only.
                let _ = self.failure.set(error);
                Err(rcgen::Error::RemoteKeyError)
            }
        }
    }
}

impl PublicKeyData for Signer<'_> {
    fn der_bytes(&self) -> &[u8] {
        super::authority::key_bits(self.key.public_key())
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        algorithm(self.key.public_key())
    }
}

impl rcgen::SigningKey for Unsigned<'_> {
    fn sign(&self, _to_be_signed: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Ok(Vec::new())
    }
}

impl PublicKeyData for Unsigned<'_> {
    fn der_bytes(&self) -> &[u8] {
        super::authority::key_bits(self.0)
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        algorithm(self.0)
    }
}

/// The algorithm of [`PublicKey::csr_scheme`].
fn algorithm(key: &PublicKey) -> &'static SignatureAlgorithm {
    match key.algorithm() {
        Algorithm::Ed25519 => &rcgen::PKCS_ED25519,
        Algorithm::Rsa { .. } => &rcgen::PKCS_RSA_SHA256,
        Algorithm::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
        Algorithm::EcdsaP384 => &rcgen::PKCS_ECDSA_P384_SHA384,
        Algorithm::EcdsaP521 => &rcgen::PKCS_ECDSA_P521_SHA512,
    }
}
