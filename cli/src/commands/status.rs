//! `status`: shows the state of a home.

use liqo_auth::{crypto::SigningKey, model::Timestamp};
use serde_json::json;

use super::get;
use crate::{
    arguments::{Status, StatusFormat},
    context::Context,
    failure::Result,
    home::Use,
    output::{Table, age},
    overview::{self, Certificate, Peering, Renewal, Role},
};

pub(super) fn run(context: &Context, arguments: &Status) -> Result<()> {
    let mut home = context.open(Use::Read)?;
    let peerings = overview::peerings(context, &mut home)?;
    if let Some(StatusFormat::Json) = arguments.output {
        let key = home.key()?;
        let all = json!({
            "clusterID": home.cluster_id().as_str(),
            "key": key.public_key().fingerprint().to_string(),
            "apiServer": home.settings.api_server.to_string(),
            "peerings": peerings,
        });
        return context.printer.result(&format!("{all:#}\n"));
    }
    get::warn(context, &home);
    let key = home.key()?;
    context.printer.result(&format!(
        "Cluster {}: {} key {}, API server {}\n",
        home.cluster_id(),
        key.public_key().algorithm(),
        key.public_key().fingerprint(),
        home.settings.api_server
    ))?;
    let now = context.clock.now()?;
    let tables = [
        table_of_peers(&peerings, now),
        table_of_slices(&peerings, now),
        table_of_versions(&peerings),
    ];
    for table in tables.iter().filter(|table| !table.is_empty()) {
        context.printer.result(&format!("\n{}", table.to_text()))?;
    }
    if peerings.is_empty() {
        context.printer.message("No peer.");
    }
    for peering in &peerings {
        for refused in &peering.refused {
            context
                .printer
                .warning(&format!("{}: {refused}", peering.peer));
        }
    }
    Ok(())
}

fn table_of_peers(peerings: &[Peering], now: Timestamp) -> Table {
    let mut table = Table::new([
        "PEER",
        "IS",
        "PHASE",
        "CONDITION",
        "CERTIFICATE",
        "RENEWED",
        "WAITS FOR",
    ]);
    for peering in peerings {
        let certificate = peering.certificate.as_ref();
        table.row([
            peering.peer.clone(),
            role(peering),
            peering.phase.to_owned(),
            dash(peering.condition.clone().unwrap_or_default()),
            left(certificate, now),
            renewed(certificate, now),
            dash(peering.waits_for.join("; ")),
        ]);
    }
    table
}

fn table_of_slices(peerings: &[Peering], now: Timestamp) -> Table {
    let mut table = Table::new([
        "SLICE",
        "PEER",
        "IS",
        "AUTHENTICATION",
        "RESOURCES",
        "CORDONED",
        "CERTIFICATE",
        "RENEWED",
    ]);
    for peering in peerings {
        for slice in &peering.slices {
            let certificate = slice.certificate.as_ref();
            table.row([
                slice.name.clone(),
                peering.peer.clone(),
                role(peering),
                dash(slice.authentication.clone()),
                dash(slice.resources.clone()),
                if slice.cordoned { "yes" } else { "no" }.to_owned(),
                left(certificate, now),
                renewed(certificate, now),
            ]);
        }
    }
    table
}

/// The versions that each peer may run.
fn table_of_versions(peerings: &[Peering]) -> Table {
    let mut table = Table::new(["PEER", "IS", "MAY RUN"]);
    for peering in peerings {
        if let Some(version) = &peering.version {
            table.row([peering.peer.clone(), role(peering), version.clone()]);
        }
    }
    table
}

/// The role of the peer.
fn role(peering: &Peering) -> String {
    match peering.role {
        Role::Consumer => "consumer".to_owned(),
        Role::Provider => "provider".to_owned(),
    }
}

/// The time until a certificate expires.
fn left(certificate: Option<&Certificate>, now: Timestamp) -> String {
    match certificate {
        None => "-".to_owned(),
        Some(certificate) if certificate.ends < now => "expired".to_owned(),
        Some(certificate) => age(certificate.ends.since(now)),
    }
}

/// The time until the renewal of a certificate.
pub(super) fn renewed(certificate: Option<&Certificate>, now: Timestamp) -> String {
    match certificate.map(|certificate| &certificate.renewal) {
        None | Some(Renewal::None) => "-".to_owned(),
        Some(Renewal::NotBefore(due)) => format!("in {}", age(due.since(now))),
        Some(Renewal::Due) => "now".to_owned(),
        Some(Renewal::Awaited) => "awaited".to_owned(),
        Some(Renewal::Cannot(_)) => "never".to_owned(),
    }
}

fn dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}
