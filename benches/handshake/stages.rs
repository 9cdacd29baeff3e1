//! The stages of one handshake with Ed25519 keys, and the whole.

use std::{
    hint::black_box,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{
        Answer, BoxError, CertificateChain, ClientKey, Csr, KeyPair, Nonce, OneKey, Payload,
        PublicKey, Purpose, Signature, SigningKey, StructuredNonce, Subject,
    },
    machine::{Message, Objects},
    model::{Identity, Kubeconfig, SecretBytes, Tenant, UserCredential},
    policy::Policy,
    verify::{self, IdentityExpectation, TenantExpectation, VerifiedTenant},
};

use super::{
    clock::Stage,
    clusters::{Clusters, YEAR, consumer_id, entropy, env, now, provider_id},
    primitives::{self, ADMIT, HMAC, READ, SHA, SIGN, VERIFY},
};

/// The primitives, and then the stages of the handshake.
pub(crate) fn all() -> Vec<Stage> {
    let clusters = Rc::new(Clusters::new());
    let committing = Clusters::with_commitment();
    clusters.authenticated();
    committing.authenticated();
    let nonce = make_nonce(&clusters);
    let tenant = clusters.tenant(&nonce);
    let verified = verify_tenant(&tenant, &nonce);
    let certificate = issue(&clusters, &verified);
    let identity = clusters.identity(certificate.pem());

    let mut stages = primitives::stages();
    stages.extend([
        stage("nonce", &clusters, |clusters| {
            black_box(make_nonce(clusters));
        })
        .needs(&[(2, HMAC), (2, SHA)]),
        sign(&nonce).needs(&[(1, SIGN)]),
        stage("csr", &clusters, |clusters| {
            let subject = Subject::control_plane(&consumer_id());
            black_box(
                Csr::make(&subject, &*clusters.key)
                    .unwrap()
                    .at_once()
                    .unwrap(),
            );
        })
        .needs(&[(1, SIGN)]),
        stage("tenant-made", &clusters, {
            let nonce = nonce.clone();
            move |clusters| {
                black_box(clusters.tenant(&nonce));
            }
        })
        .needs(&[(2, SIGN), (1, SHA)]),
        Stage::new("tenant-verified", {
            let (tenant, nonce) = (tenant.clone(), nonce.clone());
            move || {
                black_box(verify_tenant(&tenant, &nonce));
            }
        })
        .needs(&[(1, ADMIT), (2, VERIFY)]),
        stage("certificate", &clusters, move |clusters| {
            black_box(issue(clusters, &verified));
        })
        .needs(&[(1, SIGN), (1, HMAC), (1, SHA)]),
        stage("identity-checked", &clusters, {
            let identity = identity.clone();
            move |clusters| verify_identity(&identity, clusters.key.public_key())
        })
        .needs(&[(1, VERIFY), (1, READ), (4, SHA)]),
        stage("kubeconfig", &clusters, move |clusters| {
            black_box(kubeconfig(&identity, &clusters.key));
        }),
        stage("whole-functions", &clusters, whole_functions).needs(WHOLE),
        stage("whole", &clusters, |clusters| clusters.handshake()).needs(WHOLE),
        Stage::new("whole-with-commitment", move || committing.handshake())
            .needs(WHOLE_WITH_COMMITMENT),
    ]);
    let mut primitives = primitives::stages();
    stages.push(Stage::new("primitives", move || {
        for (number, name) in WHOLE {
            let primitive = primitives.iter_mut().find(|stage| stage.name == *name);
            primitive.unwrap().repeat((*number).into());
        }
    }));
    stages
}

/// The primitives of both sides together. Keys: the consumer signs the nonce and its
/// request; the provider admits the key, verifies request and nonce, and signs the
/// certificate; the consumer verifies the certificate. Hashes: the nonce (random
/// bytes, names, authentication code), its check on both sides, the record's seal,
/// the serial number, the request's digest, the endpoint's pin.
const WHOLE: &[(u32, &str)] = &[
    (3, SIGN),
    (3, VERIFY),
    (1, ADMIT),
    (1, READ),
    (5, HMAC),
    (8, SHA),
];

/// In addition, the provider signs its commitment. The consumer admits the
/// provider's key and verifies the commitment.
const WHOLE_WITH_COMMITMENT: &[(u32, &str)] = &[
    (4, SIGN),
    (4, VERIFY),
    (2, ADMIT),
    (1, READ),
    (5, HMAC),
    (11, SHA),
];

