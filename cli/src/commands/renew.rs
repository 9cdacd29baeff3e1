//! `renew`: renews the certificates that are due.

mod next_step;
mod outcome;

use std::collections::BTreeSet;

use liqo_auth::model::ClusterId;

use self::outcome::Outcome;
use super::homes::Homes;
use super::{left::Left, replicate};
use crate::{
    arguments::{Remote, Renew},
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
    output::Side,
    overview::{self, Certificate, Peering, Role},
    peering::{consumer_side::ConsumerSide, pair::Pair, provider_side::ProviderSide},
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
    let (mut failures, mut lost) = (Vec::new(), Left::default());
    for (peer, role) in &peers {
        if arguments
            .remote_cluster_id
            .as_ref()
            .is_none_or(|id| id == peer)
        {
            if *role == Role::Provider {
                lost = lost.and(Left::of_lost_slices(&home, peer));
            }
            // One peering that cannot be judged does not stop the others.
            if let Err(failure) = settle(context, &mut home, peer, *role) {
                failures.push((peer.clone(), failure));
            }
        }
    }
    let left = tell(
        context,
        &mut home,
        &before,
        arguments.remote_cluster_id.as_ref(),
        Side::Only,
    )?;
    match failures.into_iter().next() {
        None => left.and(lost).judge(),
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
    for home in [&mut local, &mut remote] {
        home.restore_roles(context.clock.now()?)?;
        home.learn_client_cas();
    }
    let before = (
        overview::peerings(context, &mut local)?,
        overview::peerings(context, &mut remote)?,
    );
    let is_peer =
        |home: &Home, peer: &ClusterId, role| overview::peers(home).contains(&(peer.clone(), role));
    let (local_id, remote_id) = (local.cluster_id().clone(), remote.cluster_id().clone());
    let mut lost = Left::default();
    if is_peer(&local, &remote_id, Role::Provider) {
        lost = lost.and(Left::of_lost_slices(&local, &remote_id));
        Pair::new(&mut local, &mut remote, &context.policy, context.clock)?.settle()?;
        lost = lost.and(closed(context, &mut local, &remote)?);
    }
    if is_peer(&local, &remote_id, Role::Consumer) {
        lost = lost.and(Left::of_lost_slices(&remote, &local_id));
        Pair::new(&mut remote, &mut local, &context.policy, context.clock)?.settle()?;
        lost = lost.and(closed(context, &mut remote, &local)?);
    }
    let (only_remote, only_local) = (Some(&remote_id), Some(&local_id));
    let at_local = tell(context, &mut local, &before.0, only_remote, Side::Local)?;
    let at_remote = tell(context, &mut remote, &before.1, only_local, Side::Remote)?;
    at_local.and(at_remote).and(lost).judge()
}

/// Why nothing was carried, if there is a reason: what is left if a slice waits for it, and else a
/// warning.
fn closed(context: &Context, consumer: &mut Home, provider: &Home) -> Result<Left> {
    let Some(why) = replicate::closed(context, consumer, provider)? else {
        return Ok(Left::default());
    };
    if replicate::awaits_decision(context, consumer, provider.cluster_id())? {
        return Ok(Left::waiting(why));
    }
    context.printer.warning(&why);
    Ok(Left::default())
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
            for notice in &notices {
                let told = remedies::noticed(side.home, peer, role, notice);
                context.printer.warning(&told);
            }
        }
    }
    Ok(())
}

/// Prints for each certificate that it was renewed, or when it will be renewed. Returns what is
/// left.
fn tell(
    context: &Context,
    home: &mut Home,
    before: &[Peering],
    only: Option<&ClusterId>,
    side: Side,
) -> Result<Left> {
    let after = overview::peerings(context, home)?;
    let now = context.clock.now()?;
    let mut renewed: BTreeSet<&str> = BTreeSet::new();
    let certificates = certificates(&after, only);
    for (peering, name, certificate) in &certificates {
        let outcome = Outcome {
            peering,
            certificate,
            is_new: is_new(before, only, name, certificate),
            now,
        };
        let line = format!("{name}: {}", outcome.said());
        context.printer.info(side, &line)?;
        renewed.extend(outcome.is_new.then_some(peering.peer.as_str()));
        context.deeds.tell("certificates", outcome.told(home));
    }
    if certificates.is_empty() {
        context
            .printer
            .message(&format!("{}: no certificate.", home.site()));
    }
    let shown = after.iter().filter(|peering| of(peering, only));
    let shown: Vec<&Peering> = shown.collect();
    say_unlooked(context, home, &shown);
    let mut left = Left::default();
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
        if let Some(step) = next_step::of(home, peering, is_renewed, side) {
            context.printer.message(&step);
        }
        left = left.and(Left::of(home, peering, now));
    }
    Ok(left)
}

/// Says that nobody has logged in at the providers.
fn say_unlooked(context: &Context, home: &Home, shown: &[&Peering]) {
    let of_providers = shown
        .iter()
        .filter(|it| it.role == Role::Provider && it.certificate.is_some());
    let providers: Vec<&str> = of_providers.map(|it| it.peer.as_str()).collect();
    if let Some(unlooked) = home.unlooked(&providers) {
        context.printer.message(&unlooked);
    }
}

/// Whether a certificate was not there before.
fn is_new(
    before: &[Peering],
    only: Option<&ClusterId>,
    name: &str,
    certificate: &Certificate,
) -> bool {
    let before = certificates(before, only);
    let mut earlier = before.iter().filter(|(_, other, _)| other == name);
    earlier.all(|(.., earlier)| earlier.fingerprint != certificate.fingerprint)
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
