//! `renew`: renews the certificates that are due.

use std::collections::BTreeSet;

use liqo_auth::model::{ClusterId, names};
use serde::Serialize;
use serde_json::{Value, json};

use super::{replicate, status};
use crate::{
    arguments::{Remote, Renew},
    consumer_side::{ConsumerSide, sentence},
    context::Context,
    failure::{Code, Failure, Result},
    home::{Home, Use},
    output::{Side, escaped, program},
    overview::{self, Certificate, Peering, Refusal, Renewal, Role},
    pair::{Homes, Pair},
    provider_side::ProviderSide,
    remedies,
};

pub(super) fn run(context: &Context, arguments: &Renew) -> Result<()> {
    if arguments.site.named().is_some() {
        return both(context, arguments);
    }
    let mut home = context.open(Use::Write)?;
    home.restore_roles(context.clock.now()?)?;
    home.learn_client_cas();
    let before = overview::peerings(context, &mut home)?;
    let peers = overview::peers(&home);
    if let Some(peer) = &arguments.remote_cluster_id
        && !peers.iter().any(|(known, _)| known == peer)
    {
        return Err(Failure::waiting(format!(
            "there is no peering with {peer} in {}",
            home.site()
        )));
    }
    let mut failures = Vec::new();
    for (peer, role) in &peers {
        if arguments
            .remote_cluster_id
            .as_ref()
            .is_none_or(|id| id == peer)
        {
            // One peering that cannot be judged does not stop the others.
            if let Err(failure) = settle(context, &mut home, peer, *role) {
                failures.push((peer.clone(), failure));
            }
        }
    }
    let open = tell(
        context,
        &mut home,
        &before,
        arguments.remote_cluster_id.as_ref(),
        Side::Only,
    )?;
    match failures.into_iter().next() {
        None => open.judge(),
        Some((peer, failure)) => Err(failure.about(&format!(
            "the certificates of the peering with {peer} are not renewed, the others are"
        ))),
    }
}

fn both(context: &Context, arguments: &Renew) -> Result<()> {
    let remote = Remote {
        remote_cluster_id: arguments.remote_cluster_id.clone(),
        site: arguments.site.clone(),
    };
    let Homes {
        mut local, remote, ..
    } = Homes::open(context, &remote)?;
    let mut remote = remote.ok_or_else(|| Failure::usage("name the remote home"))?;
    replicate::directions(&local, &remote)?;
    local.learn_client_cas();
    remote.learn_client_cas();
    let before = (
        overview::peerings(context, &mut local)?,
        overview::peerings(context, &mut remote)?,
    );
    let is_peer =
        |home: &Home, peer: &ClusterId, role| overview::peers(home).contains(&(peer.clone(), role));
    let (local_id, remote_id) = (local.cluster_id().clone(), remote.cluster_id().clone());
    if is_peer(&local, &remote_id, Role::Provider) {
        Pair::new(&mut local, &mut remote, &context.policy, context.clock)?.settle()?;
        warn(context, &local, &remote)?;
    }
    if is_peer(&local, &remote_id, Role::Consumer) {
        Pair::new(&mut remote, &mut local, &context.policy, context.clock)?.settle()?;
        warn(context, &remote, &local)?;
    }
    let (only_remote, only_local) = (Some(&remote_id), Some(&local_id));
    let at_local = tell(context, &mut local, &before.0, only_remote, Side::Local)?;
    let at_remote = tell(context, &mut remote, &before.1, only_local, Side::Remote)?;
    at_local.and(at_remote).judge()
}

/// The certificates that are due, and were not renewed.
#[derive(Default)]
struct Open {
    names: Vec<String>,
    /// Why the answer to a renewal is refused.
    why: Option<String>,
    /// What is refused in a peering of theirs.
    refusal: Option<String>,
}

impl Open {
    fn and(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        Self {
            names: self.names,
            why: self.why.or(other.why),
            refusal: self.refusal.or(other.refusal),
        }
    }

    fn judge(self) -> Result<()> {
        let what = format!("not renewed: {}", self.names.join(", "));
        match self.why.or(self.refusal) {
            _ if self.names.is_empty() => Ok(()),
            Some(why) => Err(Failure::new(Code::Refused, format!("{what}. {why}"))),
            None => Err(Failure::waiting(what)),
        }
    }
}

