//! The invariants, each by its name.

use liqo_auth::machine::Side;
use stateright::Property;

use crate::{
    calls::{At, Call},
    cast::Name,
    fairness::MOST_ROUNDS,
    ghost::{DRAINED, Rule},
    state::State,
    world::World,
};

pub const LIVENESS: &str = "a fair run ends in Authenticated, Refused or Ended";
pub const TRANSCRIPT: &str = "both sides of a finished exchange agree on the transcript";
pub const KUBECONFIG: &str = "the kubeconfig of an Identity has the consumer's own key";
pub const OTHERS: &str = "a hostile peer holds up nobody else";
pub const AT_REST: &str = "no rights are left after an end or a drain";

/// The names of the invariants of transitions.
pub const RULES: [(Rule, &str); 10] = [
    (
        Rule::ProvenKeyAndSubject,
        "a certificate only for a proven key and the one subject",
    ),
    (
        Rule::OneCertificate,
        "one certificate at a time for a request",
    ),
    (Rule::Invitation, "nothing is granted without an invitation"),
    (
        Rule::NonceServesOnce,
        "a used or replaced nonce never serves again",
    ),
    (
        Rule::NoRightsAfterEnd,
        "no rights are given to a drained peer",
    ),
    (
        Rule::ConditionByAdministrator,
        "a condition is lifted by the administrator alone",
    ),
    (
        Rule::SignsOwnNonces,
        "a consumer signs only nonces for itself",
    ),
    (
        Rule::StoresVerified,
        "a consumer stores only what it verified",
    ),
    (
        Rule::SignsOwnRequests,
        "a consumer signs only requests of its own",
    ),
    (
        Rule::KeepsClusterKey,
        "a provider that is a consumer as well reads no key but its own",
    ),
];

pub fn all() -> Vec<Property<World>> {
    let holds = |condition: fn(&World, &State) -> bool, number: usize| {
        Property::always(RULES[number].1, condition)
    };
    vec![
        holds(|_, state| keeps(state, 0), 0),
        holds(|_, state| keeps(state, 1), 1),
        holds(|_, state| keeps(state, 2), 2),
        holds(|_, state| keeps(state, 3), 3),
        holds(|_, state| keeps(state, 4), 4),
        holds(|_, state| keeps(state, 5), 5),
        holds(|_, state| keeps(state, 6), 6),
        holds(|_, state| keeps(state, 7), 7),
        holds(|_, state| keeps(state, 8), 8),
        holds(|_, state| keeps(state, 9), 9),
        Property::always(AT_REST, no_rights_at_rest),
        Property::always(LIVENESS, ends),
        Property::always(TRANSCRIPT, agrees),
        Property::always(KUBECONFIG, has_own_kubeconfigs),
        Property::always(OTHERS, holds_up_nobody),
    ]
}

fn keeps(state: &State, number: usize) -> bool {
    state.broken & RULES[number].0.bit() == 0
}

/// After a fair run, a peer that is drained, or that nobody has invited since the
/// end, has neither bindings, nor rights in an offloaded namespace, nor granted slices.
fn no_rights_at_rest(world: &World, state: &State) -> bool {
    let ghost = world.ghost(state.ghost);
    let mut peers = world.peerings().filter(|at| at.side == Side::Provider);
    peers.all(|at| {
        let of_peer = ghost.of(at.peer);
        if of_peer.invited && of_peer.condition != DRAINED {
            return true;
        }
        let facts = world.facts(world.fair_end(state).store, at.peer);
        facts.bindings == 0 && facts.offloaded == 0 && facts.granted_slices == 0
    })
}

