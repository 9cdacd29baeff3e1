//! A key and its signature, in the form of an annotation.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    crypto::{PublicKey, Signature},
    policy::Policy,
};

/// A public key (SubjectPublicKeyInfo) and a signature. In an annotation both are
/// in base64, with a dot between. Nothing is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyAndSignature {
    pub(super) key: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

impl KeyAndSignature {
    pub(super) fn new(key: &PublicKey, signature: Signature) -> Self {
        Self {
            key: key.spki_der().to_vec(),
            signature: signature.0,
        }
    }

    /// Reads an annotation's value. `None` if its form is wrong.
    pub(super) fn from_annotation(text: &str, policy: &Policy) -> Option<Self> {
        let limit = 2 * (policy.limits.public_key + policy.limits.signature);
        let (key, signature) = text.split_once('.').filter(|_| text.len() <= limit)?;
        Some(Self {
            key: STANDARD.decode(key).ok()?,
            signature: STANDARD.decode(signature).ok()?,
        })
    }

    pub(super) fn to_annotation(&self) -> String {
        let (key, signature) = (STANDARD.encode(&self.key), STANDARD.encode(&self.signature));
        format!("{key}.{signature}")
    }
}

/// The message that is signed: the domain tag, then each field with its length in
/// front, as 8 bytes, big-endian.
pub(super) fn message(domain: &[u8], fields: &[&[u8]]) -> Vec<u8> {
    let mut message = domain.to_vec();
    for field in fields {
        message.extend(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
        message.extend_from_slice(field);
    }
    message
}
