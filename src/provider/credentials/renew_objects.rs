//! Answering the peer's Renew objects: the way by which a renewed certificate
//! reaches an unmodified consumer.
//!
//! From Liqo 1.2 a Renew asks for nothing, and carries back what the provider
//! renewed by itself. Up to 1.1 it is a request with a CSR. Both get the
//! certificate on record: this side measures by itself when a new one is due,
//! and the same key and subject are in it whoever asks.

use crate::{
    crypto::{Csr, PublicKey, Subject},
    error::{Error, LocalFault, PeerMisbehaved},
    machine::{Effect, Notice, Part, Refused, Step},
    model::{IdentityType, Renew, Resource, names},
    provider::{Issued, Provider, SlicePeering, observed::Observed},
    verify,
};

/// How a renewed certificate reaches the consumer, by what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenewalScheme {
    /// There is no Renew of the control plane's: someone carries the Identity.
    ByHand,
    /// The consumer waits for what the provider renews by itself: Liqo 1.2.
    Channel,
    /// The consumer asks for each renewal: Liqo 1.0 and 1.1.
    Request,
}

impl RenewalScheme {
    pub(in crate::provider) fn of(provider: &Provider, observed: &Observed<'_>) -> Self {
        let name = names::identity_name(provider.cluster_id());
        let renew = observed
            .renews
            .iter()
            .find(|renew| renew.metadata.name == name);
        match renew {
            None => Self::ByHand,
            Some(renew) if renew.spec.csr.is_empty() => Self::Channel,
            Some(_) => Self::Request,
        }
    }
}

impl Issued<'_> {
    /// Gives each Renew its answer: the control plane's certificate, or that of
    /// one of the peer's slices. A bad one is refused, and holds up no other.
    pub fn answer_renews(&self, slices: &[SlicePeering<'_>]) -> Step {
        let observed = &self.granted.observed;
        let mut step = Step::default();
        for renew in &observed.renews {
            match self.answer(renew, slices) {
                Ok(effect) => step.effects.extend(effect),
                Err(error) => step.refused.push(Refused {
                    object: Some(renew.id()),
                    error,
                }),
            }
        }
        for unreadable in &observed.unreadable_renews {
            let reason = unreadable.reason.to_string();
            let id = Some(unreadable.id.clone());
            step.refused.push(Refused {
                object: id.clone(),
                error: Error::new(LocalFault::Unreadable { reason }, id, ""),
            });
        }
        let is_renewed = self.certificate().is_some()
            && observed.issued().is_some_and(|issued| issued.is_renewed());
        let scheme = RenewalScheme::of(&self.granted.provider, observed);
        if is_renewed && scheme == RenewalScheme::ByHand {
            step.notices.push(Notice::RenewalNotCarried);
        }
        step
    }

    fn answer(&self, renew: &Renew, slices: &[SlicePeering<'_>]) -> Result<Option<Effect>, Error> {
        let auth_params = match renew.spec.identity_type {
            IdentityType::ControlPlane => {
                let identity = names::identity_name(self.granted.provider.cluster_id());
                self.verify(renew, &identity, || Subject::control_plane(self.peer()))?;
                self.granted.tenant.status.auth_params.clone()
            }
            IdentityType::ResourceSlice => {
                let reference = renew.spec.resource_slice_ref.as_ref();
                let slice = reference.map_or("", |slice| slice.name.as_str());
                let identity = names::resource_slice_identity_name(slice);
                self.verify(renew, &identity, || {
                    Subject::resource_slice(slice, self.peer())
                })?;
                let slice = slices.iter().find(|peering| peering.name() == slice);
                slice.and_then(SlicePeering::auth_params)
            }
        };
        let Some(auth_params) = auth_params else {
            return Ok(None);
        };
        let mut answered = renew.clone();
        answered.status.auth_params = Some(auth_params);
        Ok(Effect::patch(renew, answered, Part::Status))
    }

    /// The checks of the first time: the names, the pinned key, the one request
    /// that subject and key allow.
    fn verify(
        &self,
        renew: &Renew,
        identity: &str,
        subject: impl Fn() -> Subject,
    ) -> Result<(), Error> {
        let id = renew.id();
        verify::check_name(&renew.metadata.name, identity, &id, "metadata.name")?;
        verify::check_name(
            &renew.spec.consumer_cluster_id,
            self.peer().as_str(),
            &id,
            "spec.consumerClusterID",
        )?;
        let policy = self.granted.provider.policy(self.peer());
        let pinned = self.public_key();
        let key = renew.spec.public_key.as_slice();
        if !key.is_empty() && !is_said_by(key, pinned) {
            let at = |fault| Error::new(fault, Some(id.clone()), "spec.publicKey");
            let found = PublicKey::from_tenant_field(key, policy)
                .map_err(|error| at(PeerMisbehaved::PublicKey(error)))?;
            if found != *pinned {
                return Err(at(PeerMisbehaved::KeyChanged {
                    pinned: pinned.fingerprint().to_string(),
                    found: found.fingerprint().to_string(),
                }));
            }
        }
        let pem = renew.spec.csr.as_slice();
        let proven = self.granted.verified.csr().digest();
        let is_proven = renew.spec.identity_type == IdentityType::ControlPlane
            && Csr::recognize(pem, &proven, policy).is_some();
        if !pem.is_empty() && !is_proven {
            let verified = Csr::verify(pem, &subject(), pinned, policy);
            verified
                .or_else(|error| match renew.spec.identity_type {
                    // Liqo before 1.1 puts the provider's ID into the subject.
                    // Nothing of the request is signed, so that it may.
                    IdentityType::ControlPlane => {
                        let provider = self.granted.provider.cluster_id();
                        Csr::verify(pem, &Subject::control_plane(provider), pinned, policy)
                            .map_err(|_| error)
                    }
                    IdentityType::ResourceSlice => Err(error),
                })
                .map_err(|error| Error::new(PeerMisbehaved::Csr(error), Some(id), "spec.csr"))?;
        }
        Ok(())
    }
}

/// Liqo 1.0.0 writes an Ed25519 key raw, 1.0.2 to 1.1 write any key in DER.
fn is_said_by(field: &[u8], key: &PublicKey) -> bool {
    field == key.to_tenant_field() || field == key.spki_der() || field == key.to_pem().as_bytes()
}
