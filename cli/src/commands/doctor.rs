//! `doctor`: looks for what keeps a cluster from working, and says how to mend it.

mod anew;
mod beside_liqo;
mod decisions;
mod due;
mod files;
pub(super) mod kept;
pub(super) mod lost;
mod other_keys;
pub(super) mod peerings;
mod providers;

use liqo_auth::{
    crypto::{Algorithm, SigningKey},
    model::{ConfigMap, ObjectRef, Timestamp, names},
};
use liqo_auth_inspection::{is_loopback, refusal_of_name};
use serde_json::json;

use self::other_keys::OtherKeys;
use crate::{
    arguments::Doctor,
    context::{Context, load},
    failure::{Failure, Result, paragraph},
    home::{Home, Signer, Use, repair},
    output::{self, Mark, counted, escaped, program},
    overview::{self, Peering, Role},
    remedies,
};

/// Something that a person mends.
pub(super) struct Finding {
    pub(super) what: String,
    pub(super) remedy: String,
}

pub(super) fn run(context: &Context, arguments: &Doctor) -> Result<()> {
    // A home that lost a key cannot be loaded, but has findings, too. So it is loaded
    // below.
    let mut home = match context.open_unloaded(Use::Read) {
        Ok(home) => home,
        Err(failure) => {
            let finding = files::of_settings(&context.site()?, failure)?;
            return report(context, arguments, &[finding], &[]);
        }
    };
    let now = context.clock.now()?;
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    findings.extend(of_name(context, &home)?);
    findings.extend(of_endpoint(&home));
    findings.extend(of_peers(&home)?);
    let (mut lost, mut is_lost) = (None, false);
    match load(&mut home) {
        Err(failure) if home.site().folder().is_some() => {
            findings.push(lost_key(&home, &failure));
            lost = failure.wanted().cloned();
            is_lost = true;
        }
        loaded => {
            loaded?;
            let unknown_cas = home.learn_client_cas();
            let peerings = overview::peerings(context, &mut home)?;
            say_unknown_cas(context, &peerings, unknown_cas);
            findings.extend(of_other_objects(&home));
            findings.extend(of_key(&home, &peerings)?);
            findings.extend(of_authority(&home, now));
            findings.extend(of_shared_key(&home)?);
            let (both, note) = of_liqo(context, &home, &peerings);
            findings.extend(both);
            notes.extend(note);
            findings.extend(peerings.iter().flat_map(|it| peerings::of(&home, it, now)));
            findings.extend(peerings.iter().filter_map(|it| kept::of_peering(&home, it)));
            findings.extend(peerings.iter().flat_map(|it| decisions::denied(&home, it)));
            notes.extend(peerings.iter().flat_map(|it| decisions::own(&home, it)));
            notes.extend(
                peerings
                    .iter()
                    .filter_map(|it| peerings::by_hand(&home, it)),
            );
            let (wrong, unknown) = providers::asked(context, &mut home, &peerings)?;
            findings.extend(wrong);
            for provider in unknown {
                context.printer.warning(&provider);
            }
            if !home.is_live() {
                let due = peerings.iter().flat_map(|it| {
                    let lost = lost::of(&home, it);
                    match lost.is_empty() {
                        true => due::of(&home, it, now).into_iter().collect(),
                        false => lost,
                    }
                });
                findings.extend(due);
                let awaited = peerings.iter();
                for awaited in awaited.filter_map(|it| lost::identity(&home, it, now)) {
                    match awaited {
                        Ok(finding) => findings.push(finding),
                        Err(note) => notes.push(note),
                    }
                }
            }
        }
    }
    findings.extend(of_objects(&home, lost.as_ref()));
    findings.extend(kept::of(home.objects()));
    if let Some(folder) = home.site().folder() {
        findings.extend(files::modes(folder)?);
        findings.extend(files::no_room(folder));
        let no_files = files::of_log(folder);
        let is_log_readable = no_files.is_empty();
        findings.extend(no_files);
        // The log is sealed by a key.
        if !is_lost && is_log_readable {
            let mut other_keys = OtherKeys::default();
            let (clock, of_log) = of_log(&home, now, &mut other_keys)?;
            findings.extend(of_log);
            notes.extend(other_keys.notes(&home));
            // What else is wrong may follow from it.
            findings.splice(..0, clock);
        }
    }
    report(context, arguments, &findings, &notes)
}

/// A home without one of its keys.
fn lost_key(home: &Home, failure: &Failure) -> Finding {
    Finding::new(
        failure.to_string(),
        format!(
            "Restore the file from a backup: no command makes it again. Without a backup, move the folder away and make the home anew: {} init {}.{} Then each peer releases what it has pinned, and authenticates again.",
            program(),
            anew::options(home),
            anew::other_settings(&home.settings).unwrap_or_default()
        ),
    )
}