/// Prints why nothing was carried, if there is a reason.
fn warn(context: &Context, consumer: &Home, provider: &Home) -> Result<()> {
    if let Some(why) = replicate::closed(context, consumer, provider)? {
        context.printer.warning(&why);
    }
    Ok(())
}

/// Renews the certificates of one peering on this home alone.
fn settle(context: &Context, home: &mut Home, peer: &ClusterId, role: Role) -> Result<()> {
    match role {
        Role::Consumer => {
            ProviderSide::new(home, peer, &context.policy, context.clock)?.settle()?;
        }
        Role::Provider => {
            let mut side = ConsumerSide::new(home, peer, &context.policy, context.clock)?;
            let (_, notices) = side.settle()?;
            for notice in notices.iter().map(sentence) {
                context.printer.warning(&notice);
            }
        }
    }
    Ok(())
}

/// Prints for each certificate that it was renewed, or when it will be renewed. Returns those
/// that are due and were not renewed.
fn tell(
    context: &Context,
    home: &mut Home,
    before: &[Peering],
    only: Option<&ClusterId>,
    side: Side,
) -> Result<Open> {
    let after = overview::peerings(context, home)?;
    let now = context.clock.now()?;
    let mut told = false;
    let mut renewed: BTreeSet<&str> = BTreeSet::new();
    let mut open = Open::default();
    for (peering, name, certificate) in certificates(&after, only) {
        told = true;
        let earlier = certificates(before, only)
            .into_iter()
            .find(|(_, other, _)| *other == name);
        let is_new =
            earlier.is_none_or(|(.., earlier)| earlier.fingerprint != certificate.fingerprint);
        let until = &certificate.until;
        let line = match &certificate.renewal {
            _ if is_new => format!("{name}: renewed, until {until}"),
            Renewal::NotBefore(due) => format!(
                "{name}: until {until}, renewal from {due} on ({})",
                status::renewed(Some(certificate), now)
            ),
            Renewal::Due => format!("{name}: until {until}, due now"),
            Renewal::Awaited => format!("{name}: until {until}, the next one is awaited"),
            Renewal::ByHand => format!(
                "{name}: until {until}, not renewed: an administrator has made the kubeconfig"
            ),
            Renewal::Cannot(why) => format!("{name}: until {until}, not renewed: {why}"),
            Renewal::None => format!("{name}: until {until}"),
        };
        context.printer.info(side, &line)?;
        renewed.extend(is_new.then_some(peering.peer.as_str()));
        let told = answer(home, peering, certificate, is_new);
        context.deeds.tell("certificates", told);
        if !is_new && let Renewal::Cannot(why) = &certificate.renewal {
            open.why.get_or_insert_with(|| why.clone());
        }
        // A provider may have taken the peer's rights. A consumer has none without it.
        let has_lost_rights = certificate.renewal == Renewal::None
            && peering.role == Role::Provider
            && certificate.ends < now;
        let is_open = !is_new && (certificate.renewal.is_owed() || has_lost_rights);
        let mut refusals = peering.refused.iter();
        let refusal = refusals.find(|refusal| is_about(refusal, peering, certificate));
        if is_open && let Some(refusal) = refusal {
            open.refusal
                .get_or_insert_with(|| format!("{}: {}", peering.peer, refusal.text));
        }
        open.names.extend(is_open.then_some(name));
    }
    if !told {
        context
            .printer
            .message(&format!("{}: no certificate.", home.site()));
    }
    let shown = after.iter().filter(|peering| of(peering, only));
    let shown: Vec<&Peering> = shown.collect();
    let of_providers = shown
        .iter()
        .filter(|it| it.role == Role::Provider && it.certificate.is_some());
    let providers: Vec<&str> = of_providers.map(|it| it.peer.as_str()).collect();
    if let Some(unlooked) = home.unlooked(&providers) {
        context.printer.message(&unlooked);
    }
    for peering in shown {
        for refused in &peering.refused {
            context
                .printer
                .warning(&format!("{}: {}", peering.peer, refused.text));
        }
        let is_renewed = renewed.contains(peering.peer.as_str());
        if peering.role == Role::Consumer && peering.is_drained() {
            let lift = remedies::lift_drain(home, &peering.peer);
            context.printer.warning(&lift);
        }
        if let Some(step) = next_step(home, peering, is_renewed, side) {
            context.printer.message(&step);
        }
    }
    Ok(open)
}

