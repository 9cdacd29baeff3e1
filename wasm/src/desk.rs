//! Backends whose answers come with the next call.

use std::sync::{Arc, Mutex, PoisonError};

use liqo_auth::{
    crypto::{
        Answer, BoxError, CertificateChain, ClientKey, ExternalKey, KeyQuestion, KeyStore, Payload,
        PublicKey, Signature, SigningKey,
    },
    model::{AwsConfig, ClusterId, read_document},
    provider::{
        ApprovalRequest, Approver, AwsIdentities, AwsIdentityRequest, CsrSigner, NameRequest,
        Principals, ResourceSlicePolicy, SigningRequest, SliceDecision, SliceRequest,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::json::Raw;

/// The answers that came with a request, and the questions that leave with its
/// answer.
#[derive(Default)]
pub(crate) struct Desk {
    answers: Vec<(Value, Raw)>,
    open: Mutex<Vec<Value>>,
}

/// An answer with its question, as the module asked it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answered {
    question: Value,
    /// An [`Answer`], or a map with the `type` `failed` and a `reason`.
    answer: Raw,
}

/// A backend that could not answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", tag = "type", deny_unknown_fields)]
enum Failed {
    Failed { reason: String },
}

impl Desk {
    pub(crate) fn new(answered: Vec<Answered>) -> Arc<Self> {
        let answers = answered
            .into_iter()
            .map(|answered| (without_time(answered.question), answered.answer))
            .collect();
        Arc::new(Self {
            answers,
            open: Mutex::default(),
        })
    }

    /// The questions without an answer.
    pub(crate) fn open(&self) -> Vec<Value> {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn ask<T: DeserializeOwned>(&self, question: &impl Serialize) -> Result<Answer<T>, BoxError> {
        let question = serde_json::to_value(question)?;
        let asked = without_time(question.clone());
        let known = self.answers.iter().find(|(known, _)| *known == asked);
        if let Some((_, answer)) = known {
            if let Ok(Failed::Failed { reason }) = serde_json::from_str(answer.get()) {
                return Err(reason.into());
            }
            return Ok(read_document(answer.get().as_bytes())?);
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.contains(&question) {
            open.push(question);
        }
        Ok(Answer::Pending)
    }
}

/// The question without its time, which differs at each look.
fn without_time(mut question: Value) -> Value {
    if let Value::Object(fields) = &mut question {
        fields.remove("now");
    }
    question
}

impl CsrSigner for Desk {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        self.ask(request)
    }
}

impl Approver for Desk {
    fn decide(&self, request: &ApprovalRequest) -> Result<Answer<()>, BoxError> {
        self.ask(request)
    }
}

impl AwsIdentities for Desk {
    fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> {
        self.ask(request)
    }
}

impl ResourceSlicePolicy for Desk {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        self.ask(request)
    }
}

impl Principals for Desk {
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        self.ask(request)
    }
}

/// A key whose signatures come from the caller.
pub(crate) struct DeskKey {
    pub(crate) key: ExternalKey,
    pub(crate) desk: Arc<Desk>,
}

impl SigningKey for DeskKey {
    fn public_key(&self) -> &PublicKey {
        &self.key.public_key
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        self.desk.ask(&KeyQuestion::Signature(*payload))
    }

    fn client_key(&self) -> ClientKey {
        self.key.client_key.clone()
    }
}

/// The consumer's keys: one that came with the request, or the answer to a question.
pub(crate) struct DeskKeys {
    pub(crate) key: Option<ExternalKey>,
    pub(crate) desk: Arc<Desk>,
}

impl DeskKeys {
    fn key(&self, key: ExternalKey) -> Arc<dyn SigningKey> {
        let desk = Arc::clone(&self.desk);
        Arc::new(DeskKey { key, desk })
    }
}

impl KeyStore for DeskKeys {
    fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        if let Some(key) = &self.key {
            return Ok(Answer::Ready(self.key(key.clone())));
        }
        let answer = self.desk.ask(&KeyQuestion::Key(peer))?;
        Ok(answer.map(|key| self.key(key)))
    }

    fn predecessor(
        &self,
        peer: &ClusterId,
    ) -> Result<Answer<Option<Arc<dyn SigningKey>>>, BoxError> {
        if self.key.is_some() {
            return Ok(Answer::Ready(None));
        }
        let answer: Answer<Option<ExternalKey>> = self.desk.ask(&KeyQuestion::Predecessor(peer))?;
        Ok(answer.map(|key| key.map(|key| self.key(key))))
    }
}
