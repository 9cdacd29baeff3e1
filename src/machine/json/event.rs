//! The forms of an event and of an error.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::{
    audit::{Decision, Event},
    error::{Disposition, Error, Fault, LocalFault, Rule},
};

/// The event in its [JSON form](crate::machine::json).
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (error, rule, details) = match &self.decision {
            Decision::Refused(error) => (Some(error), None, BTreeMap::new()),
            decision => (None, decision.rule(), decision.details()),
        };
        let form = json!({
            "peer": self.peer.as_str(),
            "decision": self.decision.name(),
            "object": self.object,
            "key": self.key.map(|key| key.to_string()),
            "error": error,
            "rule": rule.map(Rule::number),
            "details": (!details.is_empty()).then_some(details),
        });
        without_nulls(form).serialize(serializer)
    }
}

/// The error in its [JSON form](crate::machine::json). The form does not contain the
/// text of a backend's own error.
impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = match self.fault() {
            Fault::Local(LocalFault::Backend { backend, .. }) => {
                format!("on this side: {backend} failed")
            }
            fault => fault.to_string(),
        };
        let at = self.at();
        let form = json!({
            "code": self.code(),
            "fault": self.fault().name(),
            "message": message,
            "advice": self.advice(),
            "remedy": self.remedy(),
            "disposition": match self.disposition() {
                Disposition::Retry => "retry",
                Disposition::WaitForChange => "waitForChange",
                Disposition::GiveUp => "giveUp",
            },
            "object": at.object,
            "field": (!at.field.is_empty()).then_some(at.field),
            "rule": self.rule().map(Rule::number),
        });
        without_nulls(form).serialize(serializer)
    }
}

/// The form without the fields that have no value.
fn without_nulls(mut form: Value) -> Value {
    if let Value::Object(fields) = &mut form {
        fields.retain(|_, field| !field.is_null());
    }
    form
}
