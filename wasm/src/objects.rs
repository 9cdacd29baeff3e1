//! Objects as a request has them: each is read for itself, within the limits.

use liqo_auth::{
    model::{BoundedReader, Object, SecretBytes},
    policy::Limits,
};
use serde_json::value::RawValue;

/// The objects, which are read one at a time: a peer may write large ones.
pub(crate) fn read(texts: &[&RawValue]) -> Vec<Object> {
    let limits = Limits::default();
    texts.iter().map(|text| object(text, &limits)).collect()
}

/// The object. One that exceeds the limits is reduced to its metadata before any part of it
/// is decoded.
fn object(text: &RawValue, limits: &Limits) -> Object {
    let text = text.get().as_bytes();
    let value = match text.len() <= limits.object {
        true => serde_json::from_slice(text),
        false => {
            let kept = BoundedReader::new(limits).read(text);
            let kept = SecretBytes::from(kept.unwrap_or_default());
            serde_json::from_slice(kept.expose())
        }
    };
    Object::from_value(value.unwrap_or_default())
}
