//! The transcript of the exchange with a peer, for comparison by the administrators
//! of both clusters.

use crate::{
    assurance::transcript::{Agreement, Transcript},
    crypto::{Nonce, PublicKey},
    error::{Error, PeerMisbehaved},
    machine::View,
    model::names,
    provider::{Provider, observed::Observed},
};

impl Provider {
    /// The transcript of the exchange with a peer; `None` before the provider has
    /// answered the Tenant. It equals
    /// [`Consumer::transcript`](crate::Consumer::transcript) on the other side,
    /// unless somebody changed a message on the way.
    ///
    /// The transcript describes the stored objects. Nothing is verified.
    ///
    /// # Errors
    /// [`LocalFault`](crate::error::LocalFault), and [`PeerMisbehaved`] if the key
    /// or the nonce is malformed.
    pub fn transcript(&self, view: &View<'_>) -> Result<Option<Transcript>, Error> {
        let observed = self.observe(view)?;
        observed.check_readable()?;
        let Some(tenant) = observed.tenant else {
            return Ok(None);
        };
        let (Some(auth_params), Some(nonce)) =
            (&tenant.status.auth_params, self.agreed_nonce(&observed)?)
        else {
            return Ok(None);
        };
        let key = tenant.spec.public_key.as_slice();
        let consumer_key = PublicKey::from_tenant_field(key, self.0.policy(&observed.peer))
            .map_err(|error| {
                Error::found_in(tenant, "spec.publicKey", PeerMisbehaved::PublicKey(error))
            })?;
        Ok(Some(Transcript::of(&Agreement {
            provider: self.0.cluster_id(),
            consumer: &observed.peer,
            nonce: &nonce,
            consumer_key: &consumer_key,
            auth_params,
            namespace: &tenant.status.tenant_namespace,
        })))
    }

    /// The nonce of the recorded proof, or, without a proof, the present nonce. The
    /// recorded nonce has priority, since the present nonce may be newer and not
    /// signed yet.
    fn agreed_nonce(&self, observed: &Observed<'_>) -> Result<Option<Nonce>, Error> {
        let record = observed.record();
        if let Some(proof) = record.and_then(|record| record.proof.as_ref()) {
            return Ok(Some(proof.nonce.clone()));
        }
        let text = observed.nonce.and_then(|secret| secret.get(names::NONCE));
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let nonce = Nonce::parse(text, self.0.policy(&observed.peer)).map_err(|error| {
            Error::new(
                PeerMisbehaved::NonceForm(error),
                Some(observed.nonce_id()),
                "data.nonce",
            )
        })?;
        Ok(Some(nonce))
    }
}
