//! The succession of a consumer's key: the old key signs the new one.
//!
//! An annotation of the Tenant with the new key carries the succession.
//! Unmodified Liqo passes the annotation on. The Tenant proves that its sender
//! holds the new key. The succession proves that the holder of the old key agrees.

use super::key_and_signature::{self, KeyAndSignature, Statement};
use crate::{
    crypto::{Nonce, PublicKey, Purpose},
    error::SuccessionFault,
    model::ClusterId,
    policy::Policy,
};

/// The annotation that carries a succession: the old public key
/// (SubjectPublicKeyInfo) and its signature, each in base64, with a dot between.
pub const KEY_SUCCESSION_ANNOTATION: &str = "liqo-auth/key-succession";

/// The content that the old key signs. The signature also covers the old key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Succeeding<'a> {
    /// The provider that is to accept the new key.
    pub(crate) provider: &'a ClusterId,
    /// The consumer that owns the key.
    pub(crate) consumer: &'a ClusterId,
    /// The SubjectPublicKeyInfo of the new key.
    pub(crate) successor: &'a [u8],
    /// The provider's nonce. The new key signs it in the same Tenant, so that a
    /// succession can be used only once.
    pub(crate) nonce: &'a Nonce,
}

impl Succeeding<'_> {
    /// Verifies that the old key is the pinned one, and that it signed this content.
    pub(crate) fn verify(
        &self,
        KeyAndSignature { key, signature }: &KeyAndSignature,
        pinned: &PublicKey,
        policy: &Policy,
    ) -> Result<(), SuccessionFault> {
        if key != pinned.spki_der() {
            return Err(SuccessionFault::OtherKey);
        }
        pinned
            .verify(
                pinned.csr_scheme(),
                &self.message(pinned),
                signature,
                policy,
            )
            .map_err(SuccessionFault::Signature)
    }
}

impl Statement for Succeeding<'_> {
    const PURPOSE: Purpose = Purpose::KeySuccession;

    fn message(&self, predecessor: &PublicKey) -> Vec<u8> {
        key_and_signature::message(
            b"liqo-auth key succession v1\0",
            &[
                self.provider.as_str().as_bytes(),
                self.consumer.as_str().as_bytes(),
                predecessor.spki_der(),
                self.successor,
                self.nonce.as_bytes(),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, SignatureError, SigningKey};

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
            successor: new.public_key().spki_der(),
            nonce: &first,
        };
        let made = succeeding.sign(old).unwrap().at_once().unwrap();
        let read = KeyAndSignature::from_annotation(&made.to_annotation(), &policy).unwrap();
        assert_eq!(read, made);
        assert_eq!(succeeding.verify(&read, old.public_key(), &policy), Ok(()));

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
                successor: third.public_key().spki_der(),
                ..succeeding
            },
            Succeeding {
                nonce: &second,
                ..succeeding
            },
        ];
        for other in others {
            assert_eq!(
                other.verify(&read, old.public_key(), &policy),
                Err(SuccessionFault::Signature(SignatureError::Mismatch)),
                "{other:?}",
            );
        }
        assert_eq!(
            succeeding.verify(&read, third.public_key(), &policy),
            Err(SuccessionFault::OtherKey)
        );
        let mut forged = succeeding.sign(new).unwrap().at_once().unwrap();
        forged.key = old.public_key().spki_der().to_vec();
        assert!(matches!(
            succeeding.verify(&forged, old.public_key(), &policy),
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
                KeyAndSignature::from_annotation(text, &policy),
                None,
                "{text}"
            );
        }
    }
}
