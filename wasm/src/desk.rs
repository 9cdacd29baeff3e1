//! Backends whose answers come from the host, or with the next call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

use crate::{
    host,
    json::{Raw, written},
};

/// The answers so far, and the questions that leave with the answer to the request.
pub(crate) struct Desk {
    host: Host,
    questions: Mutex<Questions>,
}

/// Answers a question in the middle of a call, or leaves it open.
type Host = fn(&[u8]) -> Option<Vec<u8>>;

#[derive(Default)]
struct Questions {
    answered: Vec<(Value, Raw)>,
    open: Vec<Value>,
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
        Self::with_host(host::ask, answered)
    }

    fn with_host(host: Host, answered: Vec<Answered>) -> Arc<Self> {
        let answered = answered
            .into_iter()
            .map(|answered| (without_time(answered.question), answered.answer))
            .collect();
        let open = Vec::new();
        let questions = Mutex::new(Questions { answered, open });
        Arc::new(Self { host, questions })
    }

    /// The questions without an answer.
    pub(crate) fn open(&self) -> Vec<Value> {
        self.questions().open.clone()
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T: DeserializeOwned>(&self, question: &impl Serialize) -> Result<Answer<T>, BoxError> {
        let question = serde_json::to_value(question)?;
        let mut questions = self.questions();
        match questions.answer(self.host, question)? {
            Some(answer) => read(answer),
            None => Ok(Answer::Pending),
        }
    }
}

impl Questions {
    /// The answer to a question, which the host is asked for once. Without one, the question
    /// is open.
    fn answer(&mut self, host: Host, question: Value) -> Result<Option<&Raw>, BoxError> {
        let asked = without_time(question.clone());
        let known = self.answered.iter().position(|(known, _)| *known == asked);
        let place = match known {
            Some(place) => place,
            None if self.open.contains(&question) => return Ok(None),
            None => {
                let Some(answer) = host(&written(&question)) else {
                    self.open.push(question);
                    return Ok(None);
                };
                self.answered
                    .push((asked, serde_json::from_slice(&answer)?));
                self.answered.len() - 1
            }
        };
        Ok(self.answered.get(place).map(|(_, answer)| answer))
    }
}

fn read<T: DeserializeOwned>(answer: &Raw) -> Result<Answer<T>, BoxError> {
    if let Ok(Failed::Failed { reason }) = serde_json::from_str(answer.get()) {
        return Err(reason.into());
    }
    Ok(read_document(answer.get().as_bytes())?)
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

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    static ASKED: AtomicUsize = AtomicUsize::new(0);

    /// Answers with the number of the question, unless the question is open.
    fn counting(question: &[u8]) -> Option<Vec<u8>> {
        let question: Value = serde_json::from_slice(question).ok()?;
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        (question["type"] != "open")
            .then(|| written(&json!({ "type": "ready", "value": number.to_string() })))
    }

    fn ask(desk: &Desk, r#type: &str, now: u64) -> Option<Answer<String>> {
        desk.ask(&json!({ "type": r#type, "now": now })).ok()
    }

    #[test]
    fn the_host_is_asked_once() {
        let known = Answered {
            question: json!({ "type": "known", "now": 1 }),
            answer: serde_json::from_str(r#"{"type":"ready","value":"known"}"#).unwrap_or_default(),
        };
        let desk = Desk::with_host(counting, vec![known]);
        let ready = |value: &str| Some(Answer::Ready(value.to_owned()));
        assert_eq!(ask(&desk, "known", 2), ready("known"));
        assert_eq!(ask(&desk, "a", 1), ready("0"));
        assert_eq!(ask(&desk, "a", 2), ready("0"));
        assert_eq!(ask(&desk, "open", 1), Some(Answer::Pending));
        assert_eq!(ask(&desk, "open", 1), Some(Answer::Pending));
        assert_eq!(ask(&desk, "b", 1), ready("2"));
        assert_eq!(desk.open(), [json!({ "type": "open", "now": 1 })]);
    }

    #[test]
    fn an_answer_of_the_host_that_cannot_be_read_is_an_error() {
        let desk = Desk::with_host(|_| Some(b"{".to_vec()), Vec::new());
        assert_eq!(ask(&desk, "a", 1), None);
        assert!(desk.open().is_empty());
    }
}
