//! A signer whose behaviour the test sets, and that counts its signatures.

use core::time::Duration;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use liqo_auth::{
    crypto::{Answer, Authority, BoxError, CertificateChain, Entropy, KeyPair},
    model::Timestamp,
    provider::{
        AuthoritySigner, CsrSigner, Endpoint, NameTable, Provider, ProviderBuilder, RequestId,
        SigningRequest,
    },
};

use crate::clusters::exchange::{API_SERVER, RECORD_KEY, ed25519, id, now};

pub(crate) const DAY: Duration = Duration::from_secs(86_400);
pub(crate) const YEAR: Duration = Duration::from_secs(365 * 86_400);

pub(crate) struct Notary {
    signer: AuthoritySigner,
    bundle: liqo_auth::crypto::CaBundle,
    state: Mutex<State>,
}

struct State {
    mood: Mood,
    remembers: bool,
    asked: usize,
    signed: usize,
    issued: BTreeMap<RequestId, CertificateChain>,
}

#[derive(Clone)]
pub(crate) enum Mood {
    Signs,
    Keeps,
    Denies(&'static str),
    Fails,
    Gives(CertificateChain),
}

impl Notary {
    /// A signer that answers the same request with the same certificate. Its
    /// own certificate has this lifetime.
    pub(crate) fn new(lifetime: Duration) -> Arc<Self> {
        Self::made(lifetime, true)
    }

    /// A signer that signs each request anew.
    pub(crate) fn forgetful(lifetime: Duration) -> Arc<Self> {
        Self::made(lifetime, false)
    }

    fn made(lifetime: Duration, remembers: bool) -> Arc<Self> {
        let key = Arc::new(KeyPair::from_entropy(&Entropy::from_bytes([9; 32])));
        let entropy = Entropy::from_bytes([10; 32]);
        let from: Timestamp = now();
        let authority =
            Authority::with_key("cl-provider-ca", key, from, lifetime, &entropy).unwrap();
        Arc::new(Self {
            bundle: authority.ca_bundle().clone(),
            signer: AuthoritySigner::new(authority, Entropy::from_bytes([11; 32])),
            state: Mutex::new(State {
                mood: Mood::Signs,
                remembers,
                asked: 0,
                signed: 0,
                issued: BTreeMap::new(),
            }),
        })
    }

    pub(crate) fn mood(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    /// The number of requests and of signatures.
    pub(crate) fn asked(&self) -> usize {
        self.state.lock().unwrap().asked
    }

    pub(crate) fn signed(&self) -> usize {
        self.state.lock().unwrap().signed
    }

    /// A provider whose certificates this notary signs.
    pub(crate) fn provider(
        self: &Arc<Self>,
        configure: impl FnOnce(ProviderBuilder) -> ProviderBuilder,
    ) -> Provider {
        let endpoint = Endpoint::new(API_SERVER.parse().unwrap(), Some(&self.bundle));
        let record_key = liqo_auth::crypto::RecordKey::new(RECORD_KEY).unwrap();
        let signer: Arc<dyn CsrSigner> = self.clone();
        let builder = Provider::builder(id("cl-provider"), endpoint, record_key)
            .principals(Arc::new(NameTable::default()))
            .key(ed25519(2))
            .signer(signer);
        configure(builder).build()
    }
}

impl CsrSigner for Notary {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        let mut state = self.state.lock().unwrap();
        state.asked += 1;
        match state.mood.clone() {
            Mood::Keeps => return Ok(Answer::Pending),
            Mood::Denies(reason) => return Ok(Answer::Denied(reason.to_owned())),
            Mood::Fails => return Err("the signer is away".into()),
            Mood::Gives(chain) => return Ok(Answer::Ready(chain)),
            Mood::Signs => {}
        }
        if state.remembers
            && let Some(chain) = state.issued.get(&request.id)
        {
            return Ok(Answer::Ready(chain.clone()));
        }
        let signing = self.signer.sign(request)?;
        if let Answer::Ready(chain) = &signing {
            state.signed += 1;
            state.issued.insert(request.id, chain.clone());
        }
        Ok(signing)
    }
}