fn stage(name: &'static str, clusters: &Rc<Clusters>, run: impl Fn(&Clusters) + 'static) -> Stage {
    let clusters = Rc::clone(clusters);
    Stage::new(name, move || run(&clusters))
}

/// The same handshake without machines and stores, as with Liqo's functions in
/// `benches/reference`. Only the consumer's machine is used, to sign the nonce.
fn whole_functions(clusters: &Clusters) {
    let nonce = make_nonce(clusters);
    let tenant = clusters.tenant(&nonce);
    let verified = verify_tenant(&tenant, &nonce);
    let certificate = issue(clusters, &verified);
    let identity = clusters.identity(certificate.pem());
    verify_identity(&identity, clusters.key.public_key());
    black_box(kubeconfig(&identity, &clusters.key));
}

fn make_nonce(clusters: &Clusters) -> Nonce {
    let day = Duration::from_secs(24 * 60 * 60);
    StructuredNonce::issue(
        &provider_id(),
        &consumer_id(),
        None,
        now() + day,
        &clusters.record_key,
        &entropy(6),
    )
}

fn verify_tenant(tenant: &Tenant, nonce: &Nonce) -> VerifiedTenant {
    let expectation = TenantExpectation {
        consumer: &consumer_id(),
        nonce,
    };
    verify::tenant(tenant, &expectation, &Policy::strict()).unwrap()
}

fn issue(clusters: &Clusters, verified: &VerifiedTenant) -> CertificateChain {
    let subject = Subject::control_plane(&verified.cluster_id);
    let (csr, key) = (&verified.csr, &verified.public_key);
    clusters
        .authority
        .issue(csr, &subject, key, now(), YEAR, &entropy(7))
        .unwrap()
}

fn verify_identity(identity: &Identity, key: &PublicKey) {
    let (consumer, provider) = (consumer_id(), provider_id());
    let expectation = IdentityExpectation::new(&consumer, &provider, key, now());
    let verified = verify::identity(identity, &expectation, &Policy::strict()).unwrap();
    assert!(black_box(verified).issued_by_bundle());
}

fn kubeconfig(identity: &Identity, key: &KeyPair) -> SecretBytes {
    let ClientKey::Pem(pem) = key.client_key() else {
        panic!("the key is in memory");
    };
    let auth_params = &identity.spec.auth_params;
    let kubeconfig = Kubeconfig {
        cluster: identity.spec.cluster_id.clone(),
        server: auth_params.api_server.clone(),
        certificate_authority: auth_params.ca.clone(),
        proxy_url: None,
        user: identity.metadata.name.clone(),
        credential: UserCredential::KeyData {
            certificate: auth_params.signed_crt.clone(),
            key: pem.expose().as_bytes().into(),
        },
        namespace: identity.spec.namespace.clone(),
    };
    kubeconfig.to_yaml()
}

/// Measures only the signature over a nonce. Only the consumer's machine can make
/// the payload, so the key measures the time.
fn sign(nonce: &Nonce) -> Stage {
    let key = Arc::new(Stopwatch {
        key: KeyPair::from_entropy(&entropy(1)),
        turns: AtomicU64::new(0),
        elapsed: Mutex::new(Duration::ZERO),
    });
    let consumer = Consumer::new(
        ConsumerConfig::new(consumer_id()),
        Arc::new(OneKey(key.clone())),
    );
    let nonce = nonce.clone();
    Stage::timed("sign", move |turns| {
        key.turns.store(turns, Ordering::Relaxed);
        let nowhere = Objects::new(&env().entropy);
        let message = Message::new(&provider_id(), &consumer_id(), nonce.clone());
        consumer
            .receive(&nowhere.view(&provider_id()), message, env())
            .unwrap();
        *key.elapsed.lock().unwrap()
    })
}

/// Signs a nonce repeatedly and measures the time.
struct Stopwatch {
    key: KeyPair,
    turns: AtomicU64,
    elapsed: Mutex<Duration>,
}

impl SigningKey for Stopwatch {
    fn public_key(&self) -> &PublicKey {
        self.key.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        if payload.purpose() == Purpose::Nonce {
            let start = Instant::now();
            for _ in 1..self.turns.load(Ordering::Relaxed) {
                black_box(self.key.sign(payload)?);
            }
            let signature = self.key.sign(payload);
            *self.elapsed.lock().unwrap() = start.elapsed();
            return signature;
        }
        self.key.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.key.client_key()
    }
}
