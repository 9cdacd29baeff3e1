//! The Tenant and the Identity of Liqo's published documentation. They do not
//! belong together: the certificate request names the cluster `cl01`, the
//! Tenant names `cl-consumer`. Everything else in them is valid.

use core::fmt;
use std::{path::Path, sync::Arc};

use liqo_auth::{
    consumer::{Consumer, ConsumerConfig},
    crypto::{
        Answer, BoxError, CertificateChain, CertificateError, ClientKey, CsrError, Nonce, OneKey,
        Payload, PublicKey, RecordKey, Signature, SigningKey, Subject,
    },
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Rule},
    machine::MessageBody,
    model::{Identity, Namespace, Object, Resource, Tenant, Timestamp, manifest, names},
    policy::{Limits, Policy},
    provider::{NameTable, Provider},
    verify::{self, IdentityExpectation, TenantExpectation},
};

use crate::clusters::exchange::{self, Exchange, RECORD_KEY, Setup, id};

const NONCE: &[u8] =
    b"5IDZQiNG7EUv+GPmS5RvzcTAo8ksSfM3LUTFaBYnPfvY5WndhNGkJVFOFmTVc0ArT4B/FkH6QO7Kfhk6Q1B4ww==";

#[test]
fn the_signature_over_the_nonces_text_verifies_with_the_tenants_key() {
    let (tenant, policy) = (tenant(), Policy::strict());
    let key = PublicKey::from_tenant_field(tenant.spec.public_key.as_slice(), &policy).unwrap();
    let signature = tenant.spec.signature.as_slice();
    let scheme = key.nonce_scheme();
    assert_eq!(key.verify(scheme, NONCE, signature, &policy), Ok(()));
    let mut another = NONCE.to_vec();
    another[0] = b'6';
    assert_eq!(
        key.verify(scheme, &another, signature, &policy),
        Err(liqo_auth::crypto::SignatureError::Mismatch)
    );
}

#[test]
fn the_certificate_is_for_the_tenants_key() {
    let (identity, policy) = (identity(), Policy::strict());
    let parameters = &identity.spec.auth_params;
    let chain = CertificateChain::from_pem(parameters.signed_crt.as_slice(), &policy).unwrap();
    assert_eq!(chain.leaf().subject(), "O=liqo.io, CN=cl01");
    assert!(
        chain
            .leaf()
            .subject_is(&Subject::control_plane(&id("cl01")))
    );
    assert_eq!(chain.leaf().spki_der, key().spki_der());
}

