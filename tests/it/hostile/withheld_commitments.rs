//! A nonce that commits to a key of the provider, and an Identity that proves no
//! key: someone on the way took the proof away, or made the Identity.

use liqo_auth::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    error::{Fault, PeerIncompatible},
    machine::{MessageBody, Notice},
    policy::Policy,
};

use crate::clusters::exchange::{Exchange, Setup};

fn without_commitment(body: &mut MessageBody) {
    if let MessageBody::Identity(identity) = body {
        identity.metadata.annotations.remove(COMMITMENT_ANNOTATION);
    }
}

fn exchange(setup: &Setup) -> Exchange {
    let mut exchange = setup.exchange();
    exchange.on_the_way = without_commitment;
    exchange.settle();
    exchange
}

#[test]
fn an_identity_without_the_proof_that_its_nonce_promised_is_refused() {
    let exchange = exchange(&Setup::new());
    assert_eq!(exchange.phases(), ("Authenticated", "AwaitsIdentity"));
    let missing = Fault::from(PeerIncompatible::CommitmentMissing);
    assert!(exchange.refused.iter().any(|it| *it.fault() == missing));
}

#[test]
fn an_embedder_may_accept_an_unproven_provider() {
    let mut setup = Setup::new();
    setup.settings.accept_unproven_provider = true;
    let exchange = exchange(&setup);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(exchange.notices, [Notice::ProviderUnproven]);
}

#[test]
fn the_compatible_policy_takes_it_as_unproven() {
    let setup = Setup {
        policy: Policy::compatible(),
        ..Setup::new()
    };
    let exchange = exchange(&setup);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(exchange.notices, [Notice::ProviderUnproven]);
}
