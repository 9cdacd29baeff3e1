//! Backends whose behaviour a test sets, together or by kind: they answer,
//! answer later, deny or fail.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use liqo_auth::{
    crypto::{
        Answer, BoxError, CertificateChain, ClientKey, Payload, PublicKey, Signature, SigningKey,
    },
    model::AwsConfig,
    provider::{
        ApprovalRequest, Approver, AwsIdentities, AwsIdentityRequest, CsrSigner, LiqoClasses,
        NameRequest, Principals, ResourceSlicePolicy, SigningRequest, SliceDecision, SliceRequest,
    },
};

use crate::clusters::{
    exchange::{Ledger, ed25519},
    iam::Iam,
};

/// The behaviour of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Answers,
    Pends,
    Denies,
    Fails,
}

/// All backends of a provider, including its own key.
pub(super) struct Backends {
    mood: Mutex<Mood>,
    /// The behaviour of single kinds of backends, if it differs.
    of_one: Mutex<BTreeMap<&'static str, Mood>>,
    ledger: Ledger,
    iam: Iam,
    key: Arc<dyn SigningKey>,
}

impl Backends {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            mood: Mutex::new(Mood::Answers),
            of_one: Mutex::default(),
            ledger: Ledger::new(),
            iam: Iam::default(),
            key: ed25519(2),
        })
    }

    /// Sets the behaviour of all backends.
    pub(super) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
        self.of_one.lock().unwrap().clear();
    }

    /// Sets the behaviour of one kind of backend.
    pub(super) fn set_one(&self, backend: &'static str, mood: Mood) {
        self.of_one.lock().unwrap().insert(backend, mood);
    }

    /// The result of `ask` while all backends have this behaviour.
    pub(super) fn while_all<T>(&self, mood: Mood, ask: impl FnOnce() -> T) -> T {
        let before = (
            core::mem::replace(&mut *self.mood.lock().unwrap(), mood),
            core::mem::take(&mut *self.of_one.lock().unwrap()),
        );
        let given = ask();
        *self.mood.lock().unwrap() = before.0;
        *self.of_one.lock().unwrap() = before.1;
        given
    }

    /// The number of certificates that were signed and access keys that were made.
    pub(super) fn credentials_given(&self) -> usize {
        self.ledger.issued.lock().unwrap().len() + self.iam.made()
    }

    fn mood_of(&self, backend: &'static str) -> Mood {
        let of_one = self.of_one.lock().unwrap().get(backend).copied();
        of_one.unwrap_or(*self.mood.lock().unwrap())
    }

    fn answer<T>(
        &self,
        backend: &'static str,
        ready: impl FnOnce() -> Result<Answer<T>, BoxError>,
    ) -> Result<Answer<T>, BoxError> {
        match self.mood_of(backend) {
            Mood::Answers => ready(),
            Mood::Pends => Ok(Answer::Pending),
            Mood::Denies => Ok(Answer::Denied("no".to_owned())),
            Mood::Fails => Err("the backend is away".into()),
        }
    }
}

/// The kinds of backends.
pub(super) const KINDS: [&str; 6] = ["signer", "aws", "approver", "policy", "names", "key"];

impl CsrSigner for Backends {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        self.answer("signer", || self.ledger.sign(request))
    }
}

impl AwsIdentities for Backends {
    fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> {
        self.answer("aws", || self.iam.identity(request))
    }
}

impl Approver for Backends {
    fn decide(&self, _: &ApprovalRequest) -> Result<Answer<()>, BoxError> {
        self.answer("approver", || Ok(Answer::Ready(())))
    }
}

impl ResourceSlicePolicy for Backends {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        self.answer("policy", || LiqoClasses::default().decide(request))
    }
}

impl Principals for Backends {
    fn is_taken(&self, _request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        self.answer("names", || Ok(Answer::Ready(false)))
    }
}

/// The key signs at once or later, or it fails.
impl SigningKey for Backends {
    fn public_key(&self) -> &PublicKey {
        self.key.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        self.answer("key", || self.key.sign(payload))
    }

    fn client_key(&self) -> ClientKey {
        self.key.client_key()
    }
}
