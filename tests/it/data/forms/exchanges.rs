//! Errors and awaited answers, as exchanges make them.

use std::sync::Arc;

use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{
        Answer, BoxError, CertificateChain, ClientKey, KeyPair, KeyStore, Payload, PublicKey,
        RequestId, Signature, SigningKey,
    },
    error::Error,
    machine::{Awaited, Message},
    model::{ClusterId, Tenant, Timestamp},
    policy::Policy,
    provider::{CsrSigner, SigningRequest},
    verify::{self, TenantExpectation},
};

use super::{key, nonce};
use crate::clusters::{
    exchange::{Setup, id, now},
    store,
};

pub(super) fn misdelivered() -> Error {
    let exchange = Setup::new().exchange();
    let message = Message::new(&id("cl-provider"), &id("cl-other"), nonce());
    let view = exchange.consumer_view();
    let received = exchange.consumer.receive(&view, message, exchange.env());
    received.unwrap_err()
}

pub(super) fn too_early() -> Error {
    let exchange = Setup::new().exchange();
    let view = exchange.provider_view();
    exchange.provider.approve(&view, exchange.now).unwrap_err()
}

pub(super) fn name_taken() -> Error {
    let exchange = Setup::new().exchange();
    let objects = store::empty();
    let view = objects.view(&id("admin"));
    exchange.provider.invite(&view, exchange.env()).unwrap_err()
}

pub(super) fn another_name() -> Error {
    let expectation = TenantExpectation {
        consumer: &id("cl-consumer"),
        nonce: &nonce(),
    };
    verify::tenant(&Tenant::default(), &expectation, &Policy::strict()).unwrap_err()
}

pub(super) fn expired_nonce() -> Error {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    exchange.now = Timestamp::from_unix(exchange.now.unix() + 30 * 86_400).unwrap();
    exchange.hand_over(exchange.nonce()).unwrap_err()
}

pub(super) fn backend_error() -> Error {
    let consumer = Consumer::new(ConsumerConfig::new(id("cl-consumer")), Arc::new(Broken));
    let objects = store::empty();
    let view = objects.view(&id("cl-provider"));
    consumer.look(&view, now()).unwrap_err()
}

/// The ID of a request that the signer does not answer yet.
pub(super) fn request_id() -> RequestId {
    let mut setup = Setup::new();
    setup.signer = Arc::new(Late(key()));
    let mut exchange = setup.exchange();
    exchange.settle();
    let step = exchange.turn_of_provider();
    let mut awaiting = step.wait.awaiting.into_iter();
    awaiting
        .find_map(|awaited| match awaited {
            Awaited::Credential(id) => Some(id),
            _ => None,
        })
        .unwrap()
}

/// The ID of a signature that the key does not make yet.
pub(super) fn signature_id() -> RequestId {
    let mut setup = Setup::new();
    setup.consumer_key = Arc::new(Late(key()));
    let step = setup.exchange().hand_over(nonce()).unwrap();
    let mut awaiting = step.wait.awaiting.into_iter();
    awaiting
        .find_map(|awaited| match awaited {
            Awaited::Signature(id) => Some(id),
            _ => None,
        })
        .unwrap()
}

/// A key store that always fails.
struct Broken;

impl KeyStore for Broken {
    fn find(&self, _: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        Err("hunter2".into())
    }
}

/// A key and a signer whose answers are always pending.
struct Late(KeyPair);

impl SigningKey for Late {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, _: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        Ok(Answer::Pending)
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }
}

impl CsrSigner for Late {
    fn sign(&self, _: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        Ok(Answer::Pending)
    }
}
