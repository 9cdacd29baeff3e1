//! The transcript of the exchange with a provider, for comparison by the
//! administrators of both clusters.

use std::sync::Arc;

use crate::{
    assurance::transcript::{Agreement, Transcript},
    consumer::{Consumer, observed::Observed},
    crypto::{CertificateChain, Nonce, SigningKey},
    error::{Error, PeerMisbehaved},
    machine::View,
    policy::Policy,
};

impl Consumer {
    /// The transcript of the exchange with a provider, if its Identity is stored. It
    /// equals [`Provider::transcript`](crate::Provider::transcript) on the other
    /// side, unless somebody changed a message on the way.
    ///
    /// The transcript describes the stored objects. Nothing is verified.
    ///
    /// # Errors
    /// [`LocalFault`](crate::error::LocalFault), and [`PeerMisbehaved`] if the
    /// stored nonce is malformed.
    pub fn transcript(&self, view: &View<'_>) -> Result<Option<Transcript>, Error> {
        self.0.check_peer(view.peer())?;
        let observed = Observed::of(&self.0, view)?;
        let (policy, peer) = (self.0.policy(view.peer()), view.peer());
        let Some(identity) = observed.identity else {
            return Ok(None);
        };
        let (Some(keys), Some(nonce)) = (self.0.find_keys(peer)?, agreed_nonce(&observed, policy)?)
        else {
            return Ok(None);
        };
        let certificate = identity.spec.auth_params.signed_crt.as_slice();
        let held = CertificateChain::from_pem(certificate, policy).ok();
        let is_held = |key: &Arc<dyn SigningKey>| {
            let spki = key.public_key().spki_der();
            held.is_some_and(|held| held.leaf().spki_der == spki)
        };
        let key = keys.predecessor.filter(is_held).unwrap_or(keys.current);
        Ok(Some(Transcript::of(&Agreement {
            provider: peer,
            consumer: self.0.cluster_id(),
            nonce: &nonce,
            consumer_key: key.public_key(),
            auth_params: &identity.spec.auth_params,
            namespace: identity.spec.namespace.as_deref().unwrap_or_default(),
        })))
    }
}

/// The nonce of the provider's proof, or, without a proof, the stored nonce. The
/// proof has priority because anyone can deliver another nonce, which the consumer
/// then signs.
fn agreed_nonce(observed: &Observed<'_>, policy: &Policy) -> Result<Option<Nonce>, Error> {
    let proven = observed
        .record()
        .and_then(|record| record.proven_nonce.clone());
    if proven.is_some() {
        return Ok(proven);
    }
    let Some((secret, text)) = observed.nonce_text() else {
        return Ok(None);
    };
    let at = |error| Error::found_in(secret, "data.nonce", PeerMisbehaved::NonceForm(error));
    Nonce::parse(text, policy).map(Some).map_err(at)
}