#[test]
fn the_tenant_is_refused_because_its_request_names_another_cluster() {
    let expected = PeerMisbehaved::Csr(CsrError::Subject {
        expected: "O=liqo.io, CN=cl-consumer".to_owned(),
        found: "O=liqo.io, CN=cl01".to_owned(),
    });
    let error = verified_tenant(&tenant(), "cl-consumer").unwrap_err();
    assert_eq!(error.fault(), &expected.clone().into());
    assert_eq!(error.at().field, "spec.csr");
    assert_eq!(error.rule().map(Rule::number), Some(1));
    assert!(error.to_string().contains("CN=cl01"), "{error}");
    assert!(error.to_string().contains("CN=cl-consumer"), "{error}");

    let mut exchange = documented("cl-consumer");
    let message = MessageBody::Tenant(Box::new(tenant()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &expected.into());

    // If the expected cluster is the one in the request, the Tenant's name is
    // wrong.
    let error = verified_tenant(&tenant(), "cl01").unwrap_err();
    let expected = PeerIncompatible::NameMismatch {
        expected: "cl01".to_owned(),
        found: "cl-consumer".to_owned(),
    };
    assert_eq!(error.fault(), &expected.into());
}

#[test]
fn the_identity_is_refused_because_its_certificate_names_another_cluster() {
    let error = verified_identity(&identity(), "cl-consumer", then()).unwrap_err();
    let expected = PeerMisbehaved::Certificate(CertificateError::Subject {
        expected: "O=liqo.io, CN=cl-consumer".to_owned(),
        found: "O=liqo.io, CN=cl01".to_owned(),
    });
    assert_eq!(error.fault(), &expected.clone().into());
    assert_eq!(error.at().field, "spec.authParams.signedCRT");

    let mut exchange = documented("cl-consumer");
    exchange.now = then();
    let message = MessageBody::Identity(Box::new(identity()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &expected.into());

    // If the expected cluster is the one in the certificate, the Identity's
    // namespace is wrong.
    let error = verified_identity(&identity(), "cl01", then()).unwrap_err();
    let expected = PolicyRefusal::UnexpectedNamespace {
        expected: "liqo-tenant-cl01".to_owned(),
        found: "liqo-tenant-cl-consumer".to_owned(),
    };
    assert_eq!(error.fault(), &expected.into());
}

#[test]
fn with_corrected_names_the_provider_accepts_the_tenant() {
    let verified = verified_tenant(&tenant_of_cl01(), "cl01").unwrap();
    assert_eq!(&verified.public_key, &key());
    assert_eq!(&verified.cluster_id, &id("cl01"));

    let mut exchange = documented("cl01");
    let message = MessageBody::Tenant(Box::new(tenant_of_cl01()));
    exchange.hand_over(message).unwrap();
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert!(
        exchange
            .certificate()
            .leaf()
            .subject_is(&Subject::control_plane(&id("cl01")))
    );

    // The provider did not make that nonce. Unless the embedder vouches for it,
    // the Tenant is refused.
    let mut exchange = documented("cl01");
    exchange.vouched.clear();
    let message = MessageBody::Tenant(Box::new(tenant_of_cl01()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::NonceNotOurs.into());
    // Another nonce does not match the signature.
    let mut exchange = documented("cl01");
    exchange.at_provider.remove(&exchange::secret_ref(
        "liqo-tenant-cl01",
        names::NONCE_SECRET,
    ));
    let message = MessageBody::Tenant(Box::new(tenant_of_cl01()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::NonceMissing.into());
}

#[test]
fn with_corrected_names_the_consumer_accepts_the_identity_while_it_is_valid() {
    let verified = verified_identity(&identity_for_cl01(), "cl01", then()).unwrap();
    assert_eq!(verified.api_server.as_str(), "https://172.19.0.3:6443");
    assert!(verified.issued_by_bundle());
    assert_eq!(verified.proxy_url.as_ref(), None);

    let mut exchange = documented("cl01");
    exchange.now = then();
    let message = MessageBody::Identity(Box::new(identity_for_cl01()));
    exchange.hand_over(message).unwrap();
    let stored = exchange.stored_identity();
    assert_eq!(stored.spec, identity_for_cl01().spec);

    let error = verified_identity(&identity_for_cl01(), "cl01", exchange::now()).unwrap_err();
    assert!(
        matches!(
            error.fault(),
            Fault::PeerIncompatible(PeerIncompatible::CertificateExpired { .. })
        ),
        "{error}"
    );
    let early = "2024-07-22T06:42:40Z".parse().unwrap();
    let error = verified_identity(&identity_for_cl01(), "cl01", early).unwrap_err();
    assert!(
        matches!(
            error.fault(),
            Fault::PeerIncompatible(PeerIncompatible::CertificateNotYetValid { .. })
        ),
        "{error}"
    );
}

fn verified_tenant(tenant: &Tenant, consumer: &str) -> Result<verify::VerifiedTenant, Error> {
    let policy = Policy::strict();
    let expectation = TenantExpectation {
        consumer: &id(consumer),
        nonce: &nonce(),
    };
    verify::tenant(tenant, &expectation, &policy)
}

fn verified_identity(
    identity: &Identity,
    consumer: &str,
    now: Timestamp,
) -> Result<verify::VerifiedIdentity, Error> {
    let (consumer, provider, key) = (id(consumer), id("cl-provider"), key());
    let expectation = IdentityExpectation::new(&consumer, &provider, &key, now);
    verify::identity(identity, &expectation, &Policy::strict())
}

/// Both clusters of the documentation, after the nonce is made.
fn documented(consumer: &str) -> Exchange {
    let mut setup = Setup::new();
    setup.consumer_key = Arc::new(KnownByItsPublicHalf(key()));
    let endpoint = setup.endpoint.clone();
    let record_key = RecordKey::new(RECORD_KEY).unwrap();
    let mut exchange = Exchange {
        provider: Provider::builder(id("cl-provider"), endpoint, record_key)
            .principals(Arc::new(NameTable::default()))
            .signer(Arc::clone(&setup.signer))
            .build(),
        consumer: Consumer::new(
            ConsumerConfig::new(id(consumer)),
            Arc::new(OneKey(Arc::clone(&setup.consumer_key))),
        ),
        vouched: vec![nonce()],
        ..setup.exchange()
    };
    let peer = id(consumer);
    exchange
        .at_provider
        .insert(Namespace::for_tenant(&peer).into());
    let namespace = names::tenant_namespace(&peer);
    exchange
        .at_provider
        .insert(exchange::nonce_secret(&namespace, NONCE));
    exchange
}

/// The documentation contains no private key. Verification does not need it.
struct KnownByItsPublicHalf(PublicKey);

impl SigningKey for KnownByItsPublicHalf {
    fn public_key(&self) -> &PublicKey {
        &self.0
    }

    fn sign(&self, _payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        Err(Box::new(NoPrivateKey))
    }

    fn client_key(&self) -> ClientKey {
        ClientKey::NotExportable
    }
}

#[derive(Debug)]
struct NoPrivateKey;

impl std::error::Error for NoPrivateKey {}

impl fmt::Display for NoPrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the private key is not published")
    }
}

fn key() -> PublicKey {
    PublicKey::from_tenant_field(tenant().spec.public_key.as_slice(), &Policy::strict()).unwrap()
}

fn nonce() -> Nonce {
    Nonce::parse(NONCE, &Policy::strict()).unwrap()
}

fn tenant_of_cl01() -> Tenant {
    let mut tenant = tenant();
    let cl01 = "cl01".to_owned();
    tenant.metadata.name.clone_from(&cl01);
    tenant.spec.cluster_id.clone_from(&cl01);
    tenant
        .metadata
        .labels
        .insert(names::REMOTE_CLUSTER_ID_LABEL.to_owned(), cl01);
    tenant
}

fn identity_for_cl01() -> Identity {
    let mut identity = identity();
    identity.spec.namespace = Some("liqo-tenant-cl01".to_owned());
    identity
}

fn tenant() -> Tenant {
    document("tenant.yaml")
}

fn identity() -> Identity {
    document("identity.yaml")
}

fn document<K: Resource + Clone>(name: &str) -> K {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("vectors/seed")
        .join(name);
    let text = std::fs::read(file).unwrap();
    let objects: [Object; 1] = manifest::read(&text, &Limits::default())
        .unwrap()
        .try_into()
        .unwrap();
    K::from_object(&objects[0]).unwrap().clone()
}

/// A time at which the published certificate was valid.
fn then() -> Timestamp {
    "2024-08-01T00:00:00Z".parse().unwrap()
}
