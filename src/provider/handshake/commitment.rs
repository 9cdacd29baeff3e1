//! By which key this cluster says where it is.

use crate::{
    assurance::commitment::{Commitment, Committed},
    crypto::{Answer, BoxError, Nonce, NotAtOnce},
    error::{Backend, Error},
    machine::Awaited,
    provider::{
        look::Look,
        record::{Plan, StoredCommitment},
    },
    verify::VerifiedTenant,
};

impl Look<'_> {
    /// This provider's commitment to the peer, where the provider has a key of
    /// its own and the nonce does not name another one.
    pub(in crate::provider) fn commit(
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
        let auth_params = self.address(verified.proxy_url());
        let committed = Committed {
            nonce: nonce.as_bytes(),
            provider: &self.configuration.cluster_id,
            consumer: self.peer(),
            consumer_key: verified.public_key(),
            namespace: &self.observed.namespace_name(),
            auth_params: &auth_params,
        };
        let about = committed.digest(key.public_key());
        if let Some(earlier) = earlier.filter(|earlier| earlier.is_about(&about)) {
            return Ok(Answer::Ready(Some(earlier.clone())));
        }
        let failed = |error: BoxError| Error::backend(Backend::Keys, error);
        match Commitment::make(&committed, &**key).map_err(failed)? {
            Answer::Ready(made) => Ok(Answer::Ready(Some(StoredCommitment::new(about, &made)))),
            Answer::Pending => {
                let id = Commitment::signature_id(&committed, key.public_key());
                plan.await_for(Awaited::Signature(id));
                Ok(Answer::Pending)
            }
            Answer::Denied(reason) => Err(failed(NotAtOnce::Denied(reason).into())),
        }
    }
}
