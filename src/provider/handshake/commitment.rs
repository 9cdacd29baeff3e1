//! The provider's commitment: its own key signs its address and the handshake.

use crate::{
    assurance::{commitment::Committed, key_and_signature::Statement},
    crypto::{Answer, Nonce},
    error::Error,
    machine::answering::signed,
    provider::{look::Look, record::StoredCommitment, records::Plan},
    verify::VerifiedTenant,
};

impl Look<'_> {
    /// This provider's commitment to the peer. `None` if the provider has no key of
    /// its own, or if a structured nonce does not commit the provider to this key.
    /// Reuses `earlier` if its content is the same.
    pub(crate) fn commit(
        &self,
        verified: &VerifiedTenant,
        nonce: &Nonce,
        earlier: Option<&StoredCommitment>,
        plan: &mut Plan<'_>,
    ) -> Result<Answer<Option<StoredCommitment>>, Error> {
        let Some(key) = &self.configuration.key else {
            return Ok(Answer::Ready(None));
        };
        let names_another = nonce
            .structured()
            .is_some_and(|nonce| !nonce.commits_to(key.public_key()));
        if names_another {
            return Ok(Answer::Ready(None));
        }
        let auth_params = self.address(verified.proxy_url.as_ref());
        let committed = Committed {
            nonce: nonce.as_bytes(),
            provider: self.configuration.cluster_id(),
            consumer: self.peer(),
            consumer_key: &verified.public_key,
            namespace: &self.observed.namespace_name(),
            auth_params: &auth_params,
        };
        let about = committed.digest(key.public_key());
        if let Some(earlier) = earlier.filter(|earlier| earlier.is_about(&about)) {
            return Ok(Answer::Ready(Some(earlier.clone())));
        }
        let made = signed(
            || committed.sign(&**key),
            plan,
            || committed.signature_id(key.public_key()),
        )?;
        Ok(match made {
            Some(made) => Answer::Ready(Some(StoredCommitment::new(about, &made))),
            None => Answer::Pending,
        })
    }
}
