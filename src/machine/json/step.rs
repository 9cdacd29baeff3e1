//! The forms of a step and of its parts.

use serde_json::{Value, json};

use super::{event, object_value, of_type, version_value, written};
use crate::{
    audit::Event,
    machine::{Awaited, Effect, Notice, Part, Refused, Step, Wait},
    model::SecretBytes,
};

impl Step {
    /// The step in its [JSON form](super). The bytes are wiped when they are
    /// dropped, since effects and messages may carry secrets.
    pub fn to_json(&self) -> SecretBytes {
        written(json!({
            "effects": values(&self.effects, Effect::to_value),
            "outbox": values(&self.outbox, super::Message::to_value),
            "refused": values(&self.refused, Refused::to_json),
            "notices": values(&self.notices, Notice::to_json),
            "events": values(&self.events, Event::to_json),
            "wait": self.wait.to_json(),
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
                "version": version_value(version),
            }),
            Self::Patch {
                id,
                version,
                part,
                patch,
            } => json!({
                "type": "patch",
                "id": object_value(id),
                "version": version_value(version),
                "part": match part {
                    Part::Main => "main",
                    Part::Status => "status",
                    Part::Approval => "approval",
                },
                "patch": patch,
            }),
            Self::Delete { id, version } => json!({
                "type": "delete",
                "id": object_value(id),
                "version": version_value(version),
            }),
        }
    }
}

impl Refused {
    /// The refusal in its [JSON form](super).
    pub fn to_json(&self) -> Value {
        let mut value = json!({ "error": self.error.to_json() });
        event::put_object(&mut value, self.object.as_ref());
        value
    }
}

impl Wait {
    /// What the step waits for, in its [JSON form](super).
    pub fn to_json(&self) -> Value {
        let mut value = json!({ "awaiting": values(&self.awaiting, Awaited::to_json) });
        if let (Value::Object(fields), Some(time)) = (&mut value, self.wake_at) {
            fields.insert("wakeAt".to_owned(), time.to_string().into());
        }
        value
    }
}

impl Notice {
    /// The notice in its [JSON form](super).
    pub fn to_json(&self) -> Value {
        match self {
            Self::SignedNonceIsStale => of_type("signedNonceIsStale"),
            Self::NoClusterRole { label_value } => {
                json!({ "type": "noClusterRole", "labelValue": label_value })
            }
            Self::ConditionHeld { condition } => {
                json!({ "type": "conditionHeld", "condition": format!("{condition:?}") })
            }
            Self::ProviderUnproven => of_type("providerUnproven"),
            Self::ProviderKeyFirstSeen { fingerprint } => {
                json!({ "type": "providerKeyFirstSeen", "fingerprint": fingerprint.to_string() })
            }
            Self::IssuedByAnotherCa => of_type("issuedByAnotherCa"),
            Self::RenewalNotCarried => of_type("renewalNotCarried"),
            Self::CertificateDue { identity, until } => json!({
                "type": "certificateDue",
                "identity": object_value(identity),
                "until": until.to_string(),
            }),
            Self::CannotRenew {
                identity,
                until,
                error,
            } => json!({
                "type": "cannotRenew",
                "identity": object_value(identity),
                "until": until.to_string(),
                "error": error.to_json(),
            }),
            Self::NewKeyAwaitsNonce => of_type("newKeyAwaitsNonce"),
        }
    }
}

impl Awaited {
    /// What is missing, in its [JSON form](super).
    pub fn to_json(&self) -> Value {
        let of_object = |name, id| json!({ "type": name, "object": object_value(id) });
        let of_id = |name, id: String| json!({ "type": name, "id": id });
        match self {
            Self::Invitation => of_type("invitation"),
            Self::Nonce => of_type("nonce"),
            Self::Tenant => of_type("tenant"),
            Self::Names => of_type("names"),
            Self::Approval => of_type("approval"),
            Self::Certificate(id) => of_id("certificate", id.to_string()),
            Self::AwsIdentity(id) => of_id("awsIdentity", id.to_string()),
            Self::Identity => of_type("identity"),
            Self::SliceDecision(id) => of_object("sliceDecision", id),
            Self::Renewal(id) => of_object("renewal", id),
            Self::End(id) => of_object("end", id),
            Self::OwnKey => of_type("ownKey"),
            Self::Signature(id) => of_id("signature", id.to_string()),
            Self::Uid(id) => of_object("uid", id),
            Self::SliceRequest(id) => of_object("sliceRequest", id),
            Self::Resources(id) => of_object("resources", id),
            Self::AwsRevocation {
                user_arn,
                access_key_id,
            } => json!({
                "type": "awsRevocation",
                "userArn": user_arn,
                "accessKeyId": access_key_id,
            }),
            Self::Token(id) => of_object("token", id),
        }
    }
}

fn values<T>(items: &[T], to_value: impl Fn(&T) -> Value) -> Vec<Value> {
    items.iter().map(to_value).collect()
}
