//! The results of Liqo's own Go functions for fixed keys, and the certificate
//! of a real provider.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    crypto::{
        CaBundle, CertificateChain, ClientCertificateExpectation, Csr, KeyPair, Nonce, PublicKey,
        SigningKey, Subject,
    },
    model::ClusterId,
    policy::Policy,
};
use serde_json::Value;

const FUNCTIONS: &str = include_str!("../../vectors/liqo-1.2.0/functions.json");
const IDENTITY: &str = include_str!("../../vectors/liqo-1.2.0/by-hand/identity.yaml");

fn text<'a>(vector: &'a Value, name: &str) -> &'a str {
    vector[name].as_str().unwrap_or_else(|| panic!("{name}"))
}

fn vectors(algorithm: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(FUNCTIONS).unwrap();
    let all = file["vectors"].as_array().unwrap();
    let chosen: Vec<_> = all
        .iter()
        .filter(|vector| text(vector, "algorithm") == algorithm)
        .cloned()
        .collect();
    assert!(!chosen.is_empty(), "{algorithm}");
    chosen
}

fn reproduce(algorithm: &str) {
    let policy = Policy::strict();
    for vector in vectors(algorithm) {
        let id = text(&vector, "id");
        let pem = text(&vector, "privateKeyPEM");
        let key = KeyPair::from_pkcs8_pem(pem.as_bytes(), &policy).unwrap();
        assert_eq!(key.to_pkcs8_pem().expose(), pem, "{id}");
        assert_eq!(
            key.public_key().to_pem(),
            text(&vector, "publicKeyPEM"),
            "{id}"
        );

        let consumer: ClusterId = text(&vector, "consumerClusterID").parse().unwrap();
        let control_plane = Subject::control_plane(&consumer);
        let csr = Csr::make(&control_plane, &key).unwrap().at_once().unwrap();
        assert_eq!(
            String::from_utf8_lossy(csr.pem()),
            text(&vector, "csrPEM"),
            "{id}"
        );
        Csr::verify(csr.pem(), &control_plane, key.public_key(), &policy).unwrap();

        let slice = Subject::resource_slice(text(&vector, "sliceName"), &consumer);
        assert_eq!(
            slice.common_name(),
            text(&vector, "sliceCommonName"),
            "{id}"
        );
        assert_eq!(
            slice.organization(),
            text(&vector, "sliceOrganization"),
            "{id}"
        );
        let csr = Csr::make(&slice, &key).unwrap().at_once().unwrap();
        assert_eq!(
            String::from_utf8_lossy(csr.pem()),
            text(&vector, "sliceCsrPEM"),
            "{id}"
        );
        Csr::verify(csr.pem(), &slice, key.public_key(), &policy).unwrap();

        let nonce = Nonce::parse(text(&vector, "nonce").as_bytes(), &policy).unwrap();
        let signature = STANDARD.decode(text(&vector, "signature")).unwrap();
        let scheme = key.public_key().nonce_scheme();
        key.public_key()
            .verify(scheme, nonce.as_str().as_bytes(), &signature, &policy)
            .unwrap();
    }
}

#[test]
fn ed25519_requests_equal_liqos_byte_for_byte() {
    reproduce("Ed25519");
    for vector in vectors("Ed25519") {
        let raw = STANDARD.decode(text(&vector, "publicKeyRaw")).unwrap();
        let key = PublicKey::from_tenant_field(&raw, &Policy::strict()).unwrap();
        assert_eq!(key.to_pem(), text(&vector, "publicKeyPEM"));
        assert_eq!(key.to_tenant_field(), raw);
    }
}

#[test]
#[cfg(feature = "rsa")]
fn rsa_requests_equal_liqos_byte_for_byte() {
    reproduce("RSA-2048");
    for vector in vectors("RSA-2048") {
        let pem = text(&vector, "publicKeyPEM").as_bytes();
        let key = PublicKey::from_tenant_field(pem, &Policy::strict()).unwrap();
        assert_eq!(key.to_tenant_field(), pem);
    }
}

/// The Tenants that Liqo's own functions made.
#[test]
#[cfg(all(feature = "rsa", feature = "yaml"))]
fn liqos_tenants_are_verified_with_their_signature_over_the_nonce() {
    use liqo_auth::{
        crypto::SignatureError,
        error::PeerIncompatible,
        model::{Resource, Tenant, manifest},
        verify::{self, TenantExpectation},
    };

    let policy = Policy::strict();
    for vector in ["Ed25519", "RSA-2048"].into_iter().flat_map(vectors) {
        let id = text(&vector, "id");
        let yaml = text(&vector, "tenantYAML").as_bytes();
        let objects = manifest::read(yaml, &policy.limits).unwrap();
        let mut tenant = Tenant::from_object(&objects[0]).unwrap().clone();
        let consumer: ClusterId = text(&vector, "consumerClusterID").parse().unwrap();
        let nonce = Nonce::parse(text(&vector, "nonce").as_bytes(), &policy).unwrap();
        let expectation = TenantExpectation {
            consumer: &consumer,
            nonce: &nonce,
        };
        let verified = verify::tenant(&tenant, &expectation, &policy).unwrap();
        assert_eq!(&verified.cluster_id, &consumer, "{id}");
        let key = verified.public_key.to_pem();
        assert_eq!(key, text(&vector, "publicKeyPEM"), "{id}");
        let csr = String::from_utf8_lossy(verified.csr.pem());
        assert_eq!(csr, text(&vector, "csrPEM"), "{id}");

        let mut signature = tenant.spec.signature.as_slice().to_vec();
        signature[20] ^= 1;
        tenant.spec.signature = signature.into();
        let error = verify::tenant(&tenant, &expectation, &policy).unwrap_err();
        let mismatch = PeerIncompatible::NonceSignature(SignatureError::Mismatch);
        assert_eq!(error.fault(), &mismatch.into(), "{id}");
    }
}

#[test]
fn the_real_certificate_is_accepted() {
    let field = |name: &str| {
        let line = IDENTITY
            .lines()
            .find(|line| line.trim().starts_with(name))
            .unwrap();
        STANDARD.decode(line.split(": ").nth(1).unwrap()).unwrap()
    };
    let policy = Policy::strict();
    let (ca, certificate) = (field("ca:"), field("signedCRT:"));
    assert!(ca.ends_with(b"\0\0"));
    let bundle = CaBundle::from_pem(&ca, &policy).unwrap();
    assert!(bundle.pem().ends_with(b"-----END CERTIFICATE-----\n"));
    let chain = CertificateChain::from_pem(&certificate, &policy).unwrap();
    assert_eq!(chain.pem(), certificate);
    assert_eq!(chain.leaf().issuer(), "CN=cluster-b-ca");
    assert_eq!(chain.leaf().serial(), "00d06f2934ef4c191dbec104bd4976b4c6");
    let key = PublicKey::from_spki_der(&chain.leaf().spki_der, &policy).unwrap();
    let subject = Subject::control_plane(&"cluster-a".parse().unwrap());
    let now = "2026-11-20T23:00:00Z".parse().unwrap();
    let expectation = ClientCertificateExpectation {
        subject: &subject,
        key: &key,
        now,
    };
    chain.check_client(&expectation, &policy).unwrap();
}
