//! Keys and key stores that do not answer at once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use liqo_auth::{
    Machine,
    assurance::succession::KEY_SUCCESSION_ANNOTATION,
    consumer::{PeerSettings, Phase},
    crypto::{
        Answer, BoxError, ClientKey, Entropy, KeyPair, KeyStore, Nonce, Payload, PublicKey,
        Purpose, RequestId, Signature, SigningKey,
    },
    machine::{Awaited, Message, MessageBody, Step},
    model::{ClusterId, ResourceSlice, Secret, Tenant, names},
};

use super::home::{HOUR, Home, IDENTITY, MINUTE, YEAR, env, issue_control_plane, mypool};
use crate::clusters::exchange::ed25519;

/// A key in a remote service. It signs for the allowed purposes; for others its
/// answer is pending.
struct Remote {
    key: KeyPair,
    service: Arc<Service>,
}

#[derive(Default)]
struct Service {
    /// The purposes for which the service answers.
    allowed: Mutex<BTreeSet<Name>>,
    /// The payloads for which the answer was pending.
    asked: Mutex<Vec<RequestId>>,
    /// The payloads that were signed.
    signed: Mutex<Vec<RequestId>>,
    /// The purposes of the payloads, with the peers that they name.
    named: Mutex<BTreeSet<(Name, Option<ClusterId>)>>,
    /// Whether the key store already has the keys.
    has_keys: Mutex<bool>,
    /// The number of the predecessor's key.
    predecessor: Option<u8>,
}

/// The name of a purpose. Unlike the purpose, it can be ordered.
type Name = String;

impl Service {
    fn allow(&self, purpose: Purpose) {
        self.allowed.lock().unwrap().insert(format!("{purpose:?}"));
    }

    fn allow_all(&self) {
        PURPOSES.into_iter().for_each(|purpose| self.allow(purpose));
    }
}

impl SigningKey for Remote {
    fn public_key(&self) -> &PublicKey {
        self.key.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        let purpose = format!("{:?}", payload.purpose());
        let named = (purpose.clone(), payload.peer().cloned());
        self.service.named.lock().unwrap().insert(named);
        if !self.service.allowed.lock().unwrap().contains(&purpose) {
            self.service.asked.lock().unwrap().push(payload.id());
            return Ok(Answer::Pending);
        }
        self.service.signed.lock().unwrap().push(payload.id());
        self.key.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.key.client_key()
    }
}

/// A store of remote keys. At first it may have no key.
struct Store(Arc<Service>);

impl Store {
    fn key(&self, seed: u8) -> Arc<dyn SigningKey> {
        Arc::new(Remote {
            key: KeyPair::from_entropy(&Entropy::from_bytes([seed; 32])),
            service: Arc::clone(&self.0),
        })
    }
}

impl KeyStore for Store {
    fn find(&self, _peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        Ok(if *self.0.has_keys.lock().unwrap() {
            Answer::Ready(self.key(1))
        } else {
            Answer::Pending
        })
    }

    fn predecessor(
        &self,
        _peer: &ClusterId,
    ) -> Result<Answer<Option<Arc<dyn SigningKey>>>, BoxError> {
        Ok(Answer::Ready(self.0.predecessor.map(|seed| self.key(seed))))
    }
}

/// A consumer whose keys are in a service, with or without a predecessor.
fn home(has_keys: bool, predecessor: Option<u8>) -> (Home, Arc<Service>) {
    let service = Arc::new(Service {
        has_keys: Mutex::new(has_keys),
        predecessor,
        ..Service::default()
    });
    let store = Arc::new(Store(Arc::clone(&service)));
    (Home::with_keys(PeerSettings::default(), store), service)
}

fn nonce(seed: u8) -> MessageBody {
    MessageBody::Nonce(Nonce::random(&Entropy::from_bytes([seed; 32])))
}

fn signatures_awaited(step: &Step) -> usize {
    let awaiting = step.wait.awaiting.iter();
    awaiting
        .filter(|awaited| matches!(awaited, Awaited::Signature(_)))
        .count()
}

fn tenants(messages: &[Message]) -> Vec<Tenant> {
    let tenants = messages.iter().filter_map(|message| match &message.body {
        MessageBody::Tenant(tenant) => Some((**tenant).clone()),
        _ => None,
    });
    tenants.collect()
}

const PURPOSES: [Purpose; 3] = [
    Purpose::Nonce,
    Purpose::CertificationRequest,
    Purpose::KeySuccession,
];

const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

