//! Provider and consumer: each request contains the whole configuration and the objects
//! of one peer.
//!
//! | call | answer |
//! |---|---|
//! | `look` | `status` |
//! | `watches` | `watches`: a list of `kind`, `apiVersion`, `plural`, `namespace`, `selector` |
//! | `interests` | `interests`: a list of `type` (`object`, `named`, `labelled` or `inNamespace`), `kind`, `apiVersion`, `namespace`, `name`, `selector` |
//! | others | `step`, `requests` (the API request of each effect), `questions` |
//!
//! While `questions` is not empty, answer the questions and repeat the call with the
//! same objects, time and entropy. Apply no part of the step before that.
//!
//! The objects are placed as those of a [session](crate::session): an object that its namespace
//! or its labels give to another peer is ignored, and one without a name is refused. A session
//! takes the same calls, and keeps the objects.

use liqo_auth::{
    Step,
    consumer::ConsumerConfig,
    crypto::ExternalKey,
    model::{ClusterId, SecretBytes, Timestamp},
    provider::ProviderConfig,
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    calls::{Called, ConsumerCall, ProviderCall},
    desk::{Answered, Desk},
    failure::Failure,
    json::written,
    objects,
    placed::Placed,
    side::{self, Backend, Call, Side},
};

/// A call of a provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderRequest<'r> {
    config: ProviderConfig,
    /// 32 bytes. They are wiped after the call.
    record_key: SecretBytes,
    /// The key that proves this cluster's identity to its peers, if there is one.
    key: Option<ExternalKey>,
    backends: Vec<Backend>,
    #[serde(borrow)]
    seen: Seen<'r>,
    call: ProviderCall,
}

/// A call of a consumer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsumerRequest<'r> {
    config: ConsumerConfig,
    /// The key for every provider. Without it, the key for a provider is asked for.
    key: Option<ExternalKey>,
    #[serde(borrow)]
    seen: Seen<'r>,
    call: ConsumerCall,
}

/// The objects of one peer, the present time, and the answers of the backends.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Seen<'r> {
    peer: ClusterId,
    #[serde(borrow)]
    objects: Vec<&'r RawValue>,
    #[serde(default)]
    vouched_nonces: Vec<String>,
    now: Timestamp,
    /// 32 random bytes, used for this call alone.
    entropy: SecretBytes,
    #[serde(default)]
    answers: Vec<Answered>,
}

pub(crate) fn provider(mut request: ProviderRequest<'_>) -> Result<Vec<u8>, Failure> {
    let desk = Desk::new(core::mem::take(&mut request.seen.answers));
    let (config, key) = (request.config, request.key);
    let side = Side::provider(config, &request.backends, &request.record_key, key, desk)?;
    answer(&side, &Call::Provider(request.call), &request.seen)
}

pub(crate) fn consumer(mut request: ConsumerRequest<'_>) -> Result<Vec<u8>, Failure> {
    let desk = Desk::new(core::mem::take(&mut request.seen.answers));
    let side = Side::consumer(request.config, request.key, desk);
    answer(&side, &Call::Consumer(request.call), &request.seen)
}

fn answer(side: &Side, call: &Call, seen: &Seen<'_>) -> Result<Vec<u8>, Failure> {
    let mut objects = Placed::new(seen.peer.clone(), side.watches())?;
    for object in objects::read(&seen.objects) {
        objects.show(object)?;
    }
    let env = side::env(seen.now, &seen.entropy)?;
    match side.answer(call, objects.view()?, &seen.vouched_nonces, env)? {
        Called::Step(step) => step_and_questions(&step, &side.questions()),
        Called::Value(value) => Ok(value),
    }
}

/// The step with the API request of each effect, and the questions.
fn step_and_questions(step: &Step, questions: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut answer = [br#"{"step":"#, step.to_json().expose(), br#","requests":["#].concat();
    for (index, effect) in step.effects.iter().enumerate() {
        let request = effect.request()?;
        let separator: &[u8] = if index == 0 { b"" } else { b"," };
        answer.extend([separator, request.to_json().expose()].concat());
    }
    answer.extend(br#"],"questions":"#);
    answer.extend(written(&questions));
    answer.push(b'}');
    Ok(answer)
}
