//! Answers of the legacy token protocol. Nothing panics. An answer without an
//! identity for this home cluster is not stored.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    crypto::{BoxError, Entropy, KeyPair, OneKey, RecordKey},
    legacy::{HomeCluster, HomeClusterSettings, HttpResponse, TokenProtocol},
    machine::Objects,
    model::{AuthStatus, ForeignCluster, Object, ProtocolVersion},
    policy::Policy,
};
use liqo_auth_fuzz::env;

fuzz_target!(|bytes: &[u8]| {
    HOMES.with(|homes| {
        for (version, home) in homes {
            let _ = answer(*version, home, bytes);
        }
    });
});

// Made once: a home cluster has a key and settings, and no state.
thread_local! {
    static HOMES: [(ProtocolVersion, HomeCluster); 2] =
        [ProtocolVersion::V0_2, ProtocolVersion::V0_4]
            .map(|version| (version, home(version).expect("the settings are valid")));
}

fn home(version: ProtocolVersion) -> Result<HomeCluster, BoxError> {
    let key = OneKey(Arc::new(KeyPair::from_entropy(&Entropy::from_bytes(
        [7; 32],
    ))));
    let settings = HomeClusterSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        policy: Policy::compatible(),
        peer_versions: [("cl-foreign".parse()?, version)].into(),
        ..HomeClusterSettings::default()
    };
    let (id, record_key) = ("cl-home".parse()?, RecordKey::new([1; 32])?);
    Ok(HomeCluster::new(id, Arc::new(key), record_key, settings))
}

fn answer(version: ProtocolVersion, home: &HomeCluster, bytes: &[u8]) -> Result<(), BoxError> {
    let peer = "cl-foreign".parse()?;
    let mut cluster = ForeignCluster::default();
    cluster.metadata.name = "foreign".into();
    cluster.spec.foreign_auth_url = "https://foreign.example".into();
    cluster.spec.cluster_identity.cluster_id = "cl-foreign".into();
    let mut response = HttpResponse::unavailable();
    response.status = 200;
    response.body = bytes.into();
    let _ = home.receive_ids(&cluster, &response);
    let mut objects = Objects::new(&env().entropy);
    objects.insert(Object::from(cluster));
    for _ in 0..3 {
        let next = home.reconcile(&objects.view(&peer), &env())?;
        for effect in &next.step.effects {
            objects.apply(effect)?;
        }
        if let Some(request) = next.request {
            let step = home.receive(&objects.view(&peer), &request, &response, &env())?;
            for effect in &step.effects {
                objects.apply(effect)?;
            }
        }
    }
    // In version 0.2, the input may be a valid kubeconfig. In version 0.4, the fuzzer
    // cannot make a certificate for the home cluster's key.
    let stored = objects.get::<ForeignCluster>("", "foreign");
    let status = stored.map(|cluster| cluster.status.auth_status());
    assert!(version == ProtocolVersion::V0_2 || status != Some(AuthStatus::Accepted));
    Ok(())
}