/// Where the honest clusters come to rest.
fn ends(world: &World, state: &State) -> bool {
    let end = world.fair_end(state);
    if end.rounds.is_none_or(|rounds| rounds > MOST_ROUNDS) {
        return false;
    }
    let configuration = &world.configuration;
    let peer = match configuration.has_consumer {
        true => Name::Consumer,
        false => Name::Hostile,
    };
    let ghost = world.ghost(state.ghost);
    let of_peer = ghost.of(peer);
    let (provider, consumer) = (end.provider.0, end.consumer.0);
    if configuration.has_consumer {
        if of_peer.is_cut_short {
            return matches!(
                provider,
                "Authenticated" | "Refused" | "Ended" | "Uninvited" | "Drained"
            );
        }
        match (of_peer.invited, of_peer.condition) {
            // Wanted, and allowed in.
            (true, condition) if condition < DRAINED => match end.provider {
                ("Authenticated", _) => consumer == "Authenticated" || may_wait(world, consumer),
                // The consumer has signed the nonce on offer, and has ended the peering
                // before the provider used it.
                ("AwaitsTenant" | "Refused", _) if may_wait(world, consumer) => true,
                // An invitation lapses with its nonce, if a crash kept the nonce from
                // being handed out, and nobody has looked before the nonce expired.
                ("Uninvited", _) => state.instant > 1 && configuration.left.crashes > 0,
                // It has ended, and may begin again.
                ("Ended", _) => configuration.setup.peer_again,
                // A crash cut the administrator's word short.
                ("Drained", _) => configuration.left.crashes > 0,
                _ => false,
            },
            (true, _) => matches!(provider, "Drained" | "Refused" | "AwaitsTenant" | "Ended"),
            (false, _) => matches!(
                provider,
                "Ended" | "Uninvited" | "Authenticated" | "Drained"
            ),
        }
    } else {
        // The hostile peer does nothing any more: the provider may wait for it.
        matches!(
            provider,
            "Authenticated" | "Refused" | "Ended" | "Uninvited" | "Drained" | "AwaitsTenant"
        ) && matches!(
            consumer,
            "Authenticated" | "Refused" | "AwaitsNonce" | "AwaitsIdentity"
        )
    }
}

fn agrees(world: &World, state: &State) -> bool {
    let end = world.fair_end(state);
    let both = (end.provider.0, end.consumer.0) == ("Authenticated", "Authenticated");
    // Without an honest consumer, the two sides belong to two peerings.
    !both || !world.configuration.has_consumer || end.agree == Some(true)
}

/// After a fair run, the kubeconfig of each stored Identity has a certificate for the consumer
/// and the consumer's own key, whatever a provider has written in its place.
fn has_own_kubeconfigs(world: &World, state: &State) -> bool {
    world.fair_end(state).has_own_kubeconfigs
}

/// With a hostile cluster beside it, an honest peering comes as far as without.
fn holds_up_nobody(world: &World, state: &State) -> bool {
    let configuration = &world.configuration;
    !configuration.has_consumer || configuration.hostile.is_none() || ends(world, state)
}

/// A consumer that has ended the peering by itself waits for another nonce. If a nonce
/// that was replaced comes late, it signs that one, and waits for its answer.
fn may_wait(world: &World, consumer: &str) -> bool {
    let may_end = world.configuration.words.contains(&Call::Unauthenticate);
    may_end && matches!(consumer, "AwaitsNonce" | "AwaitsIdentity")
}

/// Where a peering stands, for messages.
pub fn describe(world: &World, state: &State) -> String {
    let phases: Vec<String> = world
        .peerings()
        .map(|at: At| {
            let store = world.store(world.stored_at(state, at));
            let (phase, code) = crate::calls::phase(&world.cast, &store, at, state.instant);
            format!(
                "{:?} of {:?}: {phase} {}",
                at.side,
                at.peer,
                code.unwrap_or("")
            )
        })
        .collect();
    let ghost = world.ghost(state.ghost);
    format!(
        "{}; fair run: {:?}; {:?}",
        phases.join("; "),
        world.fair_end(state),
        world
            .peerings()
            .map(|at| ghost.of(at.peer).invited)
            .collect::<Vec<_>>(),
    )
}
