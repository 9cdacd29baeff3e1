//! Writes an exchange of each algorithm where the judge of
//! `benches/reference` reads it: `target/judge/<algorithm>/`.
//!
//! Liqo 1.0.0 knows Ed25519 only; the other algorithms are for later versions.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic, and write files.
#![cfg(all(feature = "yaml", feature = "rsa", feature = "ecdsa"))]

mod exchange;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use liqo_auth::{
    consumer::PeerSettings,
    crypto::{Algorithm, KeyPair, Nonce},
    model::{Identity, Object, manifest},
    policy::Limits,
};

use exchange::{Exchange, Setup};

const EXCHANGES: [(&str, Algorithm); 7] = [
    ("ed25519", Algorithm::Ed25519),
    ("rsa-2048", Algorithm::Rsa { bits: 2048 }),
    ("rsa-3072", Algorithm::Rsa { bits: 3072 }),
    ("rsa-4096", Algorithm::Rsa { bits: 4096 }),
    ("ecdsa-p256", Algorithm::EcdsaP256),
    ("ecdsa-p384", Algorithm::EcdsaP384),
    ("ecdsa-p521", Algorithm::EcdsaP521),
];

#[test]
fn an_exchange_of_each_algorithm_lies_ready_for_the_judge() {
    for (name, algorithm) in EXCHANGES {
        let mut setup = Setup::new();
        let key = KeyPair::generate(algorithm, &mut getrandom::SysRng).unwrap();
        setup.consumer_key = Arc::new(key);
        write(name, &settled(&setup));
    }
}

#[test]
fn an_exchange_by_a_proxy_lies_ready_for_the_judge() {
    let mut setup = Setup::new();
    setup.settings = PeerSettings {
        proxy_url: Some("http://10.70.0.2:8118".parse().unwrap()),
        ..PeerSettings::default()
    };
    let exchange = settled(&setup);
    assert!(exchange.kubeconfig().contains("http://10.70.0.2:8118"));
    write("ed25519-proxy", &exchange);
}

fn settled(setup: &Setup) -> Exchange {
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

fn write(name: &str, exchange: &Exchange) {
    let folder = target().join("judge").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let nonce = exchange.provider_secret("liqo-nonce");
    let nonce = Nonce::parse(nonce.data["nonce"].expose(), &Default::default()).unwrap();
    let identity = Identity {
        status: Default::default(),
        ..exchange.identity()
    };
    let files = [
        (
            "consumer-id.txt",
            exchange.consumer.cluster_id().to_string(),
        ),
        (
            "provider-id.txt",
            exchange.provider.cluster_id().to_string(),
        ),
        ("nonce.txt", nonce.as_str().to_owned()),
        (
            "tenant.yaml",
            manifest::write_yaml(&Object::from(exchange.tenant())),
        ),
        (
            "identity.yaml",
            manifest::write_yaml(&Object::from(identity)),
        ),
        ("kubeconfig.yaml", exchange.kubeconfig()),
        ("now.txt", exchange.now.to_string()),
    ];
    for (file, content) in &files {
        std::fs::write(folder.join(file), content).unwrap();
    }
    // What the judge will read is what was meant.
    for (file, object) in [
        ("tenant.yaml", Object::from(exchange.tenant())),
        ("identity.yaml", Object::from(exchange.identity())),
    ] {
        let text = std::fs::read(folder.join(file)).unwrap();
        assert_eq!(
            manifest::read(&text, &Limits::default()).unwrap(),
            [object],
            "{name}/{file}"
        );
    }
    let mut present: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    present.sort();
    let mut expected = files.map(|(file, _)| file.to_owned());
    expected.sort();
    assert_eq!(present, expected, "{name}");
}

/// Cargo's target folder, in which the temporary one of tests lies.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .to_owned()
}