/// What a person does next, who carries a renewal by hand. On clusters, the controllers do it.
fn next_step(home: &Home, peering: &Peering, is_renewed: bool, side: Side) -> Option<String> {
    if side != Side::Only || home.is_live() {
        return None;
    }
    let (program, options, own) = (program(), home.site().options(), home.cluster_id());
    let peer = &peering.peer;
    let is_awaited = |it: &Certificate| it.renewal == Renewal::Awaited;
    match peering.role {
        Role::Consumer => is_renewed.then(|| {
            let of_peer = format!("{options} --remote-cluster-id {peer}");
            let generate = generate(peering, |_| true, &of_peer).join(", and ");
            format!(
                "{peer} has to get what is renewed: by replication, or by its Identity. Here: {generate}\nThen on {peer}: {program} apply -f FILE"
            )
        }),
        Role::Provider => {
            let generate = generate(peering, is_awaited, &format!("--remote-cluster-id {own}"));
            (!generate.is_empty()).then(|| {
                let generate = generate.join(", and ");
                format!(
                    "{peer} has to sign the next certificate. On {peer}: {program} renew, and then {generate}\nThen here: {program} apply -f FILE {options}"
                )
            })
        }
    }
}

/// The commands of a provider that print what has these certificates.
fn generate(
    peering: &Peering,
    is_such: impl Fn(&Certificate) -> bool,
    options: &str,
) -> Vec<String> {
    let of = |certificate: &Option<Certificate>| certificate.as_ref().is_some_and(&is_such);
    let program = program();
    let identity =
        of(&peering.certificate).then(|| format!("{program} generate identity {options}"));
    let slices = peering.slices.iter().filter(|slice| of(&slice.certificate));
    let slices = slices.map(|slice| {
        format!(
            "{program} generate resourceslice {} {options}",
            escaped(&slice.name)
        )
    });
    identity.into_iter().chain(slices).collect()
}

/// The slice that has a certificate; `None` for that of the control plane.
fn slice_of<'p>(peering: &'p Peering, certificate: &Certificate) -> Option<&'p str> {
    let is_its = |held: &Option<Certificate>| held.as_ref() == Some(certificate);
    let mut slices = peering.slices.iter();
    match is_its(&peering.certificate) {
        true => None,
        false => slices
            .find(|slice| is_its(&slice.certificate))
            .map(|slice| slice.name.as_str()),
    }
}

/// Whether a refusal is about what has a certificate, and not about another slice.
fn is_about(refusal: &Refusal, peering: &Peering, certificate: &Certificate) -> bool {
    let object = { refusal.refused.as_ref() }.and_then(|refused| refused.object.as_ref());
    let Some(object) = object else {
        return true;
    };
    let is_of = |slice: &str| {
        object.name == slice || object.name == names::resource_slice_identity_name(slice)
    };
    match slice_of(peering, certificate) {
        Some(slice) => is_of(slice),
        None => !peering.slices.iter().any(|slice| is_of(&slice.name)),
    }
}

/// The same for programs.
fn answer(home: &Home, peering: &Peering, certificate: &Certificate, is_new: bool) -> Value {
    let renewal = match &certificate.renewal {
        _ if is_new => "renewed",
        Renewal::NotBefore(_) => "notDue",
        Renewal::Due => "due",
        Renewal::Awaited => "awaited",
        Renewal::ByHand => "byHand",
        Renewal::Cannot(_) => "refused",
        Renewal::None => "none",
    };
    json!(Told {
        cluster_id: home.cluster_id().as_str(),
        peer: &peering.peer,
        role: peering.role,
        slice: slice_of(peering, certificate),
        renewal,
        certificate,
    })
}

/// A certificate for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'p> {
    #[serde(rename = "clusterID")]
    cluster_id: &'p str,
    peer: &'p str,
    /// The role of the peer.
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    slice: Option<&'p str>,
    renewal: &'static str,
    certificate: &'p Certificate,
}

/// The certificates of peerings, each with its peering, and its name for messages.
fn certificates<'p>(
    peerings: &'p [Peering],
    only: Option<&ClusterId>,
) -> Vec<(&'p Peering, String, &'p Certificate)> {
    let wanted = peerings.iter().filter(|peering| of(peering, only));
    let named = |peering: &'p Peering| {
        let certificates = peering.certificates();
        certificates.map(move |(name, certificate)| (peering, name, certificate))
    };
    wanted.flat_map(named).collect()
}

fn of(peering: &Peering, only: Option<&ClusterId>) -> bool {
    only.is_none_or(|only| only.as_str() == peering.peer)
}
