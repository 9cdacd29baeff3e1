//! The provider's key signs a commitment once, and again when the commitment is to
//! say something else.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use liqo_auth::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    crypto::{Answer, BoxError, ClientKey, Payload, PublicKey, RecordKey, Signature, SigningKey},
    model::Metadata,
};

use crate::clusters::exchange::{Exchange, RECORD_KEY, Setup, ed25519, endpoint};

/// A key that counts its signatures.
struct Counting {
    key: Arc<dyn SigningKey>,
    made: AtomicUsize,
}

impl SigningKey for Counting {
    fn public_key(&self) -> &PublicKey {
        self.key.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.key.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.key.client_key()
    }
}

fn sent(exchange: &Exchange) -> String {
    commitment(&exchange.identity().metadata).unwrap()
}

fn commitment(metadata: &Metadata) -> Option<String> {
    metadata.annotations.get(COMMITMENT_ANNOTATION).cloned()
}

#[test]
fn a_commitment_is_signed_once_for_what_it_says() {
    let key = Arc::new(Counting {
        key: ed25519(2),
        made: AtomicUsize::new(0),
    });
    let mut setup = Setup::new();
    setup.provider_key = Some(key.clone());
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(key.made.load(Ordering::Relaxed), 1);
    let first = sent(&exchange);
    for _ in 0..3 {
        exchange.turn_of_provider();
    }
    assert_eq!(key.made.load(Ordering::Relaxed), 1);
    assert_eq!(sent(&exchange), first);

    setup.endpoint = endpoint("https://172.19.0.4:6443");
    exchange.provider = setup.provider(RecordKey::new(RECORD_KEY).unwrap());
    for _ in 0..3 {
        exchange.turn_of_provider();
    }
    assert_eq!(key.made.load(Ordering::Relaxed), 2);
    assert_ne!(sent(&exchange), first);
}

/// The nonce says that its provider has no key. A commitment beside it would be refused.
#[test]
fn a_nonce_without_a_commitment_gets_none() {
    let mut setup = Setup::new();
    setup.provider_key = None;
    let mut exchange = setup.exchange();
    exchange.invite();
    exchange.deliver("nonce");
    exchange.provider = Setup::new().provider(RecordKey::new(RECORD_KEY).unwrap());
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(commitment(&exchange.identity().metadata), None);

    // The next nonce names the key.
    let (view, env) = (exchange.provider_view(), exchange.env());
    let step = exchange.provider.replace_nonce(&view, env).unwrap();
    exchange.carry_out(true, step);
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert!(commitment(&exchange.identity().metadata).is_some());
}

#[test]
fn a_provider_that_gives_up_its_key_takes_its_commitment_back() {
    let mut setup = Setup::new();
    let mut exchange = setup.exchange();
    exchange.settle();
    let stored = exchange.stored_tenant().metadata;
    assert_eq!(commitment(&stored), Some(sent(&exchange)));
    setup.provider_key = None;
    exchange.provider = setup.provider(RecordKey::new(RECORD_KEY).unwrap());
    exchange.turns_of_provider();
    assert_eq!(commitment(&exchange.stored_tenant().metadata), None);
    assert_eq!(commitment(&exchange.identity().metadata), None);
}
