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
        let (scheme, message) = (pinned.csr_scheme(), self.message(pinned));
        pinned
            .verify(scheme, &message, signature, policy)
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

    fn peer(&self) -> &ClusterId {
        self.provider
    }
}

#[cfg(test)]
mod tests;
