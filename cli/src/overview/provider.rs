//! A peering as its provider sees it.

use liqo_auth::{
    crypto::CertificateChain,
    model::{ClusterId, ResourceSlice, ResourceSliceConditionType as Condition, Tenant, names},
    policy::Policy,
    provider::{self, Phase, SlicePhase, SliceStatus},
};

use super::{Certificate, Peering, Renewal, Role, Slice, waiting};
use crate::{commands::Context, failure::Result, home::Home, provider_side::ProviderSide};

pub(super) fn peering(context: &Context, home: &mut Home, peer: &ClusterId) -> Result<Peering> {
    let side = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let step = side.look()?;
    let condition = side.condition()?;
    let tenant = side
        .home
        .all::<Tenant>()
        .find(|tenant| tenant.metadata.name == peer.as_str());
    let seen = side.status()?;
    let certificate = match &seen.phase {
        Phase::Authenticated(issued) => issued
            .certificate()
            .map(|chain| Certificate::new(chain.leaf(), renewal(issued.renewal()))),
        _ => tenant.and_then(|tenant| {
            let auth_params = tenant.status.auth_params.as_ref()?;
            let pem = auth_params.signed_crt.as_slice();
            let chain = CertificateChain::from_pem(pem, &Policy::compatible()).ok()?;
            Some(Certificate::new(chain.leaf(), Renewal::None))
        }),
    };
    Ok(Peering {
        peer: peer.to_string(),
        role: Role::Consumer,
        phase: seen.phase.name(),
        condition: tenant.map(|_| format!("{condition:?}")),
        certificate,
        slices: seen
            .slices
            .iter()
            .filter_map(|slice| of_slice(side.home, slice))
            .collect(),
        waits_for: waiting::waits_for(&step, peer),
        refused: waiting::refused(&step),
    })
}

fn of_slice(home: &Home, slice: &SliceStatus) -> Option<Slice> {
    let object: &ResourceSlice = home.get(&slice.slice.namespace, &slice.slice.name)?;
    let certificate = match &slice.phase {
        SlicePhase::Accepted(settled) | SlicePhase::Denied(settled) => {
            let renewal = renewal(settled.renewal());
            settled
                .certificate()
                .map(|chain| Certificate::new(chain.leaf(), renewal))
        }
        _ => None,
    };
    Some(slice_of(object, slice.phase.name(), certificate))
}

/// What a slice itself says, and its certificate.
pub(super) fn slice_of(
    slice: &ResourceSlice,
    phase: &'static str,
    certificate: Option<Certificate>,
) -> Slice {
    let decision = |condition| {
        slice
            .status
            .condition(condition)
            .map_or_else(String::new, |condition| format!("{:?}", condition.status))
    };
    let marked =
        |key: &str| slice.metadata.annotations.get(key).map(String::as_str) == Some(names::TRUE);
    Slice {
        name: slice.metadata.name.clone(),
        phase,
        authentication: decision(Condition::Authentication),
        resources: decision(Condition::Resources),
        cordoned: marked(names::CORDON_ANNOTATION) || marked(names::CORDON_TENANT_ANNOTATION),
        certificate,
    }
}

fn renewal(renewal: &provider::Renewal) -> Renewal {
    match renewal {
        provider::Renewal::NotBefore(due) => Renewal::NotBefore(*due),
        provider::Renewal::Denied { again_at, .. } => Renewal::NotBefore(*again_at),
        _ => Renewal::Due,
    }
}
