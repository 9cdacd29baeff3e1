//! Private keys on the curves of the exchange.

use p256::pkcs8::{DecodePrivateKey, EncodePublicKey};

/// The public key (DER) of a private key in PKCS #8 on P-256, P-384 or P-521.
pub(crate) fn public_key(der: &[u8]) -> Option<Vec<u8>> {
    let public = if let Ok(key) = p256::SecretKey::from_pkcs8_der(der) {
        key.public_key().to_public_key_der()
    } else if let Ok(key) = p384::SecretKey::from_pkcs8_der(der) {
        key.public_key().to_public_key_der()
    } else {
        let key = p521::SecretKey::from_pkcs8_der(der).ok()?;
        key.public_key().to_public_key_der()
    };
    Some(public.ok()?.into_vec())
}
