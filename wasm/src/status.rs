//! The JSON form of a peering's state.

use liqo_auth::machine::{Holder, HolderStatus, Side, Stage, Status};
use serde_json::{Value, json};

pub(crate) fn status(status: &Status) -> Value {
    json!({
        "side": match status.side {
            Side::Provider => "provider",
            Side::Consumer => "consumer",
        },
        "peer": status.peer.as_str(),
        "controlPlane": of_holder(&status.control_plane),
        "slices": status.slices.iter().map(of_holder).collect::<Vec<_>>(),
        "notices": status.notices,
    })
}

fn of_holder(status: &HolderStatus) -> Value {
    let slice = match &status.holder {
        Holder::ControlPlane => None,
        Holder::Slice(name) => Some(name),
    };
    json!({
        "slice": slice,
        "phase": status.phase,
        "stage": match status.stage {
            Stage::InProgress => "inProgress",
            Stage::Waiting => "atRest",
            Stage::Authenticated => "authenticated",
            Stage::Refused => "refused",
            Stage::Ending => "ending",
        },
        "validUntil": status.valid_until.map(|time| time.to_string()),
        "renewedAt": status.renewal_due_at.map(|time| time.to_string()),
        "refused": status.refused,
    })
}
