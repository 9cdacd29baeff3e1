//! The succession of a consumer's key: the old key signs the new one.
//!
//! It travels as an annotation of the Tenant that carries the new key, so that
//! unmodified Liqo passes it on unread. The Tenant itself proves that whoever
//! sends it holds the new key; the succession proves that whoever held the old
//! one wants it so.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    crypto::{Answer, BoxError, Nonce, Payload, PublicKey, SignatureId, SigningKey, sign_verified},
    error::SuccessionFault,
    model::ClusterId,
    policy::Policy,
};

/// The annotation that carries a succession: the old public key
/// (SubjectPublicKeyInfo) and its signature, each in base64, with a dot between.
pub const KEY_SUCCESSION_ANNOTATION: &str = "liqo-auth/key-succession";

/// What the old key signs, besides itself.
#[derive(Debug, Clone, Copy)]
pub struct Succeeding<'a> {
    /// The provider that is to take the new key.
    pub provider: &'a ClusterId,
    /// The consumer whose key it is.
    pub consumer: &'a ClusterId,
    /// The new key.
    pub successor: &'a PublicKey,
    /// The provider's nonce, which the new key signs in the same Tenant: so
    /// that a succession serves once.
    pub nonce: &'a Nonce,
}

/// A key, and its signature over the key that follows it.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     assurance::succession::{KeySuccession, Succeeding},
///     crypto::{Entropy, KeyPair, Nonce, SigningKey},
///     policy::Policy,
/// };
///
/// let policy = Policy::strict();
/// let old = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
/// let new = KeyPair::from_entropy(&Entropy::from_bytes([2; 32]));
/// let nonce = Nonce::random(&Entropy::from_bytes([3; 32]));
/// let succeeding = Succeeding {
///     provider: &"cl-provider".parse()?,
///     consumer: &"cl-consumer".parse()?,
///     successor: new.public_key(),
///     nonce: &nonce,
/// };
/// let annotation = KeySuccession::make(&succeeding, &old)?.at_once()?.to_annotation();
///
/// let succession = KeySuccession::from_annotation(&annotation, &policy)?;
/// succession.verify(&succeeding, old.public_key(), &policy)?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySuccession {
    predecessor: Vec<u8>,
    signature: Vec<u8>,
}

impl KeySuccession {
    /// Has the old key sign the new one, now or later.
    ///
    /// # Errors
    /// What kept the old key from signing.
    pub fn make(
        succeeding: &Succeeding<'_>,
        predecessor: &dyn SigningKey,
    ) -> Result<Answer<Self>, BoxError> {
        let key = predecessor.public_key();
        let message = succeeding.message(key);
        let signature = sign_verified(predecessor, &Payload::key_succession(&message, key))?;
        Ok(signature.map(|signature| Self {
            predecessor: key.spki_der().to_vec(),
            signature: signature.into_bytes(),
        }))
    }

    /// The name of the signature that [`make`](Self::make) asks the old key for.
    pub fn signature_id(succeeding: &Succeeding<'_>, predecessor: &PublicKey) -> SignatureId {
        Payload::key_succession(&succeeding.message(predecessor), predecessor).id()
    }

    /// Verifies that the pinned key is the one that is followed, and signed
    /// exactly this.
    ///
    /// # Errors
    /// [`SuccessionFault::OtherKey`] or [`SuccessionFault::Signature`].
    pub fn verify(
        &self,
        succeeding: &Succeeding<'_>,
        pinned: &PublicKey,
        policy: &Policy,
    ) -> Result<(), SuccessionFault> {
        if !self.follows(pinned) {
            return Err(SuccessionFault::OtherKey);
        }
        let message = succeeding.message(pinned);
        pinned
            .verify(pinned.csr_scheme(), &message, &self.signature, policy)
            .map_err(SuccessionFault::Signature)
    }

    /// Whether this is the key that it says is followed. Nothing is verified.
    pub fn follows(&self, key: &PublicKey) -> bool {
        self.predecessor == key.spki_der()
    }

