//! The forms of a step and of its parts.

use serde_json::{Value, json};

use super::written;
use crate::{
    machine::{Effect, Step},
    model::SecretBytes,
};

impl Step {
    /// The step in its [JSON form](super). The bytes are wiped when they are
    /// dropped, since effects and messages may carry secrets.
    pub fn to_json(&self) -> SecretBytes {
        written(json!({
            "effects": values(&self.effects, Effect::to_value),
            "outbox": values(&self.outbox, super::Message::to_value),
            "refused": self.refused,
            "notices": self.notices,
            "events": self.events,
            "wait": self.wait,
        }))
    }
}

impl Effect {
    /// The effect in its [JSON form](super). The bytes are wiped when they are
    /// dropped, since an object may carry a secret.
    pub fn to_json(&self) -> SecretBytes {
        written(self.to_value())
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Create(object) => json!({ "type": "create", "object": object.to_value() }),
            Self::Replace { object, version } => json!({
                "type": "replace",
                "object": object.to_value(),
                "version": version,
            }),
            Self::Patch {
                id,
                version,
                part,
                patch,
            } => json!({
                "type": "patch",
                "id": id,
                "version": version,
                "part": part,
                "patch": patch,
            }),
            Self::Delete { id, version } => json!({
                "type": "delete",
                "id": id,
                "version": version,
            }),
        }
    }
}

fn values<T>(items: &[T], to_value: impl Fn(&T) -> Value) -> Vec<Value> {
    items.iter().map(to_value).collect()
}
