//! What a provider does beside the exchange: transcripts and peering users.

use std::sync::Arc;

use liqo_auth::{
    assurance::transcript::Transcript,
    crypto::{Entropy, KeyPair},
    machine::{Effect, Step},
    model::{
        Bytes, CertificateSigningRequestCondition, CertificateSigningRequestStatus, SecretBytes,
        names,
    },
};

use super::ProviderSide;
use crate::failure::{Failure, Result};

impl ProviderSide<'_> {
    /// What was agreed on with the peer, as far as it is here.
    pub(crate) fn transcript(&self) -> Result<Option<Transcript>> {
        self.provider
            .transcript(&self.home.view(&self.peer))
            .map_err(|error| self.failure(&error))
    }

    /// Makes a peering user with that key: its kubeconfig, which is kept
    /// nowhere.
    pub(crate) fn make_peering_user(&mut self, key: KeyPair) -> Result<SecretBytes> {
        let env = self.clock.env()?;
        let now = env.now;
        let new = self
            .provider
            .peering_user(&self.home.view(&self.peer), Arc::new(key), env)
            .map_err(|error| self.failure(&error))?;
        let request = new.request();
        let chain = self
            .authority
            .issue(
                &request.csr,
                &request.subject,
                &request.public_key,
                request.now,
                request.lifetime,
                &Entropy::from_bytes(*request.id.as_bytes()),
            )
            .map_err(|error| {
                Failure::at_odds(format!("the authority of this home cannot sign: {error}"))
            })?;
        let user = new
            .continue_with(&chain)
            .map_err(|error| self.failure(&error))?;
        let mut signed = new.certificate_signing_request();
        signed.status = CertificateSigningRequestStatus {
            certificate: Bytes::from(chain.pem()),
            conditions: vec![CertificateSigningRequestCondition {
                condition_type: "Approved".to_owned(),
                status: "True".to_owned(),
                reason: names::APPROVAL_REASON.to_owned(),
                message: "Approved by liqo-auth generate peering-user".to_owned(),
            }],
        };
        self.home.apply(&Effect::Create(signed.into()), now)?;
        self.finish(&user.step)?;
        Ok(user.kubeconfig.to_yaml())
    }

    /// Deletes the peering user for the peer, if there is one.
    pub(crate) fn delete_peering_user(&mut self) -> Result<()> {
        let step = self
            .provider
            .delete_peering_user(&self.home.view(&self.peer))
            .map_err(|error| self.failure(&error))?;
        self.finish(&step)
    }

    fn finish(&mut self, step: &Step) -> Result<()> {
        let now = self.clock.now()?;
        self.home.carry_out(step, now)?;
        self.home.save()
    }
}
