//! Another key than the pinned one, by the pinned one's own word (rule 5).

use super::nonce;
use crate::{
    assurance::succession::{KEY_SUCCESSION_ANNOTATION, KeySuccession, Succeeding},
    crypto::PublicKey,
    error::{Error, Fault, PeerMisbehaved},
    model::{Resource, Tenant},
    provider::look::Look,
    verify::{self, VerifiedTenant},
};

impl Look<'_> {
    /// What a Tenant claims by a key that follows the pinned one. The pinned
    /// key has to have signed it, over a nonce that is there to be used: so that
    /// its word serves once.
    ///
    /// `changed` is the error without such a word.
    pub(super) fn claim_by_succession(
        &self,
        tenant: &Tenant,
        changed: Error,
    ) -> Result<VerifiedTenant, Error> {
        let pinned = self
            .observed
            .record()
            .and_then(|record| record.public_key.as_ref());
        let annotation = tenant.metadata.annotations.get(KEY_SUCCESSION_ANNOTATION);
        let (Some(pinned), Some(annotation)) = (pinned, annotation) else {
            return Err(changed);
        };
        let policy = self.policy();
        let wrong = |fault| {
            Error::new(
                PeerMisbehaved::KeySuccession(fault),
                Some(tenant.id()),
                "metadata.annotations[liqo-auth/key-succession]",
            )
        };
        let succession = KeySuccession::from_annotation(annotation, policy).map_err(wrong)?;
        let nonce = nonce::present(self).into_usable(self)?;
        // The new key is tested only once the pinned key has signed its bytes.
        let field = tenant.spec.public_key.as_slice();
        let successor = PublicKey::claimed_spki_der(field, policy).map_err(|_| changed)?;
        let succeeding = Succeeding {
            provider: &self.configuration.cluster_id,
            consumer: self.peer(),
            successor: &successor,
            nonce: &nonce,
        };
        succession
            .verify(&succeeding, pinned, policy)
            .map_err(wrong)?;
        verify::claim(tenant, self.peer(), None, policy)
    }
}

/// Whether a claim fails for its key alone.
pub(super) fn is_other_key(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::KeyChanged { .. })
    )
}

/// The succession that came with a Tenant is stored with it; one of an earlier
/// Tenant goes.
pub(super) fn carry(received: &Tenant, stored: &mut Tenant) {
    let annotations = &mut stored.metadata.annotations;
    match received.metadata.annotations.get(KEY_SUCCESSION_ANNOTATION) {
        Some(text) => annotations.insert(KEY_SUCCESSION_ANNOTATION.to_owned(), text.clone()),
        None => annotations.remove(KEY_SUCCESSION_ANNOTATION),
    };
}