    /// Reads the annotation. Nothing is verified but its form.
    ///
    /// # Errors
    /// [`SuccessionFault::Encoding`].
    pub fn from_annotation(text: &str, policy: &Policy) -> Result<Self, SuccessionFault> {
        let limit = 2 * (policy.limits().public_key + policy.limits().signature);
        let (key, signature) = text
            .split_once('.')
            .filter(|_| text.len() <= limit)
            .ok_or(SuccessionFault::Encoding)?;
        let decode = |text: &str| STANDARD.decode(text).map_err(|_| SuccessionFault::Encoding);
        Ok(Self {
            predecessor: decode(key)?,
            signature: decode(signature)?,
        })
    }

    /// The annotation's value.
    pub fn to_annotation(&self) -> String {
        format!(
            "{}.{}",
            STANDARD.encode(&self.predecessor),
            STANDARD.encode(&self.signature)
        )
    }
}

impl Succeeding<'_> {
    /// The domain tag, then each field with its length in front, as 8 bytes
    /// big-endian.
    fn message(&self, predecessor: &PublicKey) -> Vec<u8> {
        let mut message = b"liqo-auth key succession v1\0".to_vec();
        for field in [
            self.provider.as_str().as_bytes(),
            self.consumer.as_str().as_bytes(),
            predecessor.spki_der(),
            self.successor.spki_der(),
            self.nonce.as_bytes(),
        ] {
            message.extend(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
            message.extend(field);
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, SignatureError};

    fn key(seed: u8) -> KeyPair {
        KeyPair::from_entropy(&Entropy::from_bytes([seed; 32]))
    }

    fn nonce(seed: u8) -> Nonce {
        Nonce::random(&Entropy::from_bytes([seed; 32]))
    }

    fn holds(old: &KeyPair, new: &KeyPair) {
        let policy = Policy::strict();
        let (provider, consumer) = ("cl02".parse().unwrap(), "cl01".parse().unwrap());
        let (first, second) = (nonce(8), nonce(9));
        let third = key(7);
        let succeeding = Succeeding {
            provider: &provider,
            consumer: &consumer,
            successor: new.public_key(),
            nonce: &first,
        };
        let made = KeySuccession::make(&succeeding, old)
            .unwrap()
            .at_once()
            .unwrap();
        let read = KeySuccession::from_annotation(&made.to_annotation(), &policy).unwrap();
        assert_eq!(read, made);
        assert_eq!(read.verify(&succeeding, old.public_key(), &policy), Ok(()));

        let others = [
            Succeeding {
                provider: &consumer,
                ..succeeding
            },
            Succeeding {
                consumer: &provider,
                ..succeeding
            },
            Succeeding {
                successor: third.public_key(),
                ..succeeding
            },
            Succeeding {
                nonce: &second,
                ..succeeding
            },
        ];
        for other in others {
            assert_eq!(
                read.verify(&other, old.public_key(), &policy),
                Err(SuccessionFault::Signature(SignatureError::Mismatch)),
                "{other:?}",
            );
        }
        assert_eq!(
            read.verify(&succeeding, third.public_key(), &policy),
            Err(SuccessionFault::OtherKey)
        );
        let forged = KeySuccession {
            predecessor: old.public_key().spki_der().to_vec(),
            ..KeySuccession::make(&succeeding, new)
                .unwrap()
                .at_once()
                .unwrap()
        };
        assert!(matches!(
            forged.verify(&succeeding, old.public_key(), &policy),
            Err(SuccessionFault::Signature(_))
        ));
    }

    #[test]
    fn a_succession_holds_for_what_it_is_about() {
        holds(&key(1), &key(2));
    }

    #[cfg(feature = "ecdsa")]
    #[test]
    fn keys_of_two_algorithms_may_follow_each_other() {
        use crate::crypto::Algorithm::EcdsaP256;

        let ecdsa = KeyPair::generate(EcdsaP256, &mut getrandom::SysRng).unwrap();
        holds(&key(1), &ecdsa);
        holds(&ecdsa, &key(2));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let policy = Policy::strict();
        let long = format!("AA==.{}", "A".repeat(100_000));
        for text in ["", ".x", "AA==", "A.AA==", "AA==.AA==.", &long] {
            assert_eq!(
                KeySuccession::from_annotation(text, &policy),
                Err(SuccessionFault::Encoding),
                "{text}"
            );
        }
    }
}