#[test]
fn the_tenant_waits_for_every_signature_in_any_order() {
    let undisturbed = {
        let (mut home, service) = home(true, Some(2));
        service.allow_all();
        let step = home.receive(nonce(7)).unwrap();
        (tenants(&step.outbox), home.record(), home.names())
    };
    for order in ORDERS {
        let (mut home, service) = home(true, Some(2));
        let step = home.receive(nonce(7)).unwrap();
        assert_eq!(tenants(&step.outbox), []);
        assert_eq!(signatures_awaited(&step), 3);
        // The nonce is stored before it is signed.
        let stored: Secret = home.get(names::SIGNED_NONCE_SECRET).unwrap();
        assert!(stored.get(names::NONCE).is_some() && stored.get(names::SIGNED_NONCE).is_none());
        for (at, purpose) in order.map(|at| PURPOSES[at]).into_iter().enumerate() {
            assert_eq!(home.phase(), "NeedsSignature");
            // While no answer comes, nothing changes, and the same signatures
            // are awaited.
            let waiting = home.turn();
            assert!(waiting.is_settled(), "{order:?} {waiting:?}");
            assert_eq!(signatures_awaited(&waiting), 3 - at);
            service.allow(purpose);
            let step = home.turn();
            // Each answer is stored as soon as it comes.
            assert!(!step.is_settled(), "{order:?} {purpose:?}");
            assert_eq!(signatures_awaited(&step), 2 - at);
            assert_eq!(tenants(&step.outbox).len(), usize::from(at == 2));
        }
        assert_eq!(home.phase(), "AwaitsIdentity");
        let sent = home.settle();
        assert_eq!(tenants(&sent.outbox), undisturbed.0, "{order:?}");
        assert_eq!(home.record(), undisturbed.1, "{order:?}");
        assert_eq!(home.names(), undisturbed.2, "{order:?}");
        let annotations = &undisturbed.0[0].metadata.annotations;
        assert!(annotations.contains_key(KEY_SUCCESSION_ANNOTATION));
        // Every step asked for the same signatures, and each was made once.
        let asked: BTreeSet<RequestId> = service.asked.lock().unwrap().iter().copied().collect();
        let signed = service.signed.lock().unwrap();
        assert_eq!((asked.len(), signed.len()), (3, 3));
        assert!(signed.iter().all(|id| asked.contains(id)));
    }
}

#[test]
fn a_key_learns_for_which_provider_it_signs() {
    let (mut home, service) = home(true, Some(2));
    service.allow_all();
    let step = home.receive(nonce(7)).unwrap();
    let provider = step.outbox[0].to.clone();
    let expected = PURPOSES.map(|purpose| (format!("{purpose:?}"), Some(provider.clone())));
    assert_eq!(*service.named.lock().unwrap(), BTreeSet::from(expected));
}

#[test]
fn a_crash_after_any_effect_leads_to_the_same_objects() {
    let expected = {
        let (mut home, service) = home(true, Some(2));
        service.allow_all();
        home.receive(nonce(7)).unwrap();
        (home.names(), home.record(), home.sent.clone())
    };
    for order in ORDERS {
        for crash in 0..4 {
            for effects in 0..3 {
                let (mut home, service) = home(true, Some(2));
                // The driver delivers the nonce until it is accepted.
                let view = home.view();
                let message = Message::new(view.peer(), home.consumer.cluster_id(), nonce(7));
                let mut first = home
                    .consumer
                    .receive(&view, message, env(home.now))
                    .unwrap();
                if crash == 0 {
                    first.effects.truncate(effects);
                }
                home.carry_out(first);
                home.receive(nonce(7)).unwrap();
                for (at, purpose) in order.map(|at| PURPOSES[at]).into_iter().enumerate() {
                    service.allow(purpose);
                    let mut step = home.reconciled();
                    if crash == at + 1 {
                        step.effects.truncate(effects);
                    }
                    home.carry_out(step);
                }
                home.settle();
                assert_eq!(home.names(), expected.0, "{order:?} {crash} {effects}");
                assert_eq!(home.record(), expected.1, "{order:?} {crash} {effects}");
                assert_eq!(home.sent, expected.2, "{order:?} {crash} {effects}");
            }
        }
    }
}

#[test]
fn a_key_store_that_answers_later_loses_no_nonce() {
    let (mut home, service) = home(false, None);
    // Nothing has to be signed yet.
    assert_eq!(home.phase(), "AwaitsNonce");
    assert_eq!(home.turn().wait.awaiting, [Awaited::Nonce]);
    let step = home.receive(nonce(7)).unwrap();
    assert_eq!(step.wait.awaiting, [Awaited::OwnKey]);
    assert_eq!(home.phase(), "NeedsKey");
    assert!(home.receive(nonce(7)).unwrap().is_settled());
    assert!(home.turn().is_settled());
    assert_eq!(home.status().phase.name(), "NeedsKey");

    *service.has_keys.lock().unwrap() = true;
    service.allow_all();
    assert_eq!(home.phase(), "NeedsSignature");
    let step = home.turn();
    assert_eq!(tenants(&step.outbox).len(), 1);
    assert_eq!(home.phase(), "AwaitsIdentity");
}

