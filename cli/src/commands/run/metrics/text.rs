//! The metrics of a running controller, in the text format of OpenMetrics.

#[cfg(test)]
mod tests;

use liqo_auth::{
    crypto::Certificate,
    machine::{Awaited, Holder, HolderStatus, Notice, Remedy, Side, Stage, Status},
    model::TenantCondition,
};
use liqo_auth_kube::{Counts, Handle};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};

use super::series::{Gauges, Identity, Life, Series};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InStage {
    side: &'static str,
    stage: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRemedy {
    side: &'static str,
    remedy: &'static str,
}

/// The metrics as they are now.
pub(super) fn text(handle: &Handle) -> Result<String, std::fmt::Error> {
    encoded(
        &handle.counts(),
        handle.is_synchronized(),
        &statuses(handle),
    )
}

fn encoded(
    counts: &Counts,
    is_synchronized: bool,
    statuses: &[Status],
) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("liqo_auth");
    count(counts, &mut registry);
    registry.register(
        "synchronized",
        "1 once every watch has listed its objects",
        ConstGauge::new(i64::from(is_synchronized)),
    );
    tell(statuses, &mut registry);
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// How the peers are.
fn tell(statuses: &[Status], registry: &mut Registry) {
    let identities = Gauges::<InStage>::default();
    let wanted = Gauges::<OfRemedy>::default();
    let mut series = Series::default();
    for status in statuses {
        let side = side(status.side);
        for holder in status.holders() {
            let stage = name(holder.stage);
            identities.get_or_create(&InStage { side, stage }).inc();
        }
        for remedy in remedies(status) {
            let remedy = remedy.code();
            wanted.get_or_create(&OfRemedy { side, remedy }).inc();
        }
        let holders = status.holders().map(|holder| identity(holder, status));
        series.add(side, status.peer.as_str(), holders);
    }
    registry.register(
        "identities",
        "Identities of control planes and slices, by stage",
        identities,
    );
    registry.register(
        "remedies_wanted",
        "What an administrator is asked for, by the code of the remedy",
        wanted,
    );
    series.register(registry);
}

fn count(counts: &Counts, registry: &mut Registry) {
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
        (
            "events_left_out",
            "Kubernetes events that were not published, since their peer caused too many",
            counts.events_left_out,
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

/// What an administrator is asked for: by notices, and by what is awaited.
fn remedies(status: &Status) -> impl Iterator<Item = Remedy> {
    let of_notices = status.notices.iter().filter_map(Notice::remedy);
    let of_awaited = status.awaits.iter().filter_map(Awaited::remedy);
    let of_refusals = status.refused.iter();
    let of_refusals = of_refusals.filter_map(|refused| refused.error.remedy());
    of_notices.chain(of_awaited).chain(of_refusals)
}

fn identity(holder: &HolderStatus, status: &Status) -> Identity {
    Identity {
        slice: match &holder.holder {
            Holder::ControlPlane => String::new(),
            Holder::Slice(name) => name.clone(),
        },
        certificate: certificate(holder, status).map(|certificate| Life {
            begin: certificate.not_before.unix(),
            end: certificate.not_after.unix(),
        }),
        is_refused: holder.refused.is_some(),
    }
}

/// The certificate that the peer should have. It may have ended. A drained peer gets none, nor
/// does what ends.
fn certificate<'s>(holder: &'s HolderStatus, status: &Status) -> Option<&'s Certificate> {
    let is_drained = status.condition == Some(TenantCondition::Drained);
    let ends = [holder.stage, status.control_plane.stage].contains(&Stage::Ending);
    let certificate = holder.certificate.as_ref();
    certificate.filter(|_| !is_drained && !ends)
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
        Stage::Waiting => "waiting",
        Stage::Authenticated => "authenticated",
        Stage::Refused => "refused",
        Stage::Ending => "ending",
    }
}

pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
