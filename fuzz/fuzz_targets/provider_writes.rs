//! What a provider that is a consumer as well may write in its tenant namespace at the
//! consumer: Secrets, slices and renewals, one after the other, near-honest and arbitrary.
//! Nothing panics, and the consumer settles. Its keys sign only nonces for itself and its own
//! requests. The kubeconfig has its own key and the pinned API server. No other object
//! changes.
#![no_main]

use std::{
    cell::RefCell,
    sync::{Arc, OnceLock},
};

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine, Step,
    consumer::Phase,
    crypto::{
        Answer, BoxError, ClientKey, Csr, Entropy, KeyPair, Payload, PublicKey, Purpose, Signature,
        SigningKey, Subject,
    },
    machine::Objects,
    model::{
        Bytes, ClusterId, Identity, Kind, Metadata, Object, ObjectRef, Renew, Resource,
        ResourceSlice, Secret, Tenant, names,
    },
    policy::Policy,
    verify::{self, NonceExpectation},
};
use liqo_auth_fuzz::{
    draw, env, objects,
    writes::{
        Write, bystander, look, others, place, settles, write_manifest, write_secret, writes,
    },
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};
use proptest::{arbitrary::any, strategy::BoxedStrategy};

fuzz_target!(|bytes: &[u8]| {
    let Some((start, bytes)) = bytes.split_first() else {
        return;
    };
    let rehearsal = match start % 3 {
        0 => complete(),
        1 => awaiting_identity(),
        _ => with_slice(),
    };
    SIGNED.take();
    let mut store = rehearsal.at_consumer.clone();
    store.extend(bystander());
    let as_a_consumer = Tenant {
        metadata: Metadata {
            name: provider().to_string(),
            namespace: names::tenant_namespace(provider()),
            ..Metadata::default()
        },
        ..Tenant::default()
    };
    store.insert(as_a_consumer.into());
    let before = store.clone();
    let namespace = names::tenant_namespace(provider());
    for object in objects(bytes) {
        let kind = object.id().kind;
        if matches!(kind, Kind::Secret | Kind::ResourceSlice | Kind::Renew) {
            write_manifest(&mut store, &namespace, object);
        }
    }
    look(&mut store, reconcile);
    for write in writes(bytes) {
        match write {
            [kind, ..] if kind % 4 == 0 => write_slice(&mut store, write),
            [kind, ..] if kind % 4 == 1 => write_renew(&mut store, write),
            _ => write_secret(&mut store, provider(), secret_names(), write),
        }
        look(&mut store, reconcile);
    }
    let rests = settles(&mut store, reconcile);
    assert!(rests, "the consumer does not settle");
    let is_record = |id: &ObjectRef| id.name.starts_with("liqo-auth-consumer-");
    let [were, are] = [&before, &store].map(|store| others(store, &namespace, is_record));
    assert!(were.eq(are));
    signatures_are_of_this_exchange();
    kubeconfig_is_the_consumers(&store);
});

