//! Taking a Tenant: what it claims, and that its key signed a nonce of ours.

use super::{key_succession, nonce};
use crate::{
    admission::{self, tenant::Surroundings},
    crypto::{Answer, Nonce},
    error::{Backend, Error, PolicyRefusal, shortened},
    machine::Awaited,
    model::{Resource, Tenant},
    provider::{
        configuration::name_taken,
        look::Look,
        principals::{Claimant, PrincipalName},
        record::Plan,
    },
    verify::{self, Known, VerifiedTenant},
};

/// What stands before a handshake that is verified.
pub(in crate::provider) enum Handshake {
    /// The nonce that the Tenant's key signed.
    Verified(Nonce),
    /// The look-up of names has not answered yet.
    AwaitsNames,
}

impl Look<'_> {
    /// Takes a Tenant as the peer sent it.
    pub(in crate::provider) fn receive_tenant(
        &self,
        received: &Tenant,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let observed = self.observed;
        observed.check_readable()?;
        let verified = self.verify_claim(received)?;
        if self.verify_signature(received, &verified)? == Names::Awaited {
            plan.await_for(Awaited::Names);
            return Ok(());
        }
        let Some(stored) = observed.tenant else {
            let namespace = &received.metadata.namespace;
            if !namespace.is_empty() && *namespace != observed.namespace_name() {
                let refusal = PolicyRefusal::UnexpectedNamespace {
                    expected: observed.namespace_name(),
                    found: shortened(namespace),
                };
                let id = Some(received.id());
                return Err(Error::new(refusal, id, "metadata.namespace"));
            }
            let mut tenant =
                verify::without_status(received, self.peer(), observed.namespace_name());
            key_succession::carry(received, &mut tenant);
            self.admit(None, &tenant)?;
            plan.create(tenant);
            return Ok(());
        };
        // Condition and policy are this side's to set: what is there stays.
        let mut tenant = stored.clone();
        tenant.spec.public_key = received.spec.public_key.clone();
        tenant.spec.csr = received.spec.csr.clone();
        tenant.spec.signature = received.spec.signature.clone();
        tenant.spec.proxy_url = received.spec.proxy_url.clone();
        key_succession::carry(received, &mut tenant);
        // One that lies elsewhere was put there by somebody's `kubectl apply`.
        if stored.metadata.namespace == observed.namespace_name() {
            self.admit(Some(stored), &tenant)?;
        }
        plan.edit(stored, |stored| *stored = tenant);
        Ok(())
    }

    /// What the Tenant claims, without the nonce: names, key, request; and that
    /// the key is the one pinned, or follows it by its word.
    pub(in crate::provider) fn verify_claim(
        &self,
        tenant: &Tenant,
    ) -> Result<VerifiedTenant, Error> {
        let known = self.observed.record().and_then(|record| {
            Some(Known {
                public_key: record.public_key.as_ref()?,
                csr: record.proof.as_ref().map(|proof| &proof.csr),
            })
        });
        match verify::claim(tenant, self.peer(), known, self.policy()) {
            Err(error) if key_succession::is_other_key(&error) => {
                self.claim_by_succession(tenant, error)
            }
            claim => claim,
        }
    }

    /// That the claim's key signed a nonce that is ours, unexpired and unused,
    /// and that its name is free.
    pub(in crate::provider) fn verify_handshake(
        &self,
        tenant: &Tenant,
        verified: &VerifiedTenant,
    ) -> Result<Handshake, Error> {
        let nonce = nonce::present(self).into_usable(self)?;
        verify::nonce_signature(tenant, verified, &nonce, self.policy())?;
        if !self.observed.is_known() && self.check_names(tenant)? == Names::Awaited {
            return Ok(Handshake::AwaitsNames);
        }
        Ok(Handshake::Verified(nonce))
    }

    /// That the received Tenant's signature is over a nonce of ours: the one on
    /// record for the same key and request, or the one that is there.
    fn verify_signature(
        &self,
        received: &Tenant,
        verified: &VerifiedTenant,
    ) -> Result<Names, Error> {
        let handshake = || match self.verify_handshake(received, verified)? {
            Handshake::Verified(_) => Ok(Names::Free),
            Handshake::AwaitsNames => Ok(Names::Awaited),
        };
        let stored = self.observed.tenant;
        let proof = stored.and_then(|stored| self.observed.proof(verified, &stored.metadata.uid));
        let Some(proof) = proof else {
            return handshake();
        };
        match verify::nonce_signature(received, verified, &proof.nonce, self.policy()) {
            Ok(()) => Ok(Names::Free),
            Err(mismatch) => handshake().map_err(|_: Error| mismatch),
        }
    }

    /// That the peer's name is no principal's (rule 7).
    pub(in crate::provider) fn check_names(&self, tenant: &Tenant) -> Result<Names, Error> {
        let peer = self.peer();
        for name in [
            PrincipalName::user(peer.as_str()),
            PrincipalName::group(peer.as_str()),
        ] {
            let principals = &self.configuration.principals;
            let taken = principals.is_taken(&name, Claimant::ControlPlane(peer));
            match taken.map_err(|error| Error::backend(Backend::Principals, error))? {
                Answer::Ready(false) => {}
                Answer::Pending => return Ok(Names::Awaited),
                Answer::Ready(true) | Answer::Denied(_) => {
                    return Err(name_taken(peer, Some(tenant.id())));
                }
            }
        }
        Ok(Names::Free)
    }

    /// What an API server with Liqo would not admit is not made.
    fn admit(&self, stored: Option<&Tenant>, tenant: &Tenant) -> Result<(), Error> {
        let tenants: Vec<&Tenant> = self.view.readable().collect();
        let surroundings = Surroundings {
            namespace: self.observed.namespace,
            tenants: &tenants,
        };
        let verdict = match stored {
            None => admission::tenant::create(tenant, &surroundings),
            Some(stored) => admission::tenant::update(stored, tenant, &surroundings),
        };
        verdict.map_err(|denial| {
            let field = denial.field;
            Error::new(PolicyRefusal::NotAdmitted(denial), Some(tenant.id()), field)
        })
    }
}

/// Whether names are free, as far as the look-up knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum Names {
    Free,
    Awaited,
}
