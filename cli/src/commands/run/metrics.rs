//! The metrics of a running controller, in the text format of OpenMetrics.

use std::sync::atomic::AtomicI64;

use liqo_auth::machine::{Holder, HolderStatus, Side, Stage, Status};
use liqo_auth_kube::Handle;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::ConstCounter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

/// Which identity a gauge is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfHolder {
    side: &'static str,
    peer: String,
    /// Empty for the control plane.
    slice: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InStage {
    side: &'static str,
    stage: &'static str,
}

type Gauges<L> = Family<L, Gauge<i64, AtomicI64>>;

/// The metrics as they are now.
pub(super) fn text(handle: &Handle) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("liqo_auth");
    count(handle, &mut registry);
    let (identities, ends, refused) = (
        Gauges::<InStage>::default(),
        Gauges::<OfHolder>::default(),
        Gauges::<OfHolder>::default(),
    );
    for status in statuses(handle) {
        for holder in status.holders() {
            let stage = InStage {
                side: side(status.side),
                stage: name(holder.stage),
            };
            identities.get_or_create(&stage).inc();
            let of_holder = of(&status, holder);
            if let Some(until) = holder.valid_until {
                ends.get_or_create(&of_holder).set(until.unix());
            }
            if holder.refused.is_some() {
                refused.get_or_create(&of_holder).set(1);
            }
        }
    }
    registry.register(
        "identities",
        "Identities of control planes and slices, by stage",
        identities,
    );
    registry.register_with_unit(
        "certificate_end",
        "When the certificate ends, since the Unix epoch",
        Unit::Seconds,
        ends,
    );
    registry.register(
        "identity_refused",
        "1 while an identity or its renewal is refused",
        refused,
    );
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

fn count(handle: &Handle, registry: &mut Registry) {
    let counts = handle.counts();
    for (name, help, value) in [
        ("looks", "Looks at one side of a peer", counts.looks),
        (
            "effects",
            "Effects that the API server carried out",
            counts.effects,
        ),
        (
            "conflicts",
            "Effects that another writer was faster than",
            counts.conflicts,
        ),
        ("failures", "Looks that failed", counts.failures),
        (
            "deliveries",
            "Messages delivered to peers",
            counts.deliveries,
        ),
        (
            "failed_deliveries",
            "Deliveries that failed",
            counts.failed_deliveries,
        ),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
}

/// How every peer is. A peer whose objects cannot be read is left out: its looks fail.
fn statuses(handle: &Handle) -> Vec<Status> {
    let peers = handle.peers();
    let statuses = peers.iter().filter_map(|peer| handle.status(peer).ok());
    statuses.flatten().collect()
}

fn of(status: &Status, holder: &HolderStatus) -> OfHolder {
    let slice = match &holder.holder {
        Holder::ControlPlane => String::new(),
        Holder::Slice(name) => name.clone(),
    };
    OfHolder {
        side: side(status.side),
        peer: status.peer.to_string(),
        slice,
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Provider => "provider",
        Side::Consumer => "consumer",
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::InProgress => "in_progress",
        Stage::Waiting => "at_rest",
        Stage::Authenticated => "authenticated",
        Stage::Refused => "refused",
        Stage::Ending => "ending",
    }
}

pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
