//! Answers the peer's Renew objects, which carry a renewed certificate to an
//! unmodified consumer.
//!
//! Since Liqo 1.2, a Renew does not contain a request: the provider renews by itself and
//! writes the certificate to the Renew. Up to Liqo 1.1, a Renew contains a
//! certificate request. In both cases, the provider writes the recorded certificate
//! to the Renew: this side alone decides when a renewal is due, and the renewed
//! certificate always has the same key and subject.

use crate::{
    assurance::peer_version::{self, Ability},
    crypto::{Csr, Subject},
    error::Error,
    machine::{Holder, Notice},
    model::{AuthParams, IdentityType, Renew, Resource, Tenant, names},
    provider::{configuration::Configuration, look::Look, observed::Observed, records::Plan},
    verify::{self, VerifiedTenant},
};

/// How a renewed certificate reaches the consumer. The consumer's Renew shows the
/// channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenewalChannel {
    /// The consumer has no Renew for the control plane, so a person must carry the
    /// Identity to the consumer.
    ByHand,
    /// The consumer has a Renew without a request, and waits for the certificates
    /// that the provider renews by itself: Liqo 1.2 and later.
    Permanent,
    /// The consumer asks for each renewal: Liqo 1.0 and 1.1.
    Request,
}

impl RenewalChannel {
    pub(crate) fn of(configuration: &Configuration, observed: &Observed<'_>) -> Self {
        let name = names::identity_name(configuration.cluster_id());
        let mut renews = observed.renews.iter();
        match renews.find(|renew| renew.metadata.name == name) {
            None => Self::ByHand,
            Some(renew) => match peer_version::of_renew(renew).can(Ability::RenewByChannel) {
                Some(true) => Self::Permanent,
                _ => Self::Request,
            },
        }
    }
}

/// Answers each Renew with the parameters of the control plane or of one of the
/// peer's slices. `slice` returns the parameters of a slice with this name. A bad
/// Renew is refused, and does not block the others.
pub(crate) fn answer_renews(
    look: &Look<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
    slice: &dyn Fn(&str) -> Option<AuthParams>,
    plan: &mut Plan<'_>,
) {
    for renew in &look.observed.renews {
        let holder = holder_of(renew);
        if let Err(error) = check(renew, &holder, look, verified) {
            plan.refuse_at(renew.id(), error);
            continue;
        }
        let auth_params = match &holder {
            Holder::ControlPlane => tenant.status.auth_params.clone(),
            Holder::Slice(name) => slice(name),
        };
        if let Some(auth_params) = auth_params {
            plan.edit(*renew, |renew| renew.status.auth_params = Some(auth_params));
        }
    }
    for unreadable in &look.observed.unreadable_renews {
        plan.refuse(unreadable.error());
    }
    let issued = look.observed.issued();
    let channel = RenewalChannel::of(look.configuration, look.observed);
    let is_renewed = look.configuration.aws.is_none() && issued.is_some_and(|it| it.is_renewed());
    if is_renewed && channel == RenewalChannel::ByHand {
        plan.notify(Notice::RenewalNotCarried);
    }
}

fn holder_of(renew: &Renew) -> Holder {
    match renew.spec.identity_type {
        IdentityType::ControlPlane => Holder::ControlPlane,
        IdentityType::ResourceSlice => {
            let slice = renew.spec.resource_slice_ref.as_ref();
            Holder::Slice(slice.map(|slice| slice.name.clone()).unwrap_or_default())
        }
    }
}

/// Checks a Renew whose request Liqo may sign.
pub(crate) fn check_renew(
    renew: &Renew,
    look: &Look<'_>,
    verified: &VerifiedTenant,
) -> Result<(), Error> {
    let holder = holder_of(renew);
    check(renew, &holder, look, verified)?;
    let pem = renew.spec.csr.as_slice();
    if pem.is_empty() {
        return Ok(());
    }
    let (subject, pinned) = (holder.subject(look.peer()), &verified.public_key);
    let csr = Csr::verify(pem, &subject, pinned, look.policy());
    csr.map(drop)
        .map_err(|error| Error::found_in(renew, "spec.csr", error))
}

/// Repeats the checks of the first request: the names, the pinned key, and the
/// subject and the key of the request.
fn check(
    renew: &Renew,
    holder: &Holder,
    look: &Look<'_>,
    verified: &VerifiedTenant,
) -> Result<(), Error> {
    let identity = holder.identity_name(look.configuration.cluster_id());
    verify::check_name(&renew.metadata.name, &identity, renew, "metadata.name")?;
    let (consumer, peer) = (&renew.spec.consumer_cluster_id, look.peer());
    verify::check_name(consumer, peer.as_str(), renew, "spec.consumerClusterID")?;
    let policy = look.policy();
    let pinned = &verified.public_key;
    let key = renew.spec.public_key.as_slice();
    // Liqo 1.0.2 to 1.1 write the key in DER.
    if !key.is_empty() && key != pinned.spki_der() {
        let at = |fault| Error::found_in(renew, "spec.publicKey", fault);
        verify::pinned_key(key, pinned, policy).map_err(at)?;
    }
    let pem = renew.spec.csr.as_slice();
    let proven = verified.csr.digest();
    let is_proven = renew.spec.identity_type == IdentityType::ControlPlane
        && Csr::recognize(pem, &proven, policy).is_some();
    if !pem.is_empty() && !is_proven {
        let verified = Csr::verify(pem, &holder.subject(look.peer()), pinned, policy);
        verified
            .or_else(|error| match renew.spec.identity_type {
                // Liqo before 1.1 puts the provider's ID into the subject. That
                // is harmless, since this request is never signed.
                IdentityType::ControlPlane => {
                    let provider = look.configuration.cluster_id();
                    Csr::verify(pem, &Subject::control_plane(provider), pinned, policy)
                        .map_err(|_| error)
                }
                IdentityType::ResourceSlice => Err(error),
            })
            .map_err(|error| Error::found_in(renew, "spec.csr", error))?;
    }
    Ok(())
}