#[test]
fn a_nonce_beside_an_identity_is_signed_when_the_key_answers() {
    let (mut home, service) = home(true, None);
    service.allow(Purpose::Nonce);
    service.allow(Purpose::CertificationRequest);
    home.sign_nonce(7);
    let identity = home.identity(&issue_control_plane(&*ed25519(1), home.now, HOUR));
    home.receive(identity).unwrap();
    home.settle();
    assert_eq!(home.phase(), "Authenticated");

    for refused in [false, true] {
        service.allowed.lock().unwrap().clear();
        if refused {
            home.now = home.now + 2 * HOUR;
        }
        let step = home.receive(nonce(8 + u8::from(refused))).unwrap();
        assert_eq!(
            (tenants(&step.outbox).len(), signatures_awaited(&step)),
            (0, 1)
        );
        let waiting = home.turn();
        assert_eq!(
            home.phase(),
            if refused { "Refused" } else { "Authenticated" }
        );
        assert_eq!(signatures_awaited(&waiting), 1);
        assert!(home.settle().is_settled());
        service.allow(Purpose::Nonce);
        assert_eq!(tenants(&home.turn().outbox).len(), 1);
        assert_eq!(signatures_awaited(&home.settle()), 0);
    }
}

#[test]
fn requests_of_slices_and_renewals_wait_for_the_key() {
    let (mut home, service) = home(true, None);
    service.allow_all();
    home = home.authenticate(HOUR);
    service.allowed.lock().unwrap().clear();

    // The slice is stored without its request. The request follows.
    let step = home.request_slice();
    assert_eq!(signatures_awaited(&step), 1);
    let slice: ResourceSlice = home.get("mypool").unwrap();
    assert!(slice.spec.csr.is_empty());
    assert_eq!(slice.spec.resources, mypool().resources);
    assert_eq!(home.slice_phase(), "NeedsRequest");
    let waiting = home.settle();
    assert_eq!(signatures_awaited(&waiting), 1);
    service.allow(Purpose::CertificationRequest);
    home.settle();
    assert_eq!(home.slice_phase(), "AwaitsDecision");

    // A renewal uses the stored request and does not need a key. If that request is
    // lost, the key signs another one.
    service.allowed.lock().unwrap().clear();
    let mut record = home.record();
    record.as_object_mut().unwrap().remove("csr");
    home.put_record(&record);
    home.now = home.now + 41 * MINUTE;
    let waiting = home.settle();
    assert_eq!(signatures_awaited(&waiting), 1);
    assert!(home.renew().unwrap().spec.csr.is_empty());
    service.allow(Purpose::CertificationRequest);
    home.settle();
    assert!(!home.renew().unwrap().spec.csr.is_empty());
}

#[test]
fn a_slice_that_fails_changes_nothing_and_does_not_delay_other_slices() {
    /// Signs everything except requests for one slice.
    struct Choosy(Arc<dyn SigningKey>);
    impl SigningKey for Choosy {
        fn public_key(&self) -> &PublicKey {
            self.0.public_key()
        }
        fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
            let hates = b"badpool";
            if payload
                .bytes()
                .windows(hates.len())
                .any(|part| part == hates)
            {
                return Ok(Answer::Denied("not for that pool".to_owned()));
            }
            self.0.sign(payload)
        }
        fn client_key(&self) -> ClientKey {
            self.0.client_key()
        }
    }
    let keys = liqo_auth::crypto::OneKey(Arc::new(Choosy(ed25519(1))));
    let mut home = Home::with_keys(PeerSettings::default(), Arc::new(keys)).authenticate(YEAR);
    home.request_slice();
    let mut bare = home.slice();
    bare.metadata.uid.clear();
    bare.spec.csr = liqo_auth::model::Bytes::default();
    bare.spec.consumer_cluster_id = None;
    for name in ["badpool", "other"] {
        bare.metadata.name = name.to_owned();
        home.objects.insert(bare.clone().into());
    }
    home.put_on_record(&["badpool", "mypool", "other"]);
    let step = home.turn();
    let changed: Vec<String> = step.effects.iter().map(|effect| effect.id().name).collect();
    // The record has what is accepted.
    assert_eq!(changed, ["liqo-auth-consumer-cl-provider", "other"]);
    let about: Vec<_> = step
        .events
        .iter()
        .map(|event| event.object.clone())
        .collect();
    assert_eq!(about.len(), 1);
    let [refused] = step.refused.as_slice() else {
        panic!("{step:?}");
    };
    assert_eq!(refused.object.as_ref().unwrap().name, "badpool");
    assert!(refused.error.to_string().contains("not for that pool"));
    assert!(home.turn().is_settled());
}

#[test]
fn without_changes_the_steps_soon_have_no_effects() {
    let mut home = Home::with_slice(YEAR);
    for change in 0..4 {
        match change {
            0 => {}
            1 => home.sign_nonce(8),
            2 => drop(home.objects.remove(&super::home::object(
                liqo_auth::model::Kind::Secret,
                &names::kubeconfig_secret(IDENTITY),
            ))),
            _ => home.now = home.now + HOUR,
        }
        let effects: Vec<bool> = (0..5).map(|_| home.turn().is_settled()).collect();
        assert!(effects.ends_with(&[true, true]), "{change} {effects:?}");
        assert!(matches!(home.status().phase, Phase::Authenticated(_)));
        let again = home.reconciled();
        assert_eq!(again, home.reconciled());
    }
}
