//! The answers of a session.

use core::time::Duration;

use liqo_auth::{
    machine::{Effect, Message, Step, Version},
    model::ObjectRef,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{failure::Failure, json::written};

/// The caller answers these questions.
pub(super) fn answer(questions: &[Value]) -> Vec<u8> {
    written(&json!({ "next": "answer", "questions": questions }))
}

/// The caller waits.
pub(super) fn look(after: Duration) -> Vec<u8> {
    written(&json!({ "next": "look", "afterMilliseconds": milliseconds(after) }))
}

/// The caller applies the effects of a step.
pub(super) fn apply(step: &mut Step) -> Result<Vec<u8>, Failure> {
    let effects = core::mem::take(&mut step.effects);
    let outbox = core::mem::take(&mut step.outbox);
    let mut answer = [br#"{"next":"apply","step":"#, step.to_json().expose()].concat();
    (step.effects, step.outbox) = (effects, outbox);
    answer.extend(br#","effects":["#);
    for (index, effect) in step.effects.iter().enumerate() {
        if index > 0 {
            answer.push(b',');
        }
        let head = written(&Head::of(effect));
        answer.extend(head.strip_suffix(b"}").unwrap_or(&head));
        answer.extend(br#","request":"#);
        answer.extend(effect.request()?.to_json().expose());
        answer.push(b'}');
    }
    answer.extend(b"]}");
    Ok(answer)
}

/// The caller delivers the messages of a step, and has nothing else to do until then.
pub(super) fn rest(step: &Step, again: Option<Duration>) -> Vec<u8> {
    let digest = |message: &Message| hex(&message.digest());
    let digests: Vec<String> = step.outbox.iter().map(digest).collect();
    let head = json!({
        "next": "rest",
        "digests": digests,
        "againMilliseconds": again.map(milliseconds),
    });
    let head = written(&head);
    let head = head.strip_suffix(b"}").unwrap_or(&head);
    [head, br#","step":"#, step.to_json().expose(), b"}"].concat()
}

/// An effect without its object or patch, which its request has.
#[derive(Serialize)]
struct Head<'e> {
    r#type: &'static str,
    id: ObjectRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'e Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<liqo_auth::machine::Part>,
}

impl<'e> Head<'e> {
    fn of(effect: &'e Effect) -> Self {
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
        }
    }
}

/// The digits of a digest.
pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Rounded up, so that nobody waits too short.
fn milliseconds(time: Duration) -> u128 {
    time.as_nanos().div_ceil(1_000_000)
}
