//! The forms of a step and of its parts.

use serde::Serialize;
use serde_json::Value;

use super::{message::MessageForm, notices_with_remedies, written};
use crate::{
    audit::Event,
    machine::{Effect, Notice, Part, Refused, Step, Version, Wait},
    model::{ObjectForm, ObjectRef, SecretBytes},
};

impl Step {
    /// The step in its [JSON form](super). The bytes are wiped when they are
    /// dropped, since effects and messages may carry secrets.
    pub fn to_json(&self) -> SecretBytes {
        written(&StepForm {
            effects: self.effects.iter().map(EffectForm::from).collect(),
            outbox: self.outbox.iter().map(MessageForm::from).collect(),
            refused: &self.refused,
            notices: &self.notices,
            events: &self.events,
            absent: self.absent.as_ref(),
            wait: &self.wait,
        })
    }
}

impl Effect {
    /// The effect in its [JSON form](super). The bytes are wiped when they are
    /// dropped, since an object may carry a secret.
    pub fn to_json(&self) -> SecretBytes {
        written(&EffectForm::from(self))
    }
}

#[derive(Serialize)]
struct StepForm<'a> {
    effects: Vec<EffectForm<'a>>,
    outbox: Vec<MessageForm<'a>>,
    refused: &'a [Refused],
    #[serde(serialize_with = "notices_with_remedies")]
    notices: &'a [Notice],
    events: &'a [Event],
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<&'a ObjectRef>,
    wait: &'a Wait,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum EffectForm<'a> {
    Create {
        object: ObjectForm<'a>,
    },
    Replace {
        object: ObjectForm<'a>,
        version: &'a Version,
    },
    Patch {
        id: &'a ObjectRef,
        version: &'a Version,
        part: &'a Part,
        patch: &'a Value,
    },
    Delete {
        id: &'a ObjectRef,
        version: &'a Version,
    },
}

impl<'a> From<&'a Effect> for EffectForm<'a> {
    fn from(effect: &'a Effect) -> Self {
        match effect {
            Effect::Create(object) => Self::Create {
                object: ObjectForm(object),
            },
            Effect::Replace { object, version } => Self::Replace {
                object: ObjectForm(object),
                version,
            },
            Effect::Patch {
                id,
                version,
                part,
                patch,
            } => Self::Patch {
                id,
                version,
                part,
                patch,
            },
            Effect::Delete { id, version } => Self::Delete { id, version },
        }
    }
}
