//! Tenants and certificate requests that take long to verify.

use std::{hint::black_box, sync::Arc};

use liqo_auth::{
    crypto::{Csr, Entropy, KeyPair, Nonce, SigningKey, StructuredNonce, Subject},
    model::Tenant,
    policy::{Limits, Policy},
    verify::{self, TenantExpectation},
};

use super::{
    super::{
        clock::Stage,
        clusters::{Clusters, YEAR, consumer_id, entropy, now, provider_id},
    },
    x509::{ED25519, common_name_part, pem_of, tlv},
};

pub(super) fn stages() -> Vec<Stage> {
    #[allow(unused_mut, reason = "features add stages")]
    let mut stages = vec![
        tenant("tenant, Ed25519", KeyPair::from_entropy(&entropy(1))),
        request_of_many_names(),
    ];
    #[cfg(feature = "ecdsa")]
    {
        use liqo_auth::crypto::Algorithm::EcdsaP521;

        let key = KeyPair::generate(EcdsaP521, &mut getrandom::SysRng).unwrap();
        stages.push(tenant("tenant, ECDSA P-521", key));
    }
    #[cfg(feature = "rsa")]
    {
        let rsa_4096 = liqo_auth::crypto::Algorithm::Rsa { bits: 4096 };
        let key = || KeyPair::generate(rsa_4096, &mut getrandom::SysRng).unwrap();
        let name = "tenant, RSA-4096 (with the compositeness test)";
        stages.push(tenant(name, key()));
        stages.push(tenant_of_known_key("tenant, RSA-4096 known", key()));
    }
    stages
}

/// Measures the verification of an honest Tenant.
fn tenant(name: &'static str, key: KeyPair) -> Stage {
    let (tenant, nonce) = tenant_of(key);
    Stage::new(name, move || {
        let expectation = TenantExpectation {
            consumer: &consumer_id(),
            nonce: &nonce,
        };
        black_box(verify::tenant(&tenant, &expectation, &Policy::strict()).unwrap());
    })
}

/// Measures the verification of an honest Tenant whose key was admitted earlier.
#[cfg(feature = "rsa")]
fn tenant_of_known_key(name: &'static str, key: KeyPair) -> Stage {
    let public_key = key.public_key().clone();
    let (tenant, nonce) = tenant_of(key);
    Stage::new(name, move || {
        let (subject, policy) = (Subject::control_plane(&consumer_id()), Policy::strict());
        let key = &public_key;
        Csr::verify(tenant.spec.csr.as_slice(), &subject, key, &policy).unwrap();
        let signature = tenant.spec.signature.as_slice();
        key.verify(
            key.nonce_scheme(),
            nonce.as_str().as_bytes(),
            signature,
            &policy,
        )
        .unwrap();
    })
}

fn tenant_of(key: KeyPair) -> (Tenant, Nonce) {
    let clusters = Clusters::with(Arc::new(key), None);
    let nonce = StructuredNonce::issue(
        &provider_id(),
        &consumer_id(),
        None,
        now() + YEAR,
        &clusters.record_key,
        &Entropy::from_bytes([6; 32]),
    );
    (clusters.tenant(&nonce), nonce)
}

/// Measures a request with a very long subject, which the error has to show.
fn request_of_many_names() -> Stage {
    let key = KeyPair::from_entropy(&entropy(1));
    let name = tlv(0x30, &common_name_part("x").repeat(420));
    let information = tlv(
        0x30,
        &[
            &[2, 1, 0],
            &name[..],
            key.public_key().spki_der(),
            &[0xa0, 0],
        ]
        .concat(),
    );
    let signature = tlv(3, &[0x11; 65]);
    let request = tlv(0x30, &[information, ED25519.to_vec(), signature].concat());
    let text = pem_of("CERTIFICATE REQUEST", &request);
    assert!(text.len() < Limits::default().csr);
    Stage::new("request of many names", move || {
        let subject = Subject::control_plane(&consumer_id());
        let public_key = key.public_key();
        let verdict = Csr::verify(text.as_bytes(), &subject, public_key, &Policy::strict());
        assert!(black_box(verdict).is_err());
    })
}
