//! What is exactly as long as a limit is read; what is longer by one is refused for
//! its length.

use liqo_auth::{
    crypto::{Csr, Entropy, KeyError, Nonce, NonceError, PublicKey, SignatureError, Subject},
    error::{Fault, PolicyRefusal},
    model::{ClusterId, Metadata, Namespace, Tenant, TenantSpec},
    policy::{Limits, Policy},
    verify::{self, TenantExpectation},
};

use crate::clusters::{
    exchange::{Setup, ed25519, id},
    store,
};

fn text(length: usize) -> Vec<u8> {
    vec![b'A'; length]
}

fn limits() -> Limits {
    Policy::strict().limits
}

#[test]
fn a_public_key() {
    let policy = Policy::strict();
    let limit = limits().public_key;
    assert_eq!(limit, 2048);
    let read = |length| PublicKey::from_tenant_field(&text(length), &policy).unwrap_err();
    let found = limit + 1;
    assert_eq!(read(found), KeyError::TooLong { found, limit });
    assert!(!matches!(read(limit), KeyError::TooLong { .. }));
}

#[test]
fn a_request() {
    use liqo_auth::crypto::CsrError;

    let (policy, key) = (Policy::compatible(), ed25519(1));
    let subject = Subject::control_plane(&id("cl-consumer"));
    let limit = limits().csr;
    assert_eq!(limit, 8192);
    let read = |length| {
        let key = key.public_key();
        Csr::verify(&text(length), &subject, key, &policy).unwrap_err()
    };
    let found = limit + 1;
    assert_eq!(read(found), CsrError::TooLong { found, limit });
    assert!(!matches!(read(limit), CsrError::TooLong { .. }));
}

#[test]
fn a_signature() {
    let (policy, key) = (Policy::strict(), ed25519(1));
    let key = key.public_key();
    let limit = limits().signature;
    assert_eq!(limit, 1024);
    let read = |length| {
        let scheme = key.nonce_scheme();
        key.verify(scheme, b"", &text(length), &policy).unwrap_err()
    };
    let found = limit + 1;
    assert_eq!(read(found), SignatureError::TooLong { found, limit });
    assert!(!matches!(read(limit), SignatureError::TooLong { .. }));
}

#[test]
fn a_nonce() {
    let policy = Policy::compatible();
    let limit = limits().nonce;
    assert_eq!(limit, 128);
    let found = limit + 1;
    let too_long = NonceError::TooLong { found, limit };
    assert_eq!(Nonce::parse(&text(found), &policy), Err(too_long));
    // 128 digits are 96 bytes.
    let digits: String = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
    let digits: String = digits.chars().cycle().take(limit).collect();
    assert!(Nonce::parse(digits.as_bytes(), &policy).is_ok());
    assert!(Nonce::parse(&digits.as_bytes()[..limit - 4], &policy).is_ok());
}

/// The name of a cluster and `liqo-tenant-` are the name of a namespace.
#[test]
fn the_name_of_a_cluster() {
    let limit = limits().cluster_id;
    assert_eq!(limit, 51);
    for found in [limit, limit + 1] {
        let mut exchange = Setup::new().exchange();
        let peer: ClusterId = "c".repeat(found).parse().unwrap();
        let objects = store::empty();
        let invited = exchange
            .provider
            .invite(&objects.view(&peer), exchange.env());
        let refusal = invited.err().map(|error| error.fault().clone());
        let too_long = Fault::Policy(PolicyRefusal::ClusterIdTooLong { found, limit });
        assert_eq!(refusal, (found > limit).then_some(too_long), "{found}");

        // The Tenant is refused as well, whatever its namespace is.
        let tenant = Tenant {
            metadata: Metadata {
                name: peer.to_string(),
                ..Metadata::default()
            },
            spec: TenantSpec {
                cluster_id: peer.to_string(),
                ..TenantSpec::default()
            },
            ..Tenant::default()
        };
        let expectation = TenantExpectation {
            consumer: &peer,
            nonce: &Nonce::random(&Entropy::from_bytes([1; 32])),
        };
        let refused = verify::tenant(&tenant, &expectation, &Policy::strict()).unwrap_err();
        let is_too_long = matches!(
            refused.fault(),
            Fault::Policy(PolicyRefusal::ClusterIdTooLong { .. })
        );
        assert_eq!(is_too_long, found > limit, "{found}");
        exchange.now = exchange.now + core::time::Duration::from_secs(1);
    }
}

/// The compatible policy accepts longer names, but does not make namespaces for them.
#[test]
fn the_name_of_a_cluster_whose_namespace_has_another_name() {
    for (found, namespace, is_invited) in [
        (51, None, true),
        (52, None, false),
        (52, Some("tenant-of-a-long-name"), true),
        (63, Some("tenant-of-a-long-name"), true),
    ] {
        let mut setup = Setup::new();
        setup.policy = Policy::compatible();
        let exchange = setup.exchange();
        let peer: ClusterId = "c".repeat(found).parse().unwrap();
        let mut objects = store::empty();
        if let Some(name) = namespace {
            let mut existing = Namespace::for_tenant(&peer);
            existing.metadata.name = name.to_owned();
            objects.insert(existing.into());
        }
        let view = objects.view(&peer);
        let invited = exchange.provider.invite(&view, exchange.env());
        let too_long = PolicyRefusal::ClusterIdTooLong { found, limit: 51 };
        let refusal = invited.err().map(|error| error.fault().clone());
        assert_eq!(refusal, (!is_invited).then_some(Fault::Policy(too_long)));
    }
    assert_eq!(Policy::compatible().limits.cluster_id, 63);
    assert!("c".repeat(64).parse::<ClusterId>().is_err());
}
