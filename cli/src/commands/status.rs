//! `status`: shows the state of a home.

mod expiring;
mod found;
mod graph;
pub(super) mod nagios;
mod timeline;
mod tree;

use std::{collections::BTreeSet, thread, time::Duration};

use anyhow::Context as _;
use liqo_auth::{crypto::SigningKey, machine::Party, model::Timestamp};
use serde_json::json;

use super::{
    legacy::{self, status::LegacyPeering},
    listing,
};
use crate::{
    arguments::{
        Picture, Status, StatusFormat,
        output_format::{DocumentFormat, Output},
    },
    context::Context,
    failure::{Code, Failure, Result},
    home::{Home, Use},
    output::{Cell, Drawing, Table, Tone, age},
    overview::{self, Certificate, Peering, Renewal, Role, Waits},
};

pub(super) fn run(context: &Context, arguments: &Status) -> Result<()> {
    if arguments.output == Some(Output::Format(StatusFormat::Nagios)) {
        return nagios::run(context, arguments);
    }
    if !arguments.watch {
        return match Seen::now(context, arguments) {
            Err(failure) if is_before_the_first(&failure, arguments) => {
                context.printer.message(&failure.to_string());
                Ok(())
            }
            seen => seen?.print(context, arguments),
        };
    }
    let mut last = None;
    loop {
        let seen = Seen::now(context, arguments)?;
        let state = serde_json::to_string(&(&seen.peerings, &seen.legacy)).context("the state")?;
        if last.as_ref() != Some(&state) {
            if last.is_some() {
                context.printer.result("\n")?;
            }
            // What is missing now may be there at the next look.
            match seen.print(context, arguments) {
                Err(failure) if failure.is_told() => {
                    context.printer.warning(&failure.to_string());
                }
                printed => printed?,
            }
            last = Some(state);
        }
        thread::sleep(PAUSE);
    }
}

/// Whether there is no peering yet: the first exchange makes the keys of a cluster.
fn is_before_the_first(failure: &Failure, arguments: &Status) -> bool {
    failure.code == Code::Waiting && arguments.remote_cluster_id.is_none()
}

/// The state of a cluster at one time.
struct Seen {
    home: Home,
    peerings: Vec<Peering>,
    legacy: Vec<LegacyPeering>,
    now: Timestamp,
}

impl Seen {
    fn now(context: &Context, arguments: &Status) -> Result<Self> {
        let mut home = context.open(Use::Read)?;
        home.learn_client_cas();
        let mut peerings = overview::peerings(context, &mut home)?;
        let mut legacy = legacy::status::peerings(context, &home)?;
        if let Some(peer) = &arguments.remote_cluster_id {
            peerings.retain(|peering| peering.peer == peer.as_str());
            legacy.retain(|peering| peering.peer == peer.as_str());
            if peerings.is_empty() && legacy.is_empty() {
                return Err(Failure::waiting(format!(
                    "there is no peering with {peer} in {}",
                    home.site()
                )));
            }
        }
        let now = context.clock.now()?;
        Ok(Self {
            home,
            peerings,
            legacy,
            now,
        })
    }

    fn print(&self, context: &Context, arguments: &Status) -> Result<()> {
        let document = |format| self.print_document(context, &Output::Format(format));
        let picture = |picture| self.print_picture(context, arguments, picture);
        match &arguments.output {
            None if arguments.tree => self.print_tree(context)?,
            None => {
                self.print_tables(context, false)?;
                if arguments.remote_cluster_id.is_some() {
                    self.print_timelines(context)?;
                }
            }
            Some(Output::JsonPath(template)) => {
                self.print_document(context, &Output::JsonPath(template.clone()))?;
            }
            Some(Output::Format(format)) => match format {
                StatusFormat::Wide => self.print_tables(context, true)?,
                StatusFormat::Json => document(DocumentFormat::Json)?,
                StatusFormat::Yaml => document(DocumentFormat::Yaml)?,
                StatusFormat::Name => self.print_names(context)?,
                StatusFormat::Dot => picture(Picture::Dot)?,
                StatusFormat::Mermaid => picture(Picture::Mermaid)?,
                StatusFormat::Nagios => return nagios::tell_seen(context, arguments, self),
            },
        }
        self.judge(context, arguments)
    }

