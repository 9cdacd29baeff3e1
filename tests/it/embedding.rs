//! An exchange between an embedder's own two sides, with backends that answer later, never, or
//! with a refusal, and with a store that loses what is written.

use core::time::Duration;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use liqo_auth::{
    Consumer, Env, Provider,
    consumer::ConsumerConfig,
    crypto::{Answer, Authority, BoxError, Entropy, KeyPair, OneKey, RecordKey},
    error::{Fault, PolicyRefusal},
    machine::{ApplyError, Effect, Interest, Objects},
    model::{Object, Timestamp},
    provider::{ApprovalRequest, AuthoritySigner, CsrSigner, Endpoint, NameTable, SigningRequest},
};
use liqo_auth_rehearsal::{Embedding, Store, Unfinished};
use serde_json::Value;

/// How often a backend is asked.
#[derive(Default)]
struct Asked {
    signer: AtomicUsize,
    approver: AtomicUsize,
}

/// Plays an exchange, with an approver that decides, and a signer that answers, at this time.
fn rehearse(
    at_provider: &mut dyn Store,
    asked: &Arc<Asked>,
    decides: fn(usize) -> Answer<()>,
    signs_at: usize,
) -> Result<(), Unfinished> {
    let of = Authority::new("milan-ca", NOW, Duration::from_secs(86_400), &entropy(1)).unwrap();
    let endpoint = Endpoint::new(
        "https://172.19.0.3:6443".parse().unwrap(),
        Some(of.ca_bundle()),
    );
    let signer = AuthoritySigner::new(of, entropy(2));
    let (of_signer, of_approver) = (asked.clone(), asked.clone());
    let provider = Provider::builder(
        "milan".parse().unwrap(),
        endpoint,
        RecordKey::new([1; 32]).unwrap(),
    )
    .principals(Arc::new(NameTable::default()))
    .signer(Arc::new(move |request: &SigningRequest| {
        match of_signer.signer.fetch_add(1, Ordering::Relaxed) < signs_at {
            true => Ok(Answer::Pending),
            false => signer.sign(request),
        }
    }))
    .approver(Arc::new(
        move |_: &ApprovalRequest| -> Result<_, BoxError> {
            Ok(decides(
                of_approver.approver.fetch_add(1, Ordering::Relaxed),
            ))
        },
    ))
    .build();
    let keys = Arc::new(OneKey(Arc::new(KeyPair::from_entropy(&entropy(3)))));
    let consumer = Consumer::new(ConsumerConfig::new("rome".parse().unwrap()), keys);
    let mut drawn = 8;
    Embedding {
        provider: &provider,
        consumer: &consumer,
        at_provider,
        at_consumer: &mut Objects::new(&entropy(5)),
        env: &mut || {
            drawn += 1;
            Env {
                now: NOW,
                entropy: entropy(drawn),
            }
        },
    }
    .rehearse()
}

#[test]
fn backends_that_answer_later_end_an_exchange() {
    let asked = Arc::default();
    let later = |asked| match asked {
        0..3 => Answer::Pending,
        _ => Answer::Ready(()),
    };
    rehearse(&mut Objects::new(&entropy(4)), &asked, later, 3).unwrap();
    assert!(asked.signer.load(Ordering::Relaxed) > 3);
    assert!(asked.approver.load(Ordering::Relaxed) > 3);
}

#[test]
fn a_signer_that_never_answers_is_noticed() {
    let (asked, at_once) = (Arc::default(), |_| Answer::Ready(()));
    let played = rehearse(&mut Objects::new(&entropy(4)), &asked, at_once, usize::MAX);
    assert!(matches!(played, Err(Unfinished::Endless)), "{played:?}");
}

#[test]
fn an_approver_that_denies_ends_an_exchange() {
    let denies = |_| Answer::Denied("no contract".to_owned());
    let played = rehearse(&mut Objects::new(&entropy(4)), &Arc::default(), denies, 0);
    let Err(Unfinished::Refused(error)) = played else {
        panic!("{played:?}");
    };
    assert!(matches!(
        error.fault(),
        Fault::Policy(PolicyRefusal::Disapproved { .. })
    ));
}

#[test]
fn a_store_that_loses_what_is_written_is_noticed() {
    let mut store = Forgetful(Objects::new(&entropy(4)));
    let played = rehearse(&mut store, &Arc::default(), |_| Answer::Ready(()), 0);
    assert!(matches!(played, Err(Unfinished::Endless)), "{played:?}");
}

/// A store that keeps nothing, and says that it has.
struct Forgetful(Objects);

impl Store for Forgetful {
    fn look_up(&mut self, interests: &[Interest]) -> Vec<Object> {
        Store::look_up(&mut self.0, interests)
    }

    fn apply(&mut self, _effect: &Effect) -> Result<(), ApplyError> {
        Ok(())
    }

    fn plant(&mut self, value: Value) -> bool {
        self.0.plant(value)
    }
}

fn entropy(byte: u8) -> Entropy {
    Entropy::from_bytes([byte; 32])
}

const NOW: Timestamp = Timestamp::EPOCH;
