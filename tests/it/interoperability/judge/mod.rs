//! Writes exchanges to `target/judge/<name>/`, where the judge of
//! `benches/reference` reads them. Each name begins with the algorithm.
//!
//! Liqo 1.0.0 accepts only Ed25519; the other algorithms are for later
//! versions. Renewals by the provider are for 1.2, renewals by the consumer for
//! earlier versions.

mod folder;
mod peering_user;
mod renewals;
mod replicated;
mod slices;

use std::sync::Arc;

use self::folder::Folder;
use liqo_auth::{
    consumer::PeerSettings,
    crypto::{Algorithm, KeyPair, SigningKey},
};

use crate::clusters::exchange::{Exchange, Setup};

const EXCHANGES: [(&str, Algorithm); 7] = [
    ("ed25519", Algorithm::Ed25519),
    ("rsa-2048", Algorithm::Rsa { bits: 2048 }),
    ("rsa-3072", Algorithm::Rsa { bits: 3072 }),
    ("rsa-4096", Algorithm::Rsa { bits: 4096 }),
    ("ecdsa-p256", Algorithm::EcdsaP256),
    ("ecdsa-p384", Algorithm::EcdsaP384),
    ("ecdsa-p521", Algorithm::EcdsaP521),
];

/// One algorithm of each kind, for the stages after the exchange.
const KINDS: [(&str, Algorithm); 3] = [
    ("ed25519", Algorithm::Ed25519),
    ("rsa-2048", Algorithm::Rsa { bits: 2048 }),
    ("ecdsa-p256", Algorithm::EcdsaP256),
];

#[test]
fn an_exchange_of_each_algorithm_is_written_for_the_judge() {
    for (name, algorithm) in EXCHANGES {
        let mut setup = Setup::new();
        setup.consumer_key = key(algorithm);
        let exchange = settled(&setup);
        let folder = Folder::new(name, &exchange, exchange.identity());
        assert_eq!(folder.files(), folder::OF_EVERY_EXCHANGE, "{name}");
    }
}

#[test]
fn an_exchange_through_a_proxy_is_written_for_the_judge() {
    let mut setup = Setup::new();
    setup.settings = PeerSettings {
        proxy_url: Some("http://10.70.0.2:8118".parse().unwrap()),
        ..PeerSettings::default()
    };
    let exchange = settled(&setup);
    assert!(exchange.kubeconfig().contains("http://10.70.0.2:8118"));
    Folder::new("ed25519-proxy", &exchange, exchange.identity());
}

fn key(algorithm: Algorithm) -> Arc<dyn SigningKey> {
    Arc::new(KeyPair::generate(algorithm, &mut getrandom::SysRng).unwrap())
}

fn settled(setup: &Setup) -> Exchange {
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}
