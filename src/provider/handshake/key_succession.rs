//! Key succession: the pinned key signs the key that succeeds it (rule 5).

use super::nonce;
use crate::{
    assurance::{
        key_and_signature::KeyAndSignature,
        succession::{KEY_SUCCESSION_ANNOTATION, Succeeding},
    },
    crypto::PublicKey,
    error::{Error, Fault, PeerIncompatible, SuccessionFault},
    model::Tenant,
    provider::look::Look,
    verify::{self, VerifiedTenant},
};

impl Look<'_> {
    /// Verifies the claim of a Tenant whose key succeeds the pinned one. The pinned
    /// key must have signed the succession over a usable nonce, so that the
    /// succession is valid only once.
    ///
    /// `changed` is the error if the Tenant does not carry a succession.
    pub(super) fn claim_by_succession(
        &self,
        tenant: &Tenant,
        changed: Error,
    ) -> Result<VerifiedTenant, Error> {
        let annotation = tenant.metadata.annotations.get(KEY_SUCCESSION_ANNOTATION);
        let (Some(pinned), Some(annotation)) = (self.observed.pinned_key(), annotation) else {
            return Err(changed);
        };
        let policy = self.policy();
        let wrong = |fault| {
            Error::found_in(
                tenant,
                "metadata.annotations[liqo-auth/key-succession]",
                PeerIncompatible::KeySuccession(fault),
            )
        };
        let succession = KeyAndSignature::from_annotation(annotation, policy)
            .ok_or(SuccessionFault::Encoding)
            .map_err(wrong)?;
        let nonce = nonce::present(self).into_usable(self)?;
        // The new key is only decoded here. `verify::claim` tests it, after the
        // pinned key's signature over it is verified.
        let field = tenant.spec.public_key.as_slice();
        let successor = PublicKey::claimed_spki_der(field, policy).map_err(|_| changed)?;
        let succeeding = Succeeding {
            provider: self.configuration.cluster_id(),
            consumer: self.peer(),
            successor: &successor,
            nonce: &nonce,
        };
        succeeding
            .verify(&succession, pinned, policy)
            .map_err(wrong)?;
        verify::claim(tenant, self.claimed(tenant), None, policy)
    }
}

/// Whether a claim fails only because its key is not the pinned one.
pub(super) fn is_other_key(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::KeyChanged { .. })
    )
}

/// Copies the succession of the received Tenant to the stored one. If there is no
/// received succession, removes the stored one.
pub(super) fn copy_succession(received: &Tenant, stored: &mut Tenant) {
    let annotations = &mut stored.metadata.annotations;
    match received.metadata.annotations.get(KEY_SUCCESSION_ANNOTATION) {
        Some(text) => annotations.insert(KEY_SUCCESSION_ANNOTATION.to_owned(), text.clone()),
        None => annotations.remove(KEY_SUCCESSION_ANNOTATION),
    };
}
