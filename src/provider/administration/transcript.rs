//! What the provider agreed on with a peer, for their administrators to
//! compare.

use crate::{
    assurance::transcript::{Agreement, Transcript},
    crypto::{Nonce, PublicKey},
    error::{Error, PeerMisbehaved},
    machine::View,
    model::{Resource, names},
    provider::{Provider, observed::Observed},
};

impl Provider {
    /// The transcript of the exchange with a peer, once its Tenant was
    /// answered: what [`Consumer::transcript`](crate::Consumer::transcript) is
    /// on the other side, if nobody changed anything in between.
    ///
    /// Nothing is verified: it is about the objects that are there.
    ///
    /// # Errors
    /// [`LocalFault`](crate::error::LocalFault), and [`PeerMisbehaved`] if key
    /// or nonce are none.
    pub fn transcript(&self, view: &View<'_>) -> Result<Option<Transcript>, Error> {
        self.check_other(view.peer())?;
        let observed = Observed::select(self, view)?;
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
        let consumer_key =
            PublicKey::from_tenant_field(key, self.policy(&observed.peer)).map_err(|error| {
                Error::new(
                    PeerMisbehaved::PublicKey(error),
                    Some(tenant.id()),
                    "spec.publicKey",
                )
            })?;
        Ok(Some(Transcript::of(&Agreement {
            provider: self.cluster_id(),
            consumer: &observed.peer,
            nonce: &nonce,
            consumer_key: &consumer_key,
            auth_params,
            namespace: &tenant.status.tenant_namespace,
        })))
    }

    /// The nonce on record, or the one that is there: another one may have been
    /// made since, and is not signed yet.
    fn agreed_nonce(&self, observed: &Observed<'_>) -> Result<Option<Nonce>, Error> {
        let record = observed.record.as_ref().map(|(_, record)| record);
        if let Some(proof) = record.and_then(|record| record.proof.as_ref()) {
            return Ok(Some(proof.nonce.clone()));
        }
        let text = observed.nonce.and_then(|secret| secret.get(names::NONCE));
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let nonce = Nonce::parse(text, self.policy(&observed.peer)).map_err(|error| {
            Error::new(
                PeerMisbehaved::NonceForm(error),
                Some(observed.nonce_id()),
                "data.nonce",
            )
        })?;
        Ok(Some(nonce))
    }
}