fn report(
    context: &Context,
    arguments: &Doctor,
    findings: &[Finding],
    notes: &[String],
) -> Result<()> {
    if let Some(output) = &arguments.output {
        let findings = findings.iter();
        let findings = findings.map(|found| json!({ "what": found.what, "remedy": found.remedy }));
        let all = json!({ "findings": findings.collect::<Vec<_>>(), "notes": notes });
        context.document(&all, output)?;
    } else {
        for Finding { what, remedy } in findings {
            let text = context.printer.marked(Mark::Wrong, what);
            let remedy = context.printer.field("Remedy", remedy);
            context.printer.result(&format!("{text}{remedy}"))?;
        }
        for note in notes {
            context.printer.message(&format!("Note: {note}"));
        }
    }
    match findings.len() {
        0 => {
            context.printer.message("Nothing is wrong.");
            Ok(())
        }
        number => Err(Failure::waiting(counted(number, "finding"))),
    }
}

/// Says that no certificate was compared with the client CAs. That is no finding: nobody has to
/// mend what this user may not read.
fn say_unknown_cas(context: &Context, peerings: &[Peering], unknown: Option<String>) {
    let is_provider = peerings.iter().any(|it| it.role == Role::Consumer);
    if let Some(why) = unknown.filter(|_| is_provider) {
        context.printer.warning(&format!(
            "the CAs by which the API server lets clients in could not be looked at, so no certificate was compared with them: {why}"
        ));
    }
}

/// Liqo's own authentication module beside the controllers, and a note of the peerings that Liqo
/// does not show. What this user may not read is named: that is no finding either.
fn of_liqo(
    context: &Context,
    home: &Home,
    peerings: &[Peering],
) -> (Option<Finding>, Option<String>) {
    let unknown = |what: &str, why: &Failure| {
        context
            .printer
            .warning(&format!("{what} could not be looked at: {why}"));
    };
    let deployments = home.deployments().unwrap_or_else(|why| {
        unknown(
            "whether Liqo's authentication module runs beside the controllers",
            &why,
        );
        Vec::new()
    });
    let both = beside_liqo::both_answer(&deployments);
    let peers = beside_liqo::on_record(peerings);
    if peers.is_empty() {
        return (both, None);
    }
    let foreign = home.foreign_clusters().unwrap_or_else(|why| {
        unknown("whether Liqo's ForeignClusters show the peerings", &why);
        Vec::new()
    });
    let options = home.site().options();
    (both, beside_liqo::unseen(&foreign, &peers, &options))
}

impl Finding {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

/// An ID that no provider lets in.
fn of_name(context: &Context, home: &Home) -> Result<Option<Finding>> {
    let refusal = refusal_of_name(home.cluster_id(), &context.policy, context.clock.now()?);
    Ok(refusal.map(|error| {
        Finding::new(
            format!(
                "the cluster ID {}: {}",
                home.cluster_id(),
                paragraph(&error)
            ),
            "Install the cluster with another ID. It cannot be changed later.",
        )
    }))
}

/// A home whose settings are those of another home.
fn of_other_objects(home: &Home) -> Option<Finding> {
    let folder = home.site().folder()?;
    let named: &ConfigMap = home.get(names::LIQO_NAMESPACE, names::CLUSTER_ID_CONFIG_MAP)?;
    let of_objects = named.data.get(names::CLUSTER_ID_KEY)?;
    (of_objects != home.cluster_id().as_str()).then(|| {
        Finding::new(
            format!(
                "the settings are of the cluster {}, and the objects of {}",
                home.cluster_id(),
                escaped(of_objects)
            ),
            format!(
                "Put {} of {} back.",
                output::path(&folder.join("home.yaml")),
                escaped(of_objects)
            ),
        )
    })
}

fn of_endpoint(home: &Home) -> Option<Finding> {
    let url = home.settings.api_server.to_string();
    is_loopback(&url).then(|| {
        Finding::new(
            format!("only this machine reaches {url}, which peers are given as the API server"),
            format!("{} set api-server URL {}", program(), home.site().options()),
        )
    })
}

/// Settings for peers that peering users of Liqo may read.
fn of_peers(home: &Home) -> Result<Option<Finding>> {
    let shown = home.peers_in_config_map()?;
    Ok(shown.map(|(config_map, secret)| {
        Finding::new(
            format!("{config_map} has settings for peers, and Liqo's peering users may read it"),
            format!("Move `peers` from its settings.yaml into the settings.yaml of {secret}."),
        )
    }))
}

/// A key that Liqo on the other side cannot take.
fn of_key(home: &Home, peerings: &[Peering]) -> Result<Vec<Finding>> {
    let algorithm = home.key()?.public_key().algorithm();
    if algorithm == Algorithm::Ed25519 {
        return Ok(Vec::new());
    }
    let cannot = peerings.iter().filter(|peering| peering.reads_only_ed25519);
    Ok(cannot
        .map(|peering| {
            Finding::new(
                format!(
                    "{} runs Liqo before 1.0.2, which reads Ed25519 keys only, and this cluster's key is {algorithm}",
                    peering.peer
                ),
                format!("Update Liqo on {}, or install this cluster with an Ed25519 key.", peering.peer),
            )
        })
        .collect())
}

/// Providers that are consumers, too, and have the cluster's key in their tenant namespace.
fn of_shared_key(home: &Home) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if !home.is_live() {
        return Ok(findings);
    }
    let peers = overview::peers(home);
    for (peer, role) in &peers {
        let is_two_way = *role == Role::Provider && peers.contains(&(peer.clone(), Role::Consumer));
        if !is_two_way || !home.is_known_by_cluster_key(peer)? {
            continue;
        }
        let (program, options) = (program(), home.site().options());
        findings.push(Finding::new(
            format!(
                "{peer} is a consumer of this cluster, too, and knows this cluster by its own key: the kubeconfig in the tenant namespace has this key, and a peering user of {peer} may read it and act as this cluster towards all peers"
            ),
            format!(
                "Set `keyPerProvider: true` for {peer} in {}. Then end the peering on both sides ({program} unauthenticate {options} --remote-kubeconfig FILE), have {peer} run `release --remote-cluster-id {}`, and authenticate again.",
                home.peers_place(),
                home.cluster_id(),
            ),
        ));
    }
    Ok(findings)
}

