//! The forms of a step and of its parts.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{event, of_type, version_fields, written};
use crate::{
    machine::{Awaited, Effect, Holder, Notice, Part, Refused, Step, Wait},
    model::{ObjectRef, SecretBytes},
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
                "version": version_fields(version),
            }),
            Self::Patch {
                id,
                version,
                part,
                patch,
            } => json!({
                "type": "patch",
                "id": id,
                "version": version_fields(version),
                "part": match part {
                    Part::Main => "main",
                    Part::Status => "status",
                    Part::Approval => "approval",
                },
                "patch": patch,
            }),
            Self::Delete { id, version } => json!({
                "type": "delete",
                "id": id,
                "version": version_fields(version),
            }),
        }
    }
}

/// The refusal in its [JSON form](super).
impl Serialize for Refused {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = json!({ "error": self.error });
        event::put_object(&mut value, self.object.as_ref());
        value.serialize(serializer)
    }
}

/// What the step waits for, in its [JSON form](super).
impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = json!({ "awaiting": self.awaiting });
        if let (Value::Object(fields), Some(time)) = (&mut value, self.wake_at) {
            fields.insert("wakeAt".to_owned(), time.to_string().into());
        }
        value.serialize(serializer)
    }
}

/// The notice in its [JSON form](super).
impl Serialize for Notice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::SignedNonceIsStale => of_type("signedNonceIsStale"),
            Self::NonceAskedAfterEnd => of_type("nonceAskedAfterEnd"),
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
                "identity": identity,
                "until": until.to_string(),
            }),
            Self::CannotRenew {
                identity,
                until,
                error,
            } => json!({
                "type": "cannotRenew",
                "identity": identity,
                "until": until.to_string(),
                "error": error,
            }),
            Self::SignaturesWait { until } => {
                json!({ "type": "signaturesWait", "until": until.to_string() })
            }
            Self::NewKeyAwaitsNonce => of_type("newKeyAwaitsNonce"),
        }
        .serialize(serializer)
    }
}

/// What is missing, in its [JSON form](super).
impl Serialize for Awaited {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of_object = |name, id: &ObjectRef| json!({ "type": name, "object": id });
        let of_id = |name, id: String| json!({ "type": name, "id": id });
        match self {
            Self::Invitation => of_type("invitation"),
            Self::Nonce => of_type("nonce"),
            Self::Tenant => of_type("tenant"),
            Self::Names => of_type("names"),
            Self::Approval => of_type("approval"),
            Self::Credential(id) => of_id("credential", id.to_string()),
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
        .serialize(serializer)
    }
}

/// The holder in its [JSON form](super).
impl Serialize for Holder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::ControlPlane => of_type("controlPlane"),
            Self::Slice(slice) => json!({ "type": "slice", "slice": slice }),
        }
        .serialize(serializer)
    }
}

fn values<T>(items: &[T], to_value: impl Fn(&T) -> Value) -> Vec<Value> {
    items.iter().map(to_value).collect()
}
