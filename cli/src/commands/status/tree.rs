//! `status --tree`: this cluster, its peers on each side, their certificates and slices, and what
//! is wrong.

use super::{
    Seen, condition, dash, timeline, tone_of, tone_of_end, tone_of_phase, tone_of_renewal,
};
use crate::{
    commands::{
        doctor::{
            Finding,
            peerings::{of_waits, refused_or_expired},
        },
        legacy::status::LegacyPeering,
    },
    output::{Drawing, Node, Tone, escaped},
    overview::{Certificate, Peering, Role, Slice, Waits},
};

/// The tree of what was seen.
pub(super) fn of(seen: &Seen, drawing: Drawing) -> Node {
    let side = |role: Role| {
        let peerings = seen.peerings.iter();
        let peerings = peerings.filter(move |peering| peering.role == role);
        Node::new(match role {
            Role::Consumer => "consumers",
            Role::Provider => "providers",
        })
        .with(peerings.map(|peering| of_peering(seen, peering, drawing)))
    };
    let legacy = seen.legacy.iter().map(|peering| {
        let LegacyPeering { peer, role, state } = peering;
        Node::new(&format!("{role} {}: {}", escaped(peer), escaped(state)))
    });
    let legacy = Node::new("peers by the token protocol").with(legacy);
    let groups = [side(Role::Consumer), side(Role::Provider), legacy];
    Node::new(&format!("Cluster {}", seen.home.cluster_id()))
        .with(groups.into_iter().filter(|group| !group.is_alone()))
}

fn of_peering(seen: &Seen, peering: &Peering, drawing: Drawing) -> Node {
    let Peering {
        peer,
        // The group has it.
        role: _,
        phase,
        // The colour has it.
        is_refused: _,
        // The phase says it.
        is_tolerated: _,
        condition: said_condition,
        condition_held: _,
        nonce_until,
        // A guess, which `-o wide` shows.
        peer_version: _,
        certificate,
        slices,
        waits_for,
        // What is refused is a finding, as what is not known.
        refused: _,
        reads_only_ed25519: _,
        is_carried_by_hand: _,
        failure: _,
    } = peering;
    // A phase may have the name of the condition.
    let stand = match said_condition {
        None => (*phase).to_owned(),
        Some(said) if format!("{said:?}") == *phase => condition(peering),
        Some(_) => format!("{phase}, {}", condition(peering)),
    };
    let nonce = nonce_until.map(|until| Node::new(&format!("nonce, valid until {until}")));
    let certificate = certificate
        .iter()
        .map(|own| of_certificate(seen, peering, own, drawing));
    let slices = slices.iter();
    let slices = slices.map(|slice| of_slice(seen, peering, slice, drawing));
    let findings = refused_or_expired(&seen.home, peering, seen.now);
    let waits = waits_for
        .iter()
        .map(|waits| match of_waits(&seen.home, peering, waits) {
            Some(finding) => of_finding(&finding),
            None => of_waiting(waits),
        });
    let text = format!("{}: {stand}", escaped(peer));
    Node::toned(&text, tone_of_phase(peering))
        .with(nonce)
        .with(certificate)
        .with(slices)
        .with(findings.iter().map(of_finding))
        .with(waits)
}

fn of_waiting(waits: &Waits) -> Node {
    let node = Node::toned(&format!("waits for {}", waits.text), tone_of(waits));
    match &waits.command {
        None => node,
        Some(command) => node.with_prose(&format!("command: {command}")),
    }
}

fn of_slice(seen: &Seen, peering: &Peering, slice: &Slice, drawing: Drawing) -> Node {
    let Slice {
        name,
        phase,
        authentication,
        resources,
        cordoned,
        denied,
        certificate,
    } = slice;
    let cordoned = if *cordoned { ", cordoned" } else { "" };
    let (name, authentication) = (escaped(name), dash(authentication.clone()));
    let resources = dash(resources.clone());
    let text = format!(
        "slice {name}: {phase}, authentication {authentication}, resources {resources}{cordoned}"
    );
    let certificate = certificate
        .iter()
        .map(|own| of_certificate(seen, peering, own, drawing));
    Node::toned(&text, denied.then_some(Tone::Bad)).with(certificate)
}

fn of_certificate(
    seen: &Seen,
    peering: &Peering,
    certificate: &Certificate,
    drawing: Drawing,
) -> Node {
    let said = timeline::said(certificate, seen.now);
    let line = timeline::of(certificate, seen.now, drawing);
    let tone = tone_of_end(peering, certificate, seen.now);
    let tone = tone.or_else(|| tone_of_renewal(certificate));
    Node::toned(&format!("certificate: {said}"), tone).with_drawn(line)
}

fn of_finding(finding: &Finding) -> Node {
    let Finding { what, remedy } = finding;
    Node::toned(&format!("wrong: {what}"), Some(Tone::Bad)).with_prose(&format!("remedy: {remedy}"))
}
