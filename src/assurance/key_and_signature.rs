//! A key and its signature, in the form of an annotation.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    crypto::{Answer, BoxError, Payload, PublicKey, Purpose, RequestId, SigningKey, sign_verified},
    model::ClusterId,
    policy::Policy,
};

/// A statement that a key signs.
pub(crate) trait Statement {
    const PURPOSE: Purpose;

    /// The message that this key signs.
    fn message(&self, key: &PublicKey) -> Vec<u8>;

    /// The peer to which the statement is made.
    fn peer(&self) -> &ClusterId;

    /// Asks the key for the signature. The key may answer later.
    fn sign(&self, key: &dyn SigningKey) -> Result<Answer<KeyAndSignature>, BoxError> {
        let public_key = key.public_key();
        let message = self.message(public_key);
        let payload = Payload::of(Self::PURPOSE, &message, public_key).for_peer(Some(self.peer()));
        let signature = sign_verified(key, &payload)?;
        Ok(signature.map(|signature| KeyAndSignature {
            key: public_key.spki_der().to_vec(),
            signature: signature.0,
        }))
    }

    /// The ID of the signature that [`sign`](Self::sign) asks the key for.
    fn signature_id(&self, key: &PublicKey) -> RequestId {
        Payload::of(Self::PURPOSE, &self.message(key), key).id()
    }
}

/// A public key (SubjectPublicKeyInfo) and a signature. In an annotation both are
/// in base64, with a dot between. Nothing is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyAndSignature {
    pub(super) key: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

impl KeyAndSignature {
    /// Reads an annotation's value. `None` if its form is wrong.
    pub(crate) fn from_annotation(text: &str, policy: &Policy) -> Option<Self> {
        let limit = 2 * (policy.limits.public_key + policy.limits.signature);
        let (key, signature) = text.split_once('.').filter(|_| text.len() <= limit)?;
        Some(Self {
            key: STANDARD.decode(key).ok()?,
            signature: STANDARD.decode(signature).ok()?,
        })
    }

    /// The annotation's value.
    pub(crate) fn to_annotation(&self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the longest key and the longest signature: enough for both in base64.
    #[test]
    fn a_long_annotation_is_not_read() {
        let policy = Policy::strict();
        let annotation = |digits: usize| format!("{}.{}", "A".repeat(digits), "A".repeat(4));
        let is_read = |text: &str| KeyAndSignature::from_annotation(text, &policy).is_some();
        // Base64 has four digits at a time, so the limit of 6144 itself is not reached.
        assert_eq!(annotation(6136).len(), 6141);
        assert!(is_read(&annotation(6136)));
        assert_eq!(annotation(6140).len(), 6145);
        assert!(!is_read(&annotation(6140)));
    }
}
