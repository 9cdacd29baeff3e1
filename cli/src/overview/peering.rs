//! Builds a [`Peering`]. It has the same form on both sides.

use liqo_auth::{
    assurance::peer_version::{self, Ability, Evidence},
    consumer,
    error::{Fault, PolicyRefusal},
    machine::{Awaited, Holder, HolderStatus, Machine, Notice, Refused, Stage, Status},
    model::{ClusterId, ResourceSliceConditionStatus as Decision, names},
    provider,
};

use super::{Certificate, Peering, Renewal, Role, Slice, waiting};
use crate::{
    context::Context,
    failure::Result,
    home::Home,
    peering::{
        consumer_side::ConsumerSide,
        driver::{Driver, PeerRole},
        provider_side::ProviderSide,
    },
};

/// A peering in which this home is the provider.
pub(super) fn with_consumer(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Peering> {
    let side = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let evidence = peer_version::of_consumer(&side.view()).ok();
    let shown = peering(&side)?;
    // Most peerings have a certificate, and need no second look.
    let is_tolerated =
        shown.certificate.is_none() && matches!(side.status()?.phase, provider::Phase::Tolerated);
    Ok(Peering {
        is_tolerated,
        reads_only_ed25519: reads_only_ed25519(evidence.as_ref()),
        peer_version: evidence.filter(|evidence| !evidence.observations.is_empty()),
        ..shown
    })
}

/// A peering in which this home is the consumer.
pub(super) fn with_provider(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Peering> {
    let side = ConsumerSide::new(home, peer, &context.policy, context.clock)?;
    let evidence = peer_version::of_provider(&side.view()).ok();
    let mut shown = peering(&side)?;
    if let Some(certificate) = &mut shown.certificate
        // Nobody renews it, so it has no time of its renewal.
        && certificate.renewal == Renewal::Due
        && matches!(side.status()?.phase, consumer::Phase::KubeconfigByHand(_))
    {
        certificate.renewal = Renewal::ByHand;
    }
    Ok(Peering {
        reads_only_ed25519: reads_only_ed25519(evidence.as_ref()),
        peer_version: evidence.filter(|evidence| !evidence.observations.is_empty()),
        ..shown
    })
}

fn reads_only_ed25519(evidence: Option<&Evidence>) -> bool {
    evidence.is_some_and(|evidence| evidence.can(Ability::ReadPemKeys) == Some(false))
}

/// The part of a peering that is the same on both sides. All of it is the library's: an object
/// may say what its peer has written.
fn peering<M: Machine + PeerRole>(side: &Driver<'_, M>) -> Result<Peering> {
    let role = M::PEER_IS;
    let now = side.clock.now()?;
    let status = side.machine.look(&side.view(), now);
    let status = status.map_err(|error| side.failure(&error))?;
    let slices = status.slices.iter();
    let slices = slices.filter_map(|slice| shown_slice(slice, &status, role, side.home));
    Ok(Peering {
        peer: side.peer.to_string(),
        role,
        phase: status.control_plane.phase,
        is_refused: status.control_plane.stage == Stage::Refused,
        is_tolerated: false,
        condition: status.condition,
        condition_held: status.is_condition_held,
        nonce_until: status.nonce_until,
        peer_version: None,
        certificate: certificate(&status.control_plane, &status, role, side.home),
        slices: slices.collect(),
        waits_for: waiting::waits_for(&status, role, side.home),
        refused: waiting::refusals(&status, role, side.home),
        reads_only_ed25519: false,
        is_carried_by_hand: status.notices.contains(&Notice::RenewalNotCarried),
        failure: None,
    })
}

fn certificate(
    holder: &HolderStatus,
    status: &Status,
    role: Role,
    home: &Home,
) -> Option<Certificate> {
    let renewal = renewal(holder, status);
    let refused = holder
        .refused
        .as_ref()
        .filter(|_| renewal == Renewal::Cannot);
    let refused = refused.map(|error| Refused {
        object: error.at().object.clone(),
        error: error.clone(),
    });
    Some(Certificate {
        refused: refused.map(|it| Box::new(waiting::refusal(it, &status.peer, role, home))),
        ..Certificate::new(holder.certificate.as_ref()?, renewal)
    })
}

/// The overview of a slice.
fn shown_slice(slice: &HolderStatus, status: &Status, role: Role, home: &Home) -> Option<Slice> {
    let Holder::Slice(name) = &slice.holder else {
        return None;
    };
    let decisions = [slice.authentication, slice.resources];
    let [authentication, resources] =
        decisions.map(|said| said.map_or_else(String::new, |said| format!("{said:?}")));
    // Nobody needs to renew what is being revoked.
    let is_needed = slice.stage != Stage::Ending;
    Some(Slice {
        name: name.clone(),
        phase: slice.phase,
        authentication,
        resources,
        cordoned: slice.cordoned == Some(true),
        denied: decisions.contains(&Some(Decision::Denied)),
        certificate: certificate(slice, status, role, home).filter(|_| is_needed),
    })
}

fn renewal(holder: &HolderStatus, status: &Status) -> Renewal {
    let name = match &holder.holder {
        Holder::ControlPlane => names::identity_name(&status.peer),
        Holder::Slice(slice) => names::resource_slice_identity_name(slice),
    };
    // If something is due, the certificate may not have been requested yet.
    let mut awaits = status.awaits.iter();
    let is_awaited = !status.is_due
        && awaits
            .any(|awaited| matches!(awaited, Awaited::Renewal(identity) if identity.name == name));
    match (holder.valid_until, holder.renewal_due_at, &holder.refused) {
        (None, ..) => Renewal::None,
        (Some(_), Some(due), _) => Renewal::NotBefore(due),
        // The next certificate takes the place of one that lets nobody in.
        (Some(_), None, Some(error))
            if matches!(
                error.fault(),
                Fault::Policy(PolicyRefusal::CertificateNotTrusted)
            ) =>
        {
            Renewal::Due
        }
        (Some(_), None, Some(_)) => Renewal::Cannot,
        (Some(_), None, None) if is_awaited => Renewal::Awaited,
        (Some(_), None, None) => Renewal::Due,
    }
}
