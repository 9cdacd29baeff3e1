//! Answers of the legacy token protocol. Nothing panics. An answer without an
//! identity for this home cluster is not stored.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    crypto::{Entropy, KeyPair, OneKey, RecordKey},
    legacy::{HomeCluster, HomeClusterSettings, HttpResponse, TokenProtocol},
    machine::Objects,
    model::{AuthStatus, ForeignCluster, Object, ProtocolVersion},
    policy::Policy,
};
use liqo_auth_fuzz::env;

fuzz_target!(|bytes: &[u8]| {
    for version in [ProtocolVersion::V0_2, ProtocolVersion::V0_4] {
        let _ = answer(version, bytes);
    }
});

fn answer(
    version: ProtocolVersion,
    bytes: &[u8],
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let key = OneKey(Arc::new(KeyPair::from_entropy(&Entropy::from_bytes(
        [7; 32],
    ))));
    let peer = "cl-foreign".parse()?;
    let settings = HomeClusterSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        policy: Policy::compatible(),
        peer_versions: [("cl-foreign".parse()?, version)].into(),
        ..HomeClusterSettings::default()
    };
    let (id, record_key) = ("cl-home".parse()?, RecordKey::new([1; 32])?);
    let home = HomeCluster::new(id, Arc::new(key), record_key, settings);
    let mut cluster = ForeignCluster::default();
    cluster.metadata.name = "foreign".into();
    cluster.spec.foreign_auth_url = "https://foreign.example".into();
    cluster.spec.cluster_identity.cluster_id = "cl-foreign".into();
    let mut response = HttpResponse::unavailable();
    response.status = 200;
    response.body = bytes.into();
    let _ = home.receive_ids(&cluster, &response);
    let mut objects: Objects = [Object::from(cluster)].into_iter().collect();
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