/// The objects that cannot be read. A key that is lost is told already.
fn of_objects(home: &Home, lost: Option<&ObjectRef>) -> Vec<Finding> {
    let found = home.unreadable().filter(|it| Some(&it.id) != lost);
    let found = found.map(|unreadable| {
        let what = match home.is_live() {
            true => "the object".to_owned(),
            false => home.site_of(&unreadable.id),
        };
        let remedy = remedies::without_slice_record(home, &unreadable.id).unwrap_or_else(|| format!(
            "Restore {what} from a backup, or read it with the version that wrote it. Delete it only if its whole content may be lost, including a pinned key."
        ));
        Finding::new(
            format!("{} cannot be read: {}", unreadable.id, unreadable.reason),
            remedy,
        )
    });
    found.collect()
}

/// The home's own CA, if it is lost, or signs nothing at this time.
fn of_authority(home: &Home, now: Timestamp) -> Option<Finding> {
    if home.is_live() || home.settings.signer != Signer::Home {
        return None;
    }
    let authority = match home.authority() {
        Ok(authority) => authority,
        Err(failure) => return Some(lost_key(home, &failure)),
    };
    let certificates = authority.ca_bundle().certificates();
    let invalid = certificates
        .iter()
        .find(|it| now < it.not_before || it.not_after < now);
    invalid.map(|it| {
        Finding::new(
            format!(
                "the CA of this home is valid from {} to {}, so that it signs nothing now",
                it.not_before, it.not_after
            ),
            format!(
                "If the clock is right, make the home anew with another CA in another folder: {} init --home DIR --ca-cert FILE --ca-key FILE. Then each peer releases what it has pinned, and authenticates again.",
                program()
            ),
        )
    })
}

/// A clock that the log is ahead of, and a log that is broken or was repaired.
fn of_log(
    home: &Home,
    now: Timestamp,
    other_keys: &mut OtherKeys,
) -> Result<(Option<Finding>, Vec<Finding>)> {
    let (mut clock, mut findings) = (None, Vec::new());
    let mut repairs = Vec::new();
    let verified = home.verify_log(None, |entry| {
        let entry = entry.content();
        other_keys.follow(entry);
        repairs.extend(repair(entry).map(|found| (entry.sequence, found)));
    });
    match verified {
        Err(failure) => findings.push(Finding::new(
            failure.to_string(),
            "Compare the log with a copy, if there is one. The next decision repairs an incomplete last line or a missing end, with a note in the log.",
        )),
        Ok(summary) => {
            let last = summary.last.filter(|last| *last > now);
            clock = last.map(|last| {
                Finding::new(
                    format!("the clock says {now}, and the last decision in the log is of {last}"),
                    "Set the clock, for example by NTP, and look again: nonces and certificates are judged by it.",
                )
            });
        }
    }
    findings.extend(repairs.into_iter().map(|(sequence, found)| {
        Finding::new(
            format!("entry {sequence} of the audit log notes a repair: {found}"),
            "Compare the log with a copy, if there is one. Then keep the head that `audit verify` prints.",
        )
    }));
    Ok((clock, findings))
}
