//! Taking a Tenant: what it claims, and that its key signed a nonce of ours.

use super::{key_succession, nonce};
use crate::{
    admission::{self, tenant::Surroundings},
    crypto::{Answer, Nonce},
    error::{Backend, Error, PolicyRefusal, shortened},
    machine::{Effect, Part, Step, View},
    model::{ClusterId, Resource, Tenant, Timestamp},
    provider::{Claimant, PrincipalName, Provider, name_taken, observed::Seen},
    verify::{self, Known, VerifiedTenant},
};

impl Provider {
    /// Takes a Tenant as the peer sent it.
    pub(in crate::provider) fn receive_tenant(
        &self,
        view: &View<'_>,
        received: &Tenant,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let seen = Seen::select(self, view)?;
        seen.check_readable()?;
        let verified = self.verify_claim(&seen, view, received, now)?;
        self.verify_signature(&seen, view, received, &verified, now)?;
        let Some(stored) = seen.tenant else {
            let namespace = &received.metadata.namespace;
            if !namespace.is_empty() && *namespace != seen.namespace_name() {
                return Err(Error::new(
                    PolicyRefusal::UnexpectedNamespace {
                        expected: seen.namespace_name(),
                        found: shortened(namespace),
                    },
                    Some(received.id()),
                    "metadata.namespace",
                ));
            }
            let mut tenant = verify::without_status(received, &seen.peer, seen.namespace_name());
            key_succession::carry(received, &mut tenant);
            admit(view, &seen, None, &tenant)?;
            return Ok(Step {
                effects: vec![Effect::Create(tenant.into())],
                ..Step::default()
            });
        };
        // Condition and policy are this side's to set: what is there stays.
        let mut tenant = stored.clone();
        tenant.spec.public_key = received.spec.public_key.clone();
        tenant.spec.csr = received.spec.csr.clone();
        tenant.spec.signature = received.spec.signature.clone();
        tenant.spec.proxy_url = received.spec.proxy_url.clone();
        key_succession::carry(received, &mut tenant);
        // One that lies elsewhere was put there by somebody's `kubectl apply`.
        if stored.metadata.namespace == seen.namespace_name() {
            admit(view, &seen, Some(stored), &tenant)?;
        }
        Ok(Step {
            effects: Effect::patch(stored, tenant, Part::Main)
                .into_iter()
                .collect(),
            ..Step::default()
        })
    }

    /// What the Tenant claims, without the nonce: names, key, request; and that
    /// the key is the one pinned, or follows it by its word.
    pub(in crate::provider) fn verify_claim(
        &self,
        seen: &Seen<'_>,
        view: &View<'_>,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Result<VerifiedTenant, Error> {
        let known = seen.record.as_ref().and_then(|(_, record)| {
            Some(Known {
                public_key: record.public_key.as_ref()?,
                csr: record.proof.as_ref().map(|proof| &proof.csr),
            })
        });
        let claim = verify::claim(tenant, &seen.peer, known, self.policy(&seen.peer));
        match claim {
            Err(error) if key_succession::is_other_key(&error) => {
                self.claim_by_succession(seen, view, tenant, now, error)
            }
            claim => claim,
        }
    }

    /// That the claim's key signed a nonce that is ours, unexpired and unused,
    /// and that its name is free.
    pub(in crate::provider) fn verify_handshake(
        &self,
        seen: &Seen<'_>,
        view: &View<'_>,
        tenant: &Tenant,
        verified: &VerifiedTenant,
        now: Timestamp,
    ) -> Result<Nonce, Error> {
        let nonce = nonce::present(self, seen, view, now)?.into_usable(seen)?;
        verify::nonce_signature(tenant, verified, &nonce, self.policy(&seen.peer))?;
        if !seen.is_known() {
            self.check_principals(&seen.peer, tenant)?;
        }
        Ok(nonce)
    }

    /// That the received Tenant's signature is over a nonce of ours: the one on
    /// record for the same key and request, or the one that is there.
    fn verify_signature(
        &self,
        seen: &Seen<'_>,
        view: &View<'_>,
        received: &Tenant,
        verified: &VerifiedTenant,
        now: Timestamp,
    ) -> Result<(), Error> {
        let proof = seen
            .tenant
            .and_then(|stored| seen.proof(verified, &stored.metadata.uid));
        let Some(proof) = proof else {
            return self
                .verify_handshake(seen, view, received, verified, now)
                .map(drop);
        };
        let policy = self.policy(&seen.peer);
        verify::nonce_signature(received, verified, &proof.nonce, policy).or_else(|mismatch| {
            self.verify_handshake(seen, view, received, verified, now)
                .map(drop)
                .map_err(|_| mismatch)
        })
    }

    pub(in crate::provider) fn check_principals(
        &self,
        peer: &ClusterId,
        tenant: &Tenant,
    ) -> Result<(), Error> {
        for name in [
            PrincipalName::user(peer.as_str()),
            PrincipalName::group(peer.as_str()),
        ] {
            let claimant = Claimant::ControlPlane(peer);
            let taken = self.0.principals.is_taken(&name, claimant);
            let taken = taken.map_err(|error| Error::backend(Backend::Principals, error))?;
            if taken != Answer::Ready(false) {
                return Err(name_taken(peer, Some(tenant.id())));
            }
        }
        Ok(())
    }
}

/// What an API server with Liqo would not admit is not made.
fn admit(
    view: &View<'_>,
    seen: &Seen<'_>,
    stored: Option<&Tenant>,
    tenant: &Tenant,
) -> Result<(), Error> {
    let tenants: Vec<&Tenant> = view.readable().collect();
    let surroundings = Surroundings {
        namespace: seen.namespace,
        tenants: &tenants,
    };
    let verdict = match stored {
        None => admission::tenant::create(tenant, &surroundings),
        Some(stored) => admission::tenant::update(stored, tenant, &surroundings),
    };
    verdict.into_result().map_err(|denial| {
        let field = denial.field;
        Error::new(PolicyRefusal::NotAdmitted(denial), Some(tenant.id()), field)
    })
}
