//! The forms of an event and of an error.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::{
    audit::{Decision, Event},
    error::{Disposition, Error, Fault, LocalFault},
    model::ObjectRef,
};

impl Event {
    fn to_value(&self) -> Value {
        let mut value = json!({
            "peer": self.peer.as_str(),
            "decision": self.decision.name(),
        });
        put_object(&mut value, self.object.as_ref());
        if let Some(key) = &self.key {
            put(&mut value, "key", key.to_string());
        }
        if let Decision::Refused(error) = &self.decision {
            put(&mut value, "error", error.to_value());
            return value;
        }
        if let Some(rule) = self.decision.rule() {
            put(&mut value, "rule", rule.number());
        }
        let details = self.decision.details();
        if !details.is_empty() {
            put(
                &mut value,
                "details",
                details.into_iter().collect::<Value>(),
            );
        }
        value
    }
}

impl Error {
    pub(super) fn to_value(&self) -> Value {
        let message = match self.fault() {
            Fault::Local(LocalFault::Backend { backend, .. }) => {
                format!("on this side: {backend} failed")
            }
            fault => fault.to_string(),
        };
        let mut value = json!({
            "code": self.code(),
            "fault": self.fault().name(),
            "message": message,
            "advice": self.advice(),
            "disposition": match self.disposition() {
                Disposition::Retry => "retry",
                Disposition::WaitForChange => "waitForChange",
                Disposition::GiveUp => "giveUp",
            },
        });
        put_object(&mut value, self.at().object.as_ref());
        if !self.at().field.is_empty() {
            put(&mut value, "field", self.at().field);
        }
        if let Some(rule) = self.rule() {
            put(&mut value, "rule", rule.number());
        }
        value
    }
}

/// The event in its [JSON form](crate::machine::json).
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// The error in its [JSON form](crate::machine::json). The text of a backend's
/// own error is not in it.
impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// Adds the object, if there is one.
fn put_object(value: &mut Value, object: Option<&ObjectRef>) {
    if let Some(object) = object {
        put(value, "object", json!(object));
    }
}

fn put(value: &mut Value, key: &str, field: impl Into<Value>) {
    if let Value::Object(fields) = value {
        fields.insert(key.to_owned(), field.into());
    }
}
