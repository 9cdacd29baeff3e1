//! The request and the tokens that are sent to one foreign cluster.

use super::look::{Look, Plan};
use crate::{
    crypto::{Csr, SigningKey, Subject},
    error::Error,
    legacy::{AuthToken, objects},
    machine::{Awaited, Env, answering::signed},
    model::{AuthStatus, Secret, SecretBytes, names},
    policy::{Forms, Policy},
};

impl Look<'_> {
    /// The stored CSR for this peer and key. The same CSR is always sent, so that
    /// the peer can repeat a lost answer.
    pub(super) fn recorded(&self, key: &dyn SigningKey) -> Option<Csr> {
        let record = self.observed.record()?;
        let subject = Subject::control_plane(&self.configuration.cluster_id);
        Csr::verify(&record.csr, &subject, key.public_key(), &Policy::strict()).ok()
    }

    /// Whether the origin token for this peer is still missing.
    pub(super) fn lacks_origin_token(&self) -> bool {
        self.gives_own_origin_token() && self.observed.origin_token.is_none()
    }

    /// Makes the CSR and the origin token. With the origin token, the peer may
    /// request an identity from this cluster.
    pub(super) fn make_record(&self, env: &Env, plan: &mut Plan<'_>) -> Result<(), Error> {
        let Some(key) = self.find_key()? else {
            plan.await_for(Awaited::OwnKey);
            return Ok(());
        };
        if self.lacks_origin_token() {
            let token = AuthToken::derive(&env.entropy, self.peer().as_str());
            let token = SecretBytes::from(token.expose().as_bytes());
            let seal = self.configuration.origin_token_seal(self.peer());
            plan.create(seal.seal([(names::TOKEN.to_owned(), token)].into()));
        }
        if self.recorded(&*key).is_none() {
            let subject = Subject::control_plane(&self.configuration.cluster_id);
            let made = signed(
                || Csr::make_for(self.peer(), &subject, &*key),
                plan,
                || Csr::signature_id(&subject, key.public_key()),
            )?;
            let Some(csr) = made.map(|csr| csr.pem().to_vec()) else {
                return Ok(());
            };
            plan.records.change(|record| record.csr = csr);
        }
        Ok(())
    }

    /// The origin token. With the strict policy, it is a separate token, which is valid
    /// for this peer's cluster ID only. With the compatible policy, it is this
    /// cluster's own token, as in Liqo, since this cluster may run Liqo's server.
    pub(super) fn origin_token(&self) -> Result<Option<AuthToken>, Error> {
        self.parse_token(match self.gives_own_origin_token() {
            true => self.observed.origin_token,
            false => self.observed.own_token,
        })
    }

    /// The peer's token, which an administrator stored.
    pub(super) fn remote_token(&self) -> Result<Option<AuthToken>, Error> {
        self.parse_token(self.observed.remote_token)
    }

    fn parse_token(&self, secret: Option<&Secret>) -> Result<Option<AuthToken>, Error> {
        let token = secret.map(|secret| objects::token_in(secret, self.policy()));
        token.transpose()
    }

    fn gives_own_origin_token(&self) -> bool {
        self.policy().forms == Forms::Canonical
    }

    /// Stores the peer's token, and sets `Pending`, so that the request is sent again.
    pub(super) fn store_remote_token(&self, token: &AuthToken, plan: &mut Plan<'_>) {
        let mut wanted = objects::remote_token(self.configuration.namespace(), self.peer(), token);
        let present = self.observed.remote_token;
        if let Some(present) = present {
            wanted.metadata.name.clone_from(&present.metadata.name);
        }
        if present.is_none_or(|present| present.get(names::TOKEN) != wanted.get(names::TOKEN)) {
            plan.put(present, wanted);
            // The request is sent again, so the kept answer is obsolete.
            plan.records.peer.change(|record| record.kept = None);
        }
        if self.observed.identity.is_none() {
            self.set_status(AuthStatus::Pending, plan);
        }
    }
}
