//! Objects as a request has them: each is read for itself, within the limits.

use liqo_auth::{
    model::{BoundedReader, Object, SecretBytes},
    policy::Limits,
};
use serde_json::{json, value::RawValue};

use crate::{failure::Failure, json::written};

/// What one object may have. A caller that knows the limits reduces larger objects before they
/// come here.
pub(crate) fn limits() -> Vec<u8> {
    let limits = Limits::default();
    written(&json!({ "object": limits.object, "objectValues": limits.object_values }))
}

/// The objects, which are read one at a time: a peer may write large ones.
pub(crate) fn read(texts: &[&RawValue]) -> Vec<Object> {
    let limits = Limits::default();
    let texts = texts.iter().map(|text| text.get());
    texts.map(|text| object(text, &limits)).collect()
}

/// The objects whose texts have these lengths, and follow each other.
pub(crate) fn read_following(lengths: &[usize], texts: &[u8]) -> Result<Vec<Object>, Failure> {
    let failure = || Failure::of_part("seen", "found lengths that do not fit the objects");
    let limits = Limits::default();
    let mut rest = core::str::from_utf8(texts).map_err(|_| failure())?;
    let mut objects = Vec::with_capacity(lengths.len());
    for length in lengths {
        let (text, after) = rest.split_at_checked(*length).ok_or_else(failure)?;
        objects.push(object(text, &limits));
        rest = after;
    }
    match rest.is_empty() {
        true => Ok(objects),
        false => Err(failure()),
    }
}

/// The object. One that exceeds the limits is reduced to its metadata before any part of it
/// is decoded.
fn object(text: &str, limits: &Limits) -> Object {
    let value = match text.len() <= limits.object {
        true => serde_json::from_str(text),
        false => {
            let kept = BoundedReader::new(limits).read(text.as_bytes());
            let kept = SecretBytes::from(kept.unwrap_or_default());
            serde_json::from_slice(kept.expose())
        }
    };
    Object::from_value(value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use liqo_auth::policy::Limits;
    use serde_json::{Value, json};

    #[test]
    fn a_caller_is_told_the_limits_of_one_object() {
        let answer = crate::answer(b"\"limits\"");
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let Limits {
            object,
            object_values,
            ..
        } = Limits::default();
        let expected = json!({ "object": object, "objectValues": object_values });
        assert_eq!(answer, json!({ "ok": expected }));
    }
}
