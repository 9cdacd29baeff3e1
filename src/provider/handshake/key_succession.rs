//! Another key than the pinned one, by the pinned one's own word (rule 5).

use super::nonce;
use crate::{
    assurance::succession::{KEY_SUCCESSION_ANNOTATION, KeySuccession, Succeeding},
    error::{Error, Fault, PeerMisbehaved},
    machine::View,
    model::{Resource, Tenant, Timestamp},
    provider::{Provider, observed::Observed},
    verify::{self, VerifiedTenant},
};

impl Provider {
    /// What a Tenant claims by a key that follows the pinned one. The pinned
    /// key has to have signed it, over a nonce that is there to be used: so that
    /// its word serves once.
    ///
    /// `changed` is the error that it is without such a word.
    pub(in crate::provider) fn claim_by_succession(
        &self,
        observed: &Observed<'_>,
        view: &View<'_>,
        tenant: &Tenant,
        now: Timestamp,
        changed: Error,
    ) -> Result<VerifiedTenant, Error> {
        let pinned = observed
            .record
            .as_ref()
            .and_then(|(_, record)| record.public_key.as_ref());
        let annotation = tenant.metadata.annotations.get(KEY_SUCCESSION_ANNOTATION);
        let (Some(pinned), Some(annotation)) = (pinned, annotation) else {
            return Err(changed);
        };
        let policy = self.policy(&observed.peer);
        let wrong = |fault| {
            Error::new(
                PeerMisbehaved::KeySuccession(fault),
                Some(tenant.id()),
                "metadata.annotations[liqo-auth/key-succession]",
            )
        };
        let succession = KeySuccession::from_annotation(annotation, policy).map_err(wrong)?;
        let nonce = nonce::present(self, observed, view, now)?.into_usable(observed)?;
        let verified = verify::claim(tenant, &observed.peer, None, policy)?;
        let succeeding = Succeeding {
            provider: self.cluster_id(),
            consumer: &observed.peer,
            successor: verified.public_key(),
            nonce: &nonce,
        };
        succession
            .verify(&succeeding, pinned, policy)
            .map_err(wrong)?;
        Ok(verified)
    }
}

/// Whether a claim fails for its key alone.
pub(in crate::provider) fn is_other_key(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::KeyChanged { .. })
    )
}

/// The succession that came with a Tenant is stored with it; one of an earlier
/// Tenant goes.
pub(in crate::provider) fn carry(received: &Tenant, stored: &mut Tenant) {
    let annotations = &mut stored.metadata.annotations;
    match received.metadata.annotations.get(KEY_SUCCESSION_ANNOTATION) {
        Some(text) => annotations.insert(KEY_SUCCESSION_ANNOTATION.to_owned(), text.clone()),
        None => annotations.remove(KEY_SUCCESSION_ANNOTATION),
    };
}
