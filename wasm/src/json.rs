//! JSON that is written, and JSON that is read later.

use serde::Serialize;
use serde_json::value::RawValue;

/// JSON that is read later.
pub(crate) type Raw = Box<RawValue>;

/// The value as JSON. The serialization of this crate's values cannot fail.
pub(crate) fn written(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
