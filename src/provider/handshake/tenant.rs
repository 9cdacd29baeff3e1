//! Verifies a Tenant: its claim, and its key's signature over a nonce of this
//! provider.

use super::{adoption, key_succession, nonce, proof::end_proof};
use crate::{
    admission::{self, tenant::Surroundings},
    crypto::{Algorithm, Fingerprint, KeyError, Nonce, PublicKey},
    error::{Error, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    machine::Awaited,
    model::{Resource, Tenant},
    provider::{
        configuration::name_taken,
        look::Look,
        principals::are_free_for,
        record::{Proof, Record, TestedKey},
        records::Plan,
    },
    verify::{self, Claimed, Known, VerifiedTenant},
};

/// What a Tenant's signature proves.
pub(crate) enum Proven<'a> {
    /// It is over the nonce of this recorded proof.
    Recorded(&'a Proof),
    /// It is over this usable nonce.
    By(Nonce),
    /// It is over a usable nonce, and the look-up of names has not answered yet.
    AwaitsNames,
}

impl<'a> Look<'a> {
    /// Verifies a Tenant that the peer sent, and adds it to the plan.
    pub(crate) fn receive_tenant(
        &self,
        received: &Tenant,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let observed = self.observed;
        observed.check_readable()?;
        let verified = self.verify_claim(received)?;
        // Until it is stored, a Tenant has no UID.
        let uid = observed.tenant.map(|stored| stored.metadata.uid.as_str());
        let proven = self.prove(received, uid.unwrap_or_default(), &verified, None)?;
        if let Proven::AwaitsNames = proven {
            plan.await_for(Awaited::Names);
            return Ok(());
        }
        let Some(stored) = observed.tenant else {
            let (found, expected) = (&received.metadata.namespace, observed.namespace_name());
            if !found.is_empty() && *found != expected {
                return Err(Error::unexpected_namespace(received.id(), expected, found));
            }
            let mut tenant =
                verify::without_status(received, self.peer(), observed.namespace_name());
            key_succession::copy_succession(received, &mut tenant);
            self.admit(None, &tenant)?;
            end_proof(self, plan);
            plan.create(tenant);
            return Ok(());
        };
        // Only this side sets the condition and the policy, so the stored values
        // stay.
        let mut tenant = stored.clone();
        tenant.spec.public_key = received.spec.public_key.clone();
        tenant.spec.csr = received.spec.csr.clone();
        tenant.spec.signature = received.spec.signature.clone();
        tenant.spec.proxy_url = received.spec.proxy_url.clone();
        key_succession::copy_succession(received, &mut tenant);
        // A Tenant in another namespace was created by `kubectl apply`. The
        // admission rules require the tenant namespace, so they are not checked for
        // this Tenant.
        if stored.metadata.namespace == observed.namespace_name() {
            self.admit(Some(stored), &tenant)?;
        }
        plan.edit(stored, |stored| *stored = tenant);
        Ok(())
    }

    /// Checks the form of the Tenant. If no key is pinned, also checks that the
    /// present nonce is usable. Without a usable nonce, the Tenant's key cannot be
    /// proven and is not verified. So a Tenant that stays refused does not cause costly
    /// arithmetic. Returns the usable nonce, unless a key is pinned.
    pub(crate) fn check_provable(&self, tenant: &Tenant) -> Result<Option<Nonce>, Error> {
        verify::tenant_form(tenant, self.claimed(tenant), self.policy())?;
        let record = self.observed.record();
        if record.is_some_and(|record| record.public_key.is_some()) {
            return Ok(None);
        }
        self.usable_nonce(tenant).map(Some)
    }

    /// The nonce that the Tenant's key must have signed: the present one, or that of a
    /// running peering of Liqo.
    fn usable_nonce(&self, tenant: &Tenant) -> Result<Nonce, Error> {
        match adoption::adopted_nonce(self, tenant) {
            Some(nonce) => Ok(nonce),
            None => nonce::present(self).into_usable(self),
        }
    }

    /// Verifies the Tenant's claim (names, key, request) without the nonce. The key
    /// must be the pinned one, or a successor that the pinned key signed.
    pub(crate) fn verify_claim(&self, tenant: &Tenant) -> Result<VerifiedTenant, Error> {
        let tested = self.tested_key(tenant)?;
        let record = self.observed.record();
        let pinned = record.and_then(|record| record.public_key.as_ref());
        let known = pinned.or(tested.as_ref()).map(|public_key| Known {
            public_key,
            csr: record.and_then(|record| Some(&record.proof.as_ref()?.csr)),
        });
        match verify::claim(tenant, self.claimed(tenant), known, self.policy()) {
            Err(error) if key_succession::is_other_key(&error) => {
                self.claim_by_succession(tenant, error)
            }
            claim => claim,
        }
    }

    /// The names that a Tenant has to have. The peer's own Tenant may have any name: it was
    /// found by its label, or it is on record.
    pub(crate) fn claimed<'t>(&self, tenant: &'t Tenant) -> Claimed<'t>
    where
        'a: 't,
    {
        let claimed = Claimed::by(self.peer());
        match self.observed.tenant {
            Some(own) if own.metadata.is_of(&tenant.metadata) => Claimed {
                name: &tenant.metadata.name,
                gets_label: self.gets_label(own),
                ..claimed
            },
            _ => claimed,
        }
    }

    /// The Tenant's key, if its modulus was tested and the result is recorded.
    fn tested_key(&self, tenant: &Tenant) -> Result<Option<PublicKey>, Error> {
        let unpinned = |record: &&Record| record.public_key.is_none();
        let record = self.observed.record().filter(unpinned);
        let field = tenant.spec.public_key.as_slice();
        let (Some(tested), Ok(claimed)) = (
            record.and_then(|record| record.tested_key),
            PublicKey::claimed_spki_der(field, self.policy()),
        ) else {
            return Ok(None);
        };
        if tested.key != Fingerprint::of(&claimed) {
            return Ok(None);
        }
        if !tested.is_composite {
            let fault = PeerMisbehaved::PublicKey(KeyError::RsaModulusPrime);
            return Err(Error::new(fault, Some(tenant.id()), "spec.publicKey"));
        }
        Ok(PublicKey::from_known_spki_der(&claimed, self.policy()).ok())
    }

    /// Records whether the modulus of a refused Tenant's RSA key is composite, so
    /// that later steps need not test it again. If the peer has no record, each step
    /// tests it.
    pub(crate) fn remember_key_test(&self, tenant: &Tenant, plan: &mut Plan<'_>) {
        let policy = self.policy();
        let field = tenant.spec.public_key.as_slice();
        let unpinned = |record: &&Record| record.public_key.is_none();
        let (Some(record), Ok(claimed), Ok(_)) = (
            self.observed.record().filter(unpinned),
            PublicKey::claimed_spki_der(field, policy),
            self.check_provable(tenant),
        ) else {
            return;
        };
        let key = Fingerprint::of(&claimed);
        if record.tested_key.is_some_and(|tested| tested.key == key) {
            return;
        }
        let is_composite = match PublicKey::from_spki_der(&claimed, policy) {
            Ok(read) => {
                // The tests of the other algorithms are fast.
                if !matches!(read.algorithm(), Algorithm::Rsa { .. }) || read.spki_der() != claimed
                {
                    return;
                }
                true
            }
            Err(KeyError::RsaModulusPrime) => false,
            Err(_) => return,
        };
        let tested = TestedKey { key, is_composite };
        let peer = &mut plan.records.peer;
        peer.change(|record| record.tested_key = Some(tested));
    }

    /// Verifies that the claim's key signed a nonce of this provider, that the
    /// nonce is neither expired nor used, and that the peer's name is free. `usable`
    /// is the present nonce, if it was checked before. Returns the nonce; `None` while
    /// the look-up of names has not answered.
    fn verify_handshake(
        &self,
        tenant: &Tenant,
        verified: &VerifiedTenant,
        usable: Option<Nonce>,
    ) -> Result<Option<Nonce>, Error> {
        let nonce = match usable {
            Some(nonce) => nonce,
            None => self.usable_nonce(tenant)?,
        };
        verify::nonce_signature(tenant, verified, &nonce, self.policy())?;
        self.check_serves(&nonce, tenant, verified)?;
        let is_free = self.observed.is_known() || self.name_is_free(tenant)?;
        Ok(is_free.then_some(nonce))
    }

    /// Checks that a nonce which serves again serves the pinned key, in a Tenant that is not
    /// the one whose peering has ended (rule 4).
    fn check_serves(
        &self,
        nonce: &Nonce,
        tenant: &Tenant,
        verified: &VerifiedTenant,
    ) -> Result<(), Error> {
        let Some(record) = self
            .observed
            .record()
            .filter(|record| record.has_used(nonce))
        else {
            return Ok(());
        };
        let serves = record.again.as_ref().is_some_and(|again| {
            again.is(nonce)
                && again.tenant_uid != tenant.metadata.uid
                && record.public_key.as_ref() == Some(&verified.public_key)
        });
        match serves {
            true => Ok(()),
            false => {
                let fault = PeerIncompatible::NonceUsed;
                Err(Error::new(fault, Some(tenant.id()), "spec.signature"))
            }
        }
    }

    /// Verifies that the Tenant's signature is over the nonce of its recorded proof, or
    /// over a usable nonce. The recorded signature itself does not need arithmetic. `uid` is the
    /// UID of the stored Tenant, and `usable` the present nonce, if it was checked before.
    pub(crate) fn prove(
        &self,
        tenant: &Tenant,
        uid: &str,
        verified: &VerifiedTenant,
        usable: Option<Nonce>,
    ) -> Result<Proven<'_>, Error> {
        let proof = self.observed.proof(verified, uid);
        let recorded = proof.map(|proof| match proof.has_signature_of(tenant) {
            true => Ok(proof),
            // Another ECDSA signature, or a record of an earlier version.
            false => verify::nonce_signature(tenant, verified, &proof.nonce, self.policy())
                .map(|()| proof),
        });
        let mismatch = match recorded {
            Some(Ok(proof)) => return Ok(Proven::Recorded(proof)),
            Some(Err(mismatch)) => Some(mismatch),
            None => None,
        };
        match self.verify_handshake(tenant, verified, usable) {
            Ok(Some(nonce)) => Ok(Proven::By(nonce)),
            Ok(None) => Ok(Proven::AwaitsNames),
            Err(error) => Err(mismatch.unwrap_or(error)),
        }
    }

    /// Checks that the peer's name is neither a user nor a group yet (rule 7).
    /// Returns `false` while the look-up of names has not answered.
    pub(crate) fn name_is_free(&self, tenant: &Tenant) -> Result<bool, Error> {
        match are_free_for(&self.configuration.principals, self.peer())? {
            Some(false) => Err(name_taken(self.peer(), Some(tenant.id()))),
            answer => Ok(answer.is_some()),
        }
    }

    /// Refuses a Tenant that an API server with Liqo would not admit.
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
            Error::found_in(tenant, field, PolicyRefusal::NotAdmitted(denial))
        })
    }
}

#[cfg(test)]
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
mod tests;