    /// Fails if something is not known, if something is there that a person wants to be told
    /// of, or if a certificate ends too soon.
    fn judge(&self, context: &Context, arguments: &Status) -> Result<()> {
        overview::all_known(&self.peerings, THE_OTHERS)?;
        let mut found = found::sentences(&self.peerings, arguments.fail_if(), self.now);
        if let Some(within) = arguments.fail_if_expiring {
            found.extend(expiring::told(context, &self.peerings, within, self.now));
        }
        match found.is_empty() {
            true => Ok(()),
            false => Err(Failure::waiting(found.join("; "))),
        }
    }

    /// The cluster IDs of the peers. A peer that is both a consumer and a provider has one
    /// line.
    fn print_names(&self, context: &Context) -> Result<()> {
        let peers = self.peerings.iter().map(|peering| peering.peer.as_str());
        let legacy = self.legacy.iter().map(|peering| peering.peer.as_str());
        let peers: BTreeSet<&str> = peers.chain(legacy).collect();
        let lines = peers.iter().map(|peer| format!("{peer}\n"));
        context.printer.result(&lines.collect::<String>())
    }

    fn print_document(&self, context: &Context, output: &Output<DocumentFormat>) -> Result<()> {
        let key = self.home.key()?;
        let all = json!({
            "clusterID": self.home.cluster_id().as_str(),
            "key": key.public_key().fingerprint().to_string(),
            "apiServer": self.home.settings.api_server.to_string(),
            "peerings": self.peerings,
            "legacyPeerings": self.legacy,
        });
        context.document(&all, output)
    }

    /// A picture of all peerings, or of the phases of one.
    fn print_picture(&self, context: &Context, arguments: &Status, picture: Picture) -> Result<()> {
        if arguments.remote_cluster_id.is_none() {
            let shown = graph::of_peerings(&self.home, &self.peerings, picture);
            return context.printer.result(&shown);
        }
        for peering in &self.peerings {
            context
                .printer
                .result(&graph::of_phases(peering, picture))?;
        }
        Ok(())
    }

    fn print_tree(&self, context: &Context) -> Result<()> {
        listing::warn(context, &self.home);
        let drawing = Drawing::of_locale();
        let tree = tree::of(self, drawing);
        context
            .printer
            .result(&tree.drawn(drawing, context.printer.paint()))?;
        if self.certificates().next().is_some() {
            let legend = timeline::legend(drawing, self.now);
            context.printer.result(&format!("\n{legend}\n"))?;
        }
        self.say_if_nobody(context);
        Ok(())
    }

    /// The certificates with their lines of time.
    fn print_timelines(&self, context: &Context) -> Result<()> {
        let drawing = Drawing::of_locale();
        for (name, certificate) in self.certificates() {
            let said = timeline::said(certificate, self.now);
            let line = timeline::of(certificate, self.now, drawing);
            let said = context.printer.prose(&format!("The {name}: {said}"));
            context.printer.result(&format!("\n{said}  {line}\n"))?;
        }
        if self.certificates().next().is_some() {
            let legend = timeline::legend(drawing, self.now);
            context.printer.result(&format!("  {legend}\n"))?;
        }
        Ok(())
    }

    fn certificates(&self) -> impl Iterator<Item = (String, &Certificate)> {
        self.peerings.iter().flat_map(Peering::certificates)
    }

    fn say_if_nobody(&self, context: &Context) {
        if self.peerings.is_empty() && self.legacy.is_empty() {
            context.printer.message("No peer.");
        }
    }

