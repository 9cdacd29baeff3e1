//! JSON that is written, and JSON that is read later.

use serde::Serialize;
use serde_json::value::RawValue;

/// JSON that is read later.
pub(crate) type Raw = Box<RawValue>;

/// The value as JSON. The serialization of this crate's values cannot fail.
pub(crate) fn written(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// The value of an answer as JSON, and the bytes that follow the answer.
pub(crate) struct Value {
    pub(crate) json: Vec<u8>,
    pub(crate) following: Vec<u8>,
}

impl From<Vec<u8>> for Value {
    fn from(json: Vec<u8>) -> Self {
        let following = Vec::new();
        Self { json, following }
    }
}
