//! The name of a signature that is awaited.

use core::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

use super::Payload;
use crate::model::{ValueError, read_hex, write_hex};

/// The name of a signature: SHA-256 over what the signature is for, the scheme,
/// the key and the message. The name is the same at each look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureId([u8; 32]);

impl SignatureId {
    /// Each field has a fixed length or its digest stands for it.
    pub(super) fn of(payload: &Payload<'_>) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth signature v1\0");
        hash.update([payload.purpose().tag()]);
        hash.update(Sha256::digest(payload.scheme().identifier()));
        hash.update(Sha256::digest(payload.key().spki_der()));
        hash.update(Sha256::digest(payload.bytes()));
        Self(hash.finalize().into())
    }
}

/// 64 hexadecimal digits, in lower case.
impl fmt::Display for SignatureId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}

impl FromStr for SignatureId {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        read_hex(text)
            .map(Self)
            .ok_or(ValueError("an ID has 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, SigningKey};

    #[test]
    fn the_name_is_the_same_at_each_look_and_another_for_each_payload() {
        let [one, other] =
            [1, 2].map(|byte| KeyPair::from_entropy(&Entropy::from_bytes([byte; 32])));
        let (one, other) = (one.public_key(), other.public_key());
        let payloads = [
            Payload::certificate(b"message", one),
            Payload::certificate(b"message", other),
            Payload::certificate(b"another", one),
            Payload::commitment(b"message", one),
            Payload::key_succession(b"message", one),
            Payload::certification_request(b"message", one),
        ];
        let names: Vec<_> = payloads.iter().map(Payload::id).collect();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(payloads[at].id(), *name);
            assert!(!names[..at].contains(name));
            assert_eq!(name.to_string().len(), 64);
        }
    }
}
