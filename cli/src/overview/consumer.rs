//! A peering as its consumer sees it.

use liqo_auth::{
    consumer::{self, Phase, SlicePhase, SliceStatus, StoredIdentity},
    crypto::CertificateChain,
    model::{ClusterId, Identity, ResourceSlice, names},
    policy::Policy,
};

use super::{Certificate, Peering, Renewal, Role, Slice, provider::slice_of, waiting};
use crate::{commands::Context, consumer_side::ConsumerSide, failure::Result, home::Home};

pub(super) fn peering(context: &Context, home: &mut Home, peer: &ClusterId) -> Result<Peering> {
    let consumer = ConsumerSide::new(home, peer, &context.policy, context.clock)?;
    let step = consumer.look()?;
    let seen = consumer.status()?;
    let certificate = match &seen.phase {
        Phase::Authenticated(held) => {
            of_identity(consumer.home, peer, &names::identity_name(peer), held)
        }
        _ => None,
    };
    Ok(Peering {
        peer: peer.to_string(),
        role: Role::Provider,
        phase: seen.phase.name(),
        condition: None,
        certificate,
        slices: seen
            .slices
            .iter()
            .filter_map(|slice| of_slice(consumer.home, peer, slice))
            .collect(),
        waits_for: waiting::waits_for(&step, peer),
        refused: waiting::refused(&step),
    })
}

fn of_slice(home: &Home, peer: &ClusterId, slice: &SliceStatus) -> Option<Slice> {
    let object: &ResourceSlice = home.get(&slice.slice.namespace, &slice.slice.name)?;
    let certificate = match &slice.phase {
        SlicePhase::Held(held) => {
            let name = names::resource_slice_identity_name(&slice.slice.name);
            of_identity(home, peer, &name, held)
        }
        _ => None,
    };
    Some(slice_of(object, slice.phase.name(), certificate))
}

/// The certificate in an Identity; none where it has AWS keys.
fn of_identity(
    home: &Home,
    peer: &ClusterId,
    name: &str,
    held: &StoredIdentity,
) -> Option<Certificate> {
    let identity = home.all::<Identity>().find(|identity| {
        let label = identity.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
        identity.metadata.name == name && label.map(String::as_str) == Some(peer.as_str())
    })?;
    let pem = identity.spec.auth_params.signed_crt.as_slice();
    let chain = CertificateChain::from_pem(pem, &Policy::compatible()).ok()?;
    let renewal = match &held.renewal {
        consumer::Renewal::NotBefore(due) => Renewal::NotBefore(*due),
        consumer::Renewal::Due | consumer::Renewal::Answered => Renewal::Due,
        consumer::Renewal::Awaited { .. } => Renewal::Awaited,
        consumer::Renewal::PeerCannot(error) => Renewal::Cannot(error.to_string()),
        _ => Renewal::None,
    };
    Some(Certificate::new(chain.leaf(), renewal))
}