    fn print_tables(&self, context: &Context, is_wide: bool) -> Result<()> {
        let (home, printer) = (&self.home, context.printer);
        listing::warn(context, home);
        let key = home.key()?;
        let key = key.public_key();
        let shown = format!("{}, {}", key.algorithm(), key.fingerprint());
        printer.result(&format!(
            "Cluster {}\n{}{}",
            home.cluster_id(),
            printer.field("Key", &shown),
            printer.field("API server", &home.settings.api_server.to_string())
        ))?;
        for own in home.own_keys()? {
            let key = own.key.public_key();
            let (algorithm, fingerprint) = (key.algorithm(), key.fingerprint());
            let shown = format!("towards {}: {algorithm}, {fingerprint}", own.provider);
            printer.result(&printer.field("Own key", &shown))?;
        }
        let mut tables = vec![
            table_of_peers(&self.peerings, self.now, is_wide),
            table_of_slices(&self.peerings, self.now),
            table_of_legacy(&self.legacy),
        ];
        if is_wide {
            // A guess, which a person who asks for all may want.
            tables.push(table_of_versions(&self.peerings));
        }
        let paint = printer.paint();
        let tables = tables.into_iter().filter(|table| !table.is_empty());
        for table in tables.map(|table| table.painted(paint)) {
            printer.result(&format!("\n{}", table.text(is_wide)))?;
        }
        self.say_if_nobody(context);
        for peering in &self.peerings {
            for refused in &peering.refused {
                printer.warning(&format!("{}: {}", peering.peer, refused.text));
            }
        }
        for command in commands(&self.peerings) {
            printer.message(&format!("To do here: {command}"));
        }
        Ok(())
    }
}

/// The commands on this side that end a wait, each once.
fn commands(peerings: &[Peering]) -> BTreeSet<&str> {
    let waits = peerings.iter().flat_map(|peering| &peering.waits_for);
    waits.filter_map(|waits| waits.command.as_deref()).collect()
}

/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);
const THE_OTHERS: &str = "the others are shown";

fn table_of_peers(peerings: &[Peering], now: Timestamp, is_wide: bool) -> Table {
    let mut table = Table::new([
        "PEER",
        "IS",
        "PHASE",
        "CONDITION",
        "CERTIFICATE",
        "RENEWED",
        "WAITS FOR",
    ])
    .optional(["RENEWED", "IS", "CERTIFICATE"]);
    if is_wide {
        table.add_titles(["CERTIFICATE ENDS", "FINGERPRINT"]);
    }
    for peering in peerings {
        let certificate = peering.certificate.as_ref();
        table.row([
            peering.peer.clone().into(),
            role(peering).into(),
            Cell::toned(peering.phase, tone_of_phase(peering)),
            condition(peering).into(),
            left(peering, certificate, now),
            renewal(certificate, now),
        ]);
        table.add_toned_parts(&waits_for(peering));
        if is_wide {
            let of = |text: fn(&Certificate) -> &str| certificate.map_or("-", text).to_owned();
            table.add_cells([
                of(|certificate| &certificate.until),
                of(|certificate| &certificate.fingerprint),
            ]);
        }
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
    ])
    .optional(["IS", "RENEWED", "CORDONED"]);
    for peering in peerings {
        for slice in &peering.slices {
            let certificate = slice.certificate.as_ref();
            table.row([
                slice.name.clone().into(),
                peering.peer.clone().into(),
                role(peering).into(),
                decision(&slice.authentication),
                decision(&slice.resources),
                if slice.cordoned { "yes" } else { "no" }.to_owned().into(),
                left(peering, certificate, now),
                renewal(certificate, now),
            ]);
        }
    }
    table
}

/// The versions that each peer may run.
fn table_of_versions(peerings: &[Peering]) -> Table {
    let mut table = Table::new(["PEER", "IS", "MAY RUN"]);
    for peering in peerings {
        if let Some(version) = &peering.peer_version {
            table.row([peering.peer.clone(), role(peering), version.to_string()]);
        }
    }
    table
}

