use std::{collections::BTreeSet, sync::Arc, time::Duration};

use clap::Parser as _;
use liqo_auth::{
    Provider,
    crypto::{Authority, Csr, Entropy, KeyPair, RecordKey, SigningKey as _, Subject},
    error::Error,
    machine::{Machine, Objects},
    model::{ClusterId, Timestamp},
    provider::{Endpoint, NameTable},
};

use super::*;

fn peer() -> ClusterId {
    "cl-consumer".parse().unwrap()
}

fn entropy() -> Entropy {
    Entropy::from_bytes([7; 32])
}

fn provider() -> Provider {
    let endpoint = Endpoint::new("https://172.19.0.3:6443".parse().unwrap(), None);
    let key = RecordKey::new([1; 32]).unwrap();
    Provider::builder("cl-provider".parse().unwrap(), endpoint, key)
        .principals(Arc::new(NameTable::default()))
        .build()
}

/// A peer that waits for its invitation.
fn uninvited() -> Status {
    let (provider, objects) = (provider(), Objects::new(&entropy()));
    let machine: &dyn Machine = &provider;
    let view = objects.view(&peer());
    machine.look(&view, Timestamp::EPOCH).unwrap()
}

/// Nobody can approve what is not there.
fn refusal() -> Error {
    let objects = Objects::new(&entropy());
    let approved = provider().approve(&objects.view(&peer()), Timestamp::EPOCH);
    approved.unwrap_err()
}

/// A certificate from 2026-11-20T12:55:00Z to 2026-11-20T14:00:00Z.
fn certificate_of_an_hour() -> Certificate {
    let now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
    let hour = Duration::from_secs(3600);
    let authority = Authority::new("ca", now, 24 * hour, &entropy()).unwrap();
    let key = KeyPair::from_entropy(&entropy());
    let subject = Subject::control_plane(&peer());
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
    let chain = authority
        .issue(&csr, &subject, key.public_key(), now, hour, &entropy())
        .unwrap();
    chain.leaf().clone()
}

fn text_of(status: &Status) -> String {
    encoded(&Counts::default(), true, std::slice::from_ref(status)).unwrap()
}

#[test]
fn what_is_awaited_from_an_administrator_counts() {
    let status = uninvited();
    let codes: Vec<_> = remedies(&status).map(|remedy| remedy.code()).collect();
    // Two notices, since both ClusterRoles are missing.
    assert_eq!(codes, ["createClusterRole", "createClusterRole", "invite"]);
}

#[test]
fn a_certificate_has_its_life_also_once_it_counts_no_more() {
    let mut status = uninvited();
    status.control_plane.certificate = Some(certificate_of_an_hour());
    assert_eq!(status.control_plane.valid_until, None);
    let text = text_of(&status);
    let labels = "{side=\"provider\",peer=\"cl-consumer\",slice=\"\"}";
    for (name, time) in [("begin", "1795179300"), ("end", "1795183200")] {
        let series = format!("liqo_auth_certificate_{name}_seconds{labels} {time}");
        assert!(text.contains(&series), "{text}");
    }
}

#[test]
fn a_peer_that_is_drained_or_ends_needs_no_certificate() {
    let certified = || {
        let mut status = uninvited();
        status.control_plane.certificate = Some(certificate_of_an_hour());
        let mut slice = status.control_plane.clone();
        slice.holder = Holder::Slice("pool".to_owned());
        status.slices = vec![slice];
        status
    };
    let told = |change: fn(&mut Status)| {
        let mut status = certified();
        change(&mut status);
        text_of(&status).matches("certificate_end_seconds{").count()
    };
    assert_eq!(told(|_| {}), 2);
    let drain = |status: &mut Status| status.condition = Some(TenantCondition::Drained);
    assert_eq!(told(drain), 0);
    assert_eq!(told(|status| status.control_plane.stage = Stage::Ending), 0);
    let end_slices = |status: &mut Status| {
        for slice in &mut status.slices {
            slice.stage = Stage::Ending;
        }
    };
    assert_eq!(told(end_slices), 1);
}

#[test]
fn the_metrics_say_whether_all_objects_are_known() {
    for (is_synchronized, value) in [(true, "1"), (false, "0")] {
        let text = encoded(&Counts::default(), is_synchronized, &[]).unwrap();
        let line = format!("\nliqo_auth_synchronized {value}\n");
        assert!(text.contains(&line), "{text}");
    }
}

/// A text with a series of each metric.
fn everything() -> String {
    let mut status = uninvited();
    status.control_plane.certificate = Some(certificate_of_an_hour());
    status.control_plane.refused = Some(refusal());
    status.slices = vec![status.control_plane.clone(); 100];
    text_of(&status)
}

const RULES: &str = include_str!("../../../../../../deploy/chart/monitoring/rules.yaml");
const DASHBOARD: &str = include_str!("../../../../../../deploy/chart/monitoring/dashboard.json");

#[test]
fn the_rules_and_the_dashboard_of_the_chart_know_the_metrics() {
    let text = everything();
    let there: BTreeSet<&str> = text.lines().filter_map(|line| words(line).next()).collect();
    for file in [RULES, DASHBOARD] {
        let asked: BTreeSet<_> = words(file).collect();
        assert!(asked.len() > 5);
        assert_eq!(asked.difference(&there).collect::<Vec<_>>(), [&""; 0]);
    }
}

/// The names of metrics in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |symbol: char| symbol.is_ascii_alphanumeric() || symbol == '_';
    let words = text.split(move |symbol| !is_of_word(symbol));
    words.filter(|word| word.starts_with("liqo_auth_"))
}

#[test]
fn the_commands_in_the_rules_are_the_tools() {
    let text = RULES.split('`').skip(1).step_by(2);
    let commands: Vec<&str> = text.filter(|text| text.starts_with("liqo-auth ")).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let command = command.replace("{{ $labels.peer }}", "rome");
        let words = command.replace("NAME", "rome");
        let parsed = crate::arguments::Arguments::try_parse_from(words.split_whitespace());
        assert!(parsed.is_ok(), "{command}");
    }
}
