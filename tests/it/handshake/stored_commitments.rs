//! The provider's key signs a commitment once, and again when the commitment is to
//! say something else.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use liqo_auth::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    crypto::{Answer, BoxError, ClientKey, Payload, PublicKey, RecordKey, Signature, SigningKey},
    machine::MessageBody,
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
    match &exchange.sent["Identity"] {
        MessageBody::Identity(identity) => identity
            .metadata
            .annotations
            .get(COMMITMENT_ANNOTATION)
            .unwrap()
            .clone(),
        other => panic!("{other:?}"),
    }
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
