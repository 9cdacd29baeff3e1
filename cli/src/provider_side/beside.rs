//! The provider's functions that are not part of the exchange: transcripts and
//! peering users.

use std::sync::Arc;

use liqo_auth::{
    assurance::transcript::Transcript, crypto::KeyPair, machine::Effect, model::SecretBytes,
};

use super::ProviderSide;
use crate::{
    failure::Result,
    signer::{issued, sign},
};

impl ProviderSide<'_> {
    /// The transcript of the agreement with the peer. None if this home does not
    /// have all parts of it.
    pub(crate) fn transcript(&self) -> Result<Option<Transcript>> {
        self.machine
            .transcript(&self.view())
            .map_err(|error| self.failure(&error))
    }

    /// Creates a peering user with this key. Returns its kubeconfig, which is not
    /// stored.
    pub(crate) fn make_peering_user(&mut self, key: KeyPair) -> Result<SecretBytes> {
        let env = self.clock.env()?;
        let now = env.now;
        let new = self
            .machine
            .peering_user(&self.view(), Arc::new(key), env)
            .map_err(|error| self.failure(&error))?;
        let chain = sign(&self.home.authority()?, new.request())?;
        let user = new
            .continue_with(&chain)
            .map_err(|error| self.failure(&error))?;
        let mut signed = new.certificate_signing_request();
        signed.status = issued(&chain, "generate peering-user");
        self.home.apply(&Effect::Create(signed.into()), now)?;
        self.home.carry_out(&user.step, now)?;
        self.home.save()?;
        Ok(user.kubeconfig.to_yaml())
    }

    /// Deletes the peering user for the peer, if there is one.
    pub(crate) fn delete_peering_user(&mut self) -> Result<()> {
        let subject = self.home.site().to_string();
        self.administer(&subject, |provider, view, _| {
            provider.delete_peering_user(view)
        })?;
        self.home.save()
    }
}
