//! What is denied to a slice, and what waits for the decision of this side's administrator.

use liqo_auth::{machine::Remedy, model::TenantCondition};

use super::Finding;
use crate::{
    home::Home,
    output::{escaped, program},
    overview::{Peering, Role, Slice},
    remedies::{lift_cordon, lift_drain},
};

/// The slices that a provider denies.
pub(super) fn denied(home: &Home, peering: &Peering) -> Vec<Finding> {
    let is_consumer = peering.role == Role::Provider;
    let denied = slices(peering).filter(|_| is_consumer);
    let denied = denied.map(|slice| {
        let (peer, name) = (&peering.peer, escaped(&slice.name));
        Finding::new(
            format!("{peer} denies {} of the slice {name}", what(slice)),
            format!(
                "The administrator of {peer} decides on it. A slice that is deleted and made again is decided on again: {} delete resourceslice {name} {} --remote-cluster-id {peer}",
                program(),
                home.site().options()
            ),
        )
    });
    denied.collect()
}

/// What this side's administrator has decided and may have forgotten: a cordon or a drain, the
/// slices that are denied, and the consumer that waits for an approval.
pub(super) fn own(home: &Home, peering: &Peering) -> Vec<String> {
    let peer = &peering.peer;
    let is_provider = peering.role == Role::Consumer;
    // A cordoned slice keeps its certificate.
    let denied = slices(peering).filter(|slice| is_provider && !slice.cordoned);
    let denied = denied.map(|slice| {
        format!(
            "This side denies {} of the slice {} of {peer}. It decides again when {peer} makes the slice again.",
            what(slice),
            escaped(&slice.name)
        )
    });
    let waits = peering.waits_for.iter();
    let waits = waits.filter(|waits| waits.remedy == Some(Remedy::Approve));
    let commands = waits.filter_map(|waits| waits.command.as_ref());
    let approvals = commands
        .map(|command| format!("{peer} waits for this side's approval. The command is {command}."));
    held(home, peering)
        .into_iter()
        .chain(denied)
        .chain(approvals)
        .collect()
}

/// The condition that this side holds the consumer in, with the command that lifts it.
fn held(home: &Home, peering: &Peering) -> Option<String> {
    let peer = &peering.peer;
    match peering
        .condition
        .filter(|_| peering.role == Role::Consumer)?
    {
        TenantCondition::Cordoned => Some(lift_cordon(home, peer)),
        TenantCondition::Drained => Some(lift_drain(home, peer)),
        _ => None,
    }
}

fn slices(peering: &Peering) -> impl Iterator<Item = &Slice> {
    peering.slices.iter().filter(|slice| slice.denied)
}

fn what(slice: &Slice) -> &'static str {
    match slice.authentication.as_str() {
        "Denied" => "the request",
        _ => "the resources",
    }
}
