//! The metrics of a running controller, in the text format of OpenMetrics.

use liqo_auth::machine::{Awaited, Holder, HolderStatus, Notice, Remedy, Side, Stage, Status};
use liqo_auth_kube::Handle;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::counter::ConstCounter,
    registry::Registry,
};

use super::series::{Gauges, Identity, Series};

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
    let mut registry = Registry::with_prefix("liqo_auth");
    count(handle, &mut registry);
    let identities = Gauges::<InStage>::default();
    let wanted = Gauges::<OfRemedy>::default();
    let mut series = Series::default();
    for status in statuses(handle) {
        let side = side(status.side);
        for holder in status.holders() {
            let stage = name(holder.stage);
            identities.get_or_create(&InStage { side, stage }).inc();
        }
        for remedy in remedies(&status) {
            let remedy = remedy.code();
            wanted.get_or_create(&OfRemedy { side, remedy }).inc();
        }
        series.add(side, status.peer.as_str(), status.holders().map(identity));
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
    series.register(&mut registry);
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

fn identity(holder: &HolderStatus) -> Identity {
    Identity {
        slice: match &holder.holder {
            Holder::ControlPlane => String::new(),
            Holder::Slice(name) => name.clone(),
        },
        end: holder.valid_until.map(|until| until.unix()),
        is_refused: holder.refused.is_some(),
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
        Stage::Waiting => "waiting",
        Stage::Authenticated => "authenticated",
        Stage::Refused => "refused",
        Stage::Ending => "ending",
    }
}

pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use liqo_auth::{
        Provider,
        crypto::{Entropy, RecordKey},
        machine::{Machine, Objects},
        model::Timestamp,
        provider::{Endpoint, NameTable},
    };

    use super::remedies;

    #[test]
    fn what_is_awaited_from_an_administrator_counts() {
        let endpoint = Endpoint::new("https://172.19.0.3:6443".parse().unwrap(), None);
        let key = RecordKey::new([1; 32]).unwrap();
        let provider = Provider::builder("cl-provider".parse().unwrap(), endpoint, key)
            .principals(Arc::new(NameTable::default()))
            .build();
        let objects = Objects::new(&Entropy::from_bytes([7; 32]));
        let peer = "cl-consumer".parse().unwrap();
        let machine: &dyn Machine = &provider;
        let status = machine
            .look(&objects.view(&peer), Timestamp::EPOCH)
            .unwrap();
        let codes: Vec<_> = remedies(&status).map(|remedy| remedy.code()).collect();
        // Two notices, since both ClusterRoles are missing.
        assert_eq!(codes, ["createClusterRole", "createClusterRole", "invite"]);
    }
}
