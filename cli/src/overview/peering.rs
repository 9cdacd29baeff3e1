//! Builds a [`Peering`]. It has the same form on both sides.

use liqo_auth::{
    assurance::peer_version::{self, Ability, Evidence},
    consumer::Phase,
    crypto::CertificateChain,
    error::{Fault, PolicyRefusal},
    machine::{Awaited, Holder, HolderStatus, Machine, Status},
    model::{
        AuthParams, ClusterId, Identity, ResourceSlice,
        ResourceSliceConditionStatus as ConditionStatus, ResourceSliceConditionType as Condition,
        UserCredential, names,
    },
    policy::Policy,
};

use super::{Certificate, Peering, Renewal, Slice, waiting};
use crate::{
    consumer_side::ConsumerSide,
    context::Context,
    driver::{Driver, PeerRole},
    failure::Result,
    home::Home,
    provider_side::{ProviderSide, tenant_in},
};

/// A peering in which this home is the provider.
pub(super) fn with_consumer(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Peering> {
    let side = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let tenant = tenant_in(&side.view());
    let given = |holder: &Holder| match holder {
        Holder::ControlPlane => tenant?.status.auth_params.as_ref(),
        Holder::Slice(name) => slice_of(side.home, peer, name)?.status.auth_params.as_ref(),
    };
    let evidence = peer_version::of_consumer(&side.view()).ok();
    Ok(Peering {
        reads_only_ed25519: reads_only_ed25519(evidence.as_ref()),
        peer_version: evidence.filter(|evidence| !evidence.observations.is_empty()),
        ..peering(&side, &given)?
    })
}

/// A peering in which this home is the consumer.
pub(super) fn with_provider(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Peering> {
    let side = ConsumerSide::new(home, peer, &context.policy, context.clock)?;
    let given = |holder: &Holder| {
        let name = match holder {
            Holder::ControlPlane => names::identity_name(peer),
            Holder::Slice(slice) => names::resource_slice_identity_name(slice),
        };
        let identity = side.home.all::<Identity>().find(|identity| {
            let label = identity.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
            identity.metadata.name == name && label.map(String::as_str) == Some(peer.as_str())
        });
        Some(&identity?.spec.auth_params)
    };
    let evidence = peer_version::of_provider(&side.view()).ok();
    let shown = peering(&side, &given)?;
    let certificate = match shown.certificate {
        None => certificate_by_hand(&side)?,
        of_identity => of_identity,
    };
    Ok(Peering {
        reads_only_ed25519: reads_only_ed25519(evidence.as_ref()),
        peer_version: evidence.filter(|evidence| !evidence.observations.is_empty()),
        certificate,
        ..shown
    })
}

/// The certificate in a kubeconfig that an administrator has made.
fn certificate_by_hand(side: &ConsumerSide<'_>) -> Result<Option<Certificate>> {
    let Phase::KubeconfigByHand(made) = side.status()?.phase else {
        return Ok(None);
    };
    let UserCredential::KeyData { certificate, .. } = made.kubeconfig.credential else {
        return Ok(None);
    };
    let chain = CertificateChain::from_pem(certificate.as_slice(), &Policy::compatible());
    Ok(chain
        .ok()
        .map(|chain| Certificate::new(chain.leaf(), Renewal::ByHand)))
}

fn reads_only_ed25519(evidence: Option<&Evidence>) -> bool {
    evidence.is_some_and(|evidence| evidence.can(Ability::ReadPemKeys) == Some(false))
}

/// The part of a peering that is the same on both sides. `given` finds the
/// credentials that the provider issued to a holder.
fn peering<'h, M: Machine + PeerRole>(
    side: &'h Driver<'_, M>,
    given: &dyn Fn(&Holder) -> Option<&'h AuthParams>,
) -> Result<Peering> {
    let (peer, role) = (&side.peer, M::PEER_IS);
    let now = side.clock.now()?;
    let status = side.machine.look(&side.view(), now);
    let status = status.map_err(|error| side.failure(&error))?;
    let certificate = |holder: &HolderStatus| {
        let pem = given(&holder.holder)?.signed_crt.as_slice();
        let chain = CertificateChain::from_pem(pem, &Policy::compatible()).ok()?;
        Some(Certificate::new(chain.leaf(), renewal(holder, &status)))
    };
    let slices = status.slices.iter().filter_map(|slice| {
        let Holder::Slice(name) = &slice.holder else {
            return None;
        };
        let object = slice_of(side.home, peer, name)?;
        // No phase counts an expired certificate, and a person has to see which one it is.
        let is_shown = |shown: &Certificate| slice.valid_until.is_some() || shown.ends < now;
        let certificate = certificate(slice).filter(is_shown);
        Some(shown_slice(object, slice, certificate))
    });
    Ok(Peering {
        peer: peer.to_string(),
        role,
        phase: status.control_plane.phase,
        condition: status.condition,
        condition_held: status.is_condition_held,
        nonce_until: status.nonce_until,
        peer_version: None,
        certificate: certificate(&status.control_plane),
        slices: slices.collect(),
        waits_for: waiting::waits_for(&status, role, side.home),
        refused: waiting::refusals(&status, role, side.home),
        reads_only_ed25519: false,
        failure: None,
    })
}

/// The slice of that name that is shared with the peer, or that is a replica of
/// the peer's slice.
fn slice_of<'h>(home: &'h Home, peer: &ClusterId, name: &str) -> Option<&'h ResourceSlice> {
    home.all::<ResourceSlice>().find(|slice| {
        let labels = &slice.metadata.labels;
        let is_peers = |label| labels.get(label).map(String::as_str) == Some(peer.as_str());
        slice.metadata.name == name
            && (is_peers(names::REPLICATION_ORIGIN_LABEL)
                || is_peers(names::REPLICATION_DESTINATION_LABEL))
    })
}

/// The overview of a slice, from its object, its status and its certificate.
fn shown_slice(
    slice: &ResourceSlice,
    status: &HolderStatus,
    certificate: Option<Certificate>,
) -> Slice {
    let decision = |condition| Some(slice.status.condition(condition)?.status);
    let decisions = [Condition::Authentication, Condition::Resources].map(decision);
    let [authentication, resources] =
        decisions.map(|said| said.map_or_else(String::new, |said| format!("{said:?}")));
    Slice {
        name: slice.metadata.name.clone(),
        phase: status.phase,
        authentication,
        resources,
        cordoned: status.cordoned == Some(true),
        denied: decisions.into_iter().flatten().any(|said| match said {
            ConditionStatus::Accepted => false,
            ConditionStatus::Denied => true,
        }),
        certificate,
    }
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
        (Some(_), None, Some(error)) => Renewal::Cannot(error.to_string()),
        (Some(_), None, None) if is_awaited => Renewal::Awaited,
        (Some(_), None, None) => Renewal::Due,
    }
}
