//! The answers of a session.

use core::time::Duration;

use liqo_auth::{
    machine::{ApiRequest, Effect, Step, Version},
    model::ObjectRef,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    json::{Value as Answered, written},
};

/// The caller answers these questions.
pub(super) fn answer(questions: &[Value]) -> Vec<u8> {
    written(&json!({ "next": "answer", "questions": questions }))
}

/// The caller waits, and tells the forgotten objects again.
pub(super) fn look(after: Duration, forgotten: &[ObjectRef]) -> Vec<u8> {
    let after = milliseconds(after);
    written(&match forgotten.is_empty() {
        true => json!({ "next": "look", "afterMilliseconds": after }),
        false => json!({ "next": "look", "afterMilliseconds": after, "forgotten": forgotten }),
    })
}

/// The caller applies the effects of a step. The bodies of their requests follow the answer.
pub(super) fn apply(step: &mut Step) -> Result<Answered, Failure> {
    let effects = core::mem::take(&mut step.effects);
    let outbox = core::mem::take(&mut step.outbox);
    let mut json = [br#"{"next":"apply","step":"#, step.to_json().expose()].concat();
    (step.effects, step.outbox) = (effects, outbox);
    json.extend(br#","effects":["#);
    let mut following = Vec::new();
    for (index, effect) in step.effects.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        let request = effect.request()?;
        json.extend(written(&Head::of(effect, &request)));
        following.extend_from_slice(request.body.expose());
    }
    json.extend(b"]}");
    Ok(Answered { json, following })
}

/// The caller delivers the messages of a step, and has nothing else to do until then.
pub(super) fn rest(step: &Step, numbers: &[u64], again: Option<Duration>) -> Vec<u8> {
    let head = json!({
        "next": "rest",
        "numbers": numbers,
        "againMilliseconds": again.map(milliseconds),
    });
    let head = written(&head);
    let head = head.strip_suffix(b"}").unwrap_or(&head);
    [head, br#","step":"#, step.to_json().expose(), b"}"].concat()
}

/// An effect without its object or patch, which is the body of its request.
#[derive(Serialize)]
struct Head<'e> {
    r#type: &'static str,
    id: ObjectRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'e Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<liqo_auth::machine::Part>,
    request: RequestHead<'e>,
}

/// A request to an API server without its body.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestHead<'e> {
    method: &'static str,
    path: &'e str,
    content_type: &'static str,
    /// The length of the body.
    body: usize,
}

impl<'e> Head<'e> {
    fn of(effect: &'e Effect, request: &'e ApiRequest) -> Self {
        let (r#type, version, part) = match effect {
            Effect::Create(_) => ("create", None, None),
            Effect::Replace { version, .. } => ("replace", Some(version), None),
            Effect::Patch { version, part, .. } => ("patch", Some(version), Some(*part)),
            Effect::Delete { version, .. } => ("delete", Some(version), None),
        };
        Self {
            r#type,
            id: effect.id(),
            version,
            part,
            request: RequestHead {
                method: request.method.as_str(),
                path: &request.path,
                content_type: request.content_type,
                body: request.body.expose().len(),
            },
        }
    }
}

/// Rounded up, so that nobody waits too short.
fn milliseconds(time: Duration) -> u128 {
    time.as_nanos().div_ceil(1_000_000)
}