thread_local! {
    /// What the consumer's key has signed.
    static SIGNED: RefCell<Vec<(Purpose, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// A key that tells what it signs.
struct Watched(KeyPair);

impl SigningKey for Watched {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        let signed = (payload.purpose(), payload.bytes().to_vec());
        SIGNED.with_borrow_mut(|all| all.push(signed));
        self.0.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }
}

/// Writes a slice that looks like the consumer's own. The provider writes its status, too.
fn write_slice(store: &mut Objects, write: &Write) {
    thread_local! {
        static SLICES: BoxedStrategy<ResourceSlice> = any::<ResourceSlice>();
    }
    let [number, how, seed @ ..] = write;
    let is = |bit: u8| how & (1 << bit) != 0;
    let name = ["mypool", "other"][usize::from(number / 4 % 2)];
    let Some(mut slice) = SLICES.with(|slices| draw(slices, seed)) else {
        return;
    };
    if is(0) {
        slice.spec.csr = own_request(name);
    }
    if is(1) {
        slice.spec.consumer_cluster_id = None;
        slice.spec.provider_cluster_id = None;
    }
    if is(2) {
        slice.status.auth_params = identity(seed).map(|it| it.spec.auth_params);
    }
    write_original(store, slice, name, is(3));
}

/// Writes a Renew, and the answer in its status.
fn write_renew(store: &mut Objects, write: &Write) {
    thread_local! {
        static RENEWS: BoxedStrategy<Renew> = any::<Renew>();
    }
    let [number, how, seed @ ..] = write;
    let is = |bit: u8| how & (1 << bit) != 0;
    let Some(mut renew) = RENEWS.with(|renews| draw(renews, seed)) else {
        return;
    };
    if is(0) {
        renew.status.auth_params = identity(seed).map(|it| it.spec.auth_params);
    }
    let name = match number / 4 % 2 {
        0 => names::identity_name(provider()),
        _ => names::resource_slice_identity_name("mypool"),
    };
    write_original(store, renew, &name, is(3));
}

/// Writes an object that the consumer would replicate to the provider.
fn write_original<K: Resource>(store: &mut Objects, mut object: K, name: &str, stays: bool)
where
    Object: From<K>,
{
    let namespace = names::tenant_namespace(provider());
    let uid = store
        .get::<K>(&namespace, name)
        .map(|present| present.metadata().uid.clone());
    let metadata = object.metadata_mut();
    place(metadata, &namespace, name, stays);
    metadata.uid = uid.unwrap_or_default();
    metadata.labels.remove(names::REPLICATED_LABEL);
    for (key, value) in [
        (names::REPLICATION_LABEL, names::TRUE),
        (names::REPLICATION_DESTINATION_LABEL, provider().as_str()),
        (names::REMOTE_CLUSTER_ID_LABEL, provider().as_str()),
    ] {
        metadata.labels.insert(key.to_owned(), value.to_owned());
    }
    store.insert(object.into());
}

/// An honest or nearly honest Identity: its certificates are for the consumer's key.
fn identity(seed: &[u8]) -> Option<Identity> {
    thread_local! {
        static IDENTITIES: BoxedStrategy<Identity> = complete().forged_identities();
    }
    IDENTITIES.with(|identities| draw(identities, seed))
}

fn reconcile(store: &Objects) -> Step {
    let step = complete()
        .consumer
        .reconcile(&store.view(provider()), env());
    step.expect("a peer's objects cause no local error")
}

fn signatures_are_of_this_exchange() {
    let expectation = NonceExpectation {
        provider: provider(),
        consumer: complete().consumer.cluster_id(),
        now: env().now,
        provider_key_known: false,
    };
    for (purpose, bytes) in SIGNED.take() {
        match purpose {
            Purpose::Nonce => {
                let verdict = verify::nonce_to_sign(&bytes, &expectation, &Policy::strict());
                assert!(verdict.is_ok(), "{verdict:?}");
            }
            Purpose::CertificationRequest => assert!(own_requests().contains(&bytes)),
            other => panic!("{other:?}"),
        }
    }
}

fn kubeconfig_is_the_consumers(store: &Objects) {
    let rehearsal = complete();
    let status = rehearsal.consumer.look(&store.view(provider()), env().now);
    let status = status.expect("a peer's objects cause no local error");
    let Phase::Authenticated(stored) = status.phase else {
        return;
    };
    let id = &stored.kubeconfig_secret;
    let secret: &Secret = store.get(&id.namespace, &id.name).expect("it is stored");
    let (text, honest) = (secret.get(names::KUBECONFIG), honest_kubeconfig());
    assert_eq!(text, Some(stored.kubeconfig.to_yaml().expose()));
    let text = core::str::from_utf8(text.unwrap_or_default()).expect("it is YAML");
    // A renewal brings another certificate, and nothing else.
    let is_same = |(line, honest): (&str, &str)| {
        line == honest || line.trim().starts_with("client-certificate-data:")
    };
    assert!(text.lines().zip(honest.lines()).all(is_same), "{text}");
    assert_eq!(text.lines().count(), honest.lines().count());
    let leaf = stored.accepted.identity.credentials.certificate();
    let key = rehearsal.consumer_key.public_key();
    assert!(leaf.is_some_and(|chain| chain.leaf().spki_der == key.spki_der()));
}

/// The kubeconfig that follows from the honest Identity.
fn honest_kubeconfig() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let namespace = names::tenant_namespace(provider());
        let name = names::kubeconfig_secret(&names::identity_name(provider()));
        let secret: Option<&Secret> = complete().at_consumer.get(&namespace, &name);
        let text = secret.and_then(|secret| secret.get(names::KUBECONFIG));
        String::from_utf8(text.unwrap_or_default().to_vec()).expect("it is YAML")
    })
}