/// The peerings by the token protocol of Liqo 0.2 to 0.10.
fn table_of_legacy(peerings: &[LegacyPeering]) -> Table {
    let mut table = Table::new(["LEGACY PEER", "IS", "STATE"]);
    for peering in peerings {
        let LegacyPeering { peer, role, state } = peering;
        table.row([peer.clone(), (*role).to_owned(), state.clone()]);
    }
    table
}

/// The condition in force. It may outlive what the Tenant says.
fn condition(peering: &Peering) -> String {
    match (peering.condition, peering.condition_held) {
        (None, _) => "-".to_owned(),
        (Some(condition), false) => format!("{condition:?}"),
        (Some(condition), true) => format!("{condition:?} (held)"),
    }
}

/// The role of the peer.
fn role(peering: &Peering) -> String {
    match peering.role {
        Role::Consumer => "consumer".to_owned(),
        Role::Provider => "provider".to_owned(),
    }
}

/// The time until a certificate expires.
fn left(peering: &Peering, certificate: Option<&Certificate>, now: Timestamp) -> Cell {
    let Some(certificate) = certificate else {
        return "-".to_owned().into();
    };
    let text = match certificate.ends < now {
        true if peering.has_expired(certificate, now) => "expired".to_owned(),
        // Nothing is wrong: it does not get another one.
        true if peering.is_drained() => "drained".to_owned(),
        true => "ended".to_owned(),
        false => age(certificate.ends.since(now)),
    };
    Cell::toned(&text, tone_of_end(peering, certificate, now))
}

/// The time until the renewal of a certificate.
pub(super) fn renewed(certificate: Option<&Certificate>, now: Timestamp) -> String {
    match certificate.map(|certificate| &certificate.renewal) {
        None | Some(Renewal::None) => "-".to_owned(),
        Some(Renewal::NotBefore(due)) => format!("in {}", age(due.since(now))),
        Some(Renewal::Due) => "now".to_owned(),
        Some(Renewal::Awaited) => "awaited".to_owned(),
        Some(Renewal::ByHand | Renewal::Cannot) => "never".to_owned(),
    }
}

fn renewal(certificate: Option<&Certificate>, now: Timestamp) -> Cell {
    let tone = certificate.and_then(tone_of_renewal);
    Cell::toned(&renewed(certificate, now), tone)
}

/// A provider's decision on a slice.
fn decision(said: &str) -> Cell {
    let is_denied = said == "Denied";
    Cell::toned(&dash(said.to_owned()), is_denied.then_some(Tone::Bad))
}

/// Whether a peering is refused, or nothing is known of it.
fn tone_of_phase(peering: &Peering) -> Option<Tone> {
    let is_bad = peering.is_refused || peering.failure.is_some();
    is_bad.then_some(Tone::Bad)
}

fn tone_of_end(peering: &Peering, certificate: &Certificate, now: Timestamp) -> Option<Tone> {
    let has_expired = peering.has_expired(certificate, now);
    has_expired.then_some(Tone::Bad)
}

/// Whether the answer to a renewal is refused.
fn tone_of_renewal(certificate: &Certificate) -> Option<Tone> {
    matches!(certificate.renewal, Renewal::Cannot).then_some(Tone::Bad)
}

/// What a peering waits for, with semicolons between the parts.
fn waits_for(peering: &Peering) -> Vec<(String, Option<Tone>)> {
    let Some((last, before)) = peering.waits_for.split_last() else {
        return vec![("-".to_owned(), None)];
    };
    let part = |waits: &Waits, end: &str| (format!("{}{end}", waits.text), tone_of(waits));
    let before = before.iter().map(|waits| part(waits, ";"));
    before.chain([part(last, "")]).collect()
}

/// Whether a person of this side has to act.
fn tone_of(waits: &Waits) -> Option<Tone> {
    match waits.from {
        Party::Administrator => Some(Tone::Attention),
        Party::Peer | Party::Backend | Party::Store => None,
    }
}

fn dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}
