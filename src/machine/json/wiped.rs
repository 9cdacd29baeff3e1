//! JSON as bytes that are wiped on drop.

use serde_json::Value;

use crate::{
    machine::sealed::to_text,
    model::{SecretBytes, wipe},
};

/// The compact text of a value. The value's strings are wiped. The result has a buffer
/// of the text's exact size. Every other buffer is wiped, so that no copy stays in
/// memory.
pub(crate) fn written(mut value: Value) -> SecretBytes {
    // The serialization of a `Value` cannot fail.
    let text = to_text(&value).unwrap_or_default();
    wipe(&mut value);
    SecretBytes::from(text)
}