/// What this consumer's requests have to be signed over: its own, and that of its slice.
fn own_requests() -> &'static [Vec<u8>] {
    static REQUESTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    REQUESTS.get_or_init(|| {
        let consumer = complete().consumer.cluster_id();
        for subject in [
            Subject::control_plane(consumer),
            Subject::resource_slice("mypool", consumer),
        ] {
            Csr::make(&subject, &*complete().consumer_key).expect("the key signs");
        }
        SIGNED.take().into_iter().map(|(_, bytes)| bytes).collect()
    })
}

/// A request that the consumer has signed for a slice once.
fn own_request(name: &str) -> Bytes {
    let subject = Subject::resource_slice(name, complete().consumer.cluster_id());
    let csr = Csr::make(&subject, &key()).expect("the key signs");
    let csr = csr.at_once().expect("the key answers immediately");
    csr.pem().into()
}

fn secret_names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let peer = provider();
        vec![
            names::kubeconfig_secret(&names::identity_name(peer)),
            names::SIGNED_NONCE_SECRET.to_owned(),
            names::kubeconfig_secret(&names::resource_slice_identity_name("mypool")),
            names::NONCE_SECRET.to_owned(),
            format!("{}-{peer}", names::CLUSTER_KEYS_SECRET),
            format!("liqo-auth-consumer-{peer}"),
            format!("liqo-auth-provider-{peer}"),
        ]
    })
}

fn provider() -> &'static ClusterId {
    complete().provider.cluster_id()
}

fn key() -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([5; 32]))
}

fn rehearsal() -> Rehearsal {
    let key = Arc::new(Watched(key()));
    Rehearsal::with_consumer_key(7, key).expect("the rehearsal's own keys are valid")
}

/// A complete exchange. It is never changed.
fn complete() -> &'static Rehearsal {
    static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
    REHEARSAL.get_or_init(|| {
        let mut rehearsal = rehearsal();
        rehearsal.settle().expect("no local error occurs");
        rehearsal
    })
}

/// A complete exchange, and a slice with its identity. It is never changed.
fn with_slice() -> &'static Rehearsal {
    static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
    REHEARSAL.get_or_init(|| {
        let mut rehearsal = rehearsal();
        rehearsal.settle().expect("no local error occurs");
        let slice = Occurrence::Slice { wanted: true };
        rehearsal.play(slice).expect("no local error occurs");
        rehearsal.settle().expect("no local error occurs");
        rehearsal
    })
}

/// An exchange in which the nonce was signed. It is never changed.
fn awaiting_identity() -> &'static Rehearsal {
    static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
    REHEARSAL.get_or_init(|| {
        let mut rehearsal = rehearsal();
        for event in [
            Occurrence::Provider { effects: ALL },
            Occurrence::Deliver {
                message: 0,
                effects: ALL,
            },
        ] {
            rehearsal.play(event).expect("no local error occurs");
        }
        rehearsal
    })
}
