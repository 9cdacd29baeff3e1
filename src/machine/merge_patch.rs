//! JSON merge patches (RFC 7396): applying one as an API server does, and
//! computing the smallest one between two values.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Part;
use crate::model::{Kind, Object, SECRET_FIELDS};

/// Applies the patch to `target` (RFC 7396 section 2).
pub(crate) fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(target) = target {
        for (key, change) in patch {
            if change.is_null() {
                target.remove(key);
            } else {
                apply(target.entry(key.clone()).or_insert(Value::Null), change);
            }
        }
    }
}

/// The patch that turns `from` into `to`; `None` if they are equal.
pub(crate) fn between(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let removed = old
        .keys()
        .filter(|key| !new.contains_key(*key))
        .map(|key| (key.clone(), Value::Null));
    let changed = new.iter().filter_map(|(key, value)| {
        let change = between(old.get(key).unwrap_or(&Value::Null), value)?;
        Some((key.clone(), change))
    });
    let patch: Map<String, Value> = removed.chain(changed).collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// A patch of one part of `from` towards `to`, or `None` if the objects are equal.
/// The patch changes the status if nothing else differs, or if the status differs
/// and `status_first` is set. Otherwise, the patch changes the main part.
pub(crate) fn of_one_part(from: &Object, to: &Object, status_first: bool) -> Option<(Part, Value)> {
    let Value::Object(mut patch) = of_object(from, to)? else {
        return None;
    };
    let status = patch.remove("status");
    match (status, patch.is_empty()) {
        (Some(status), is_alone) if status_first || is_alone => {
            let part = match to.id().kind {
                Kind::CertificateSigningRequest => Part::Approval,
                _ => Part::Status,
            };
            Some((part, Value::from_iter([("status", status)])))
        }
        _ => Some((Part::Main, Value::Object(patch))),
    }
}

/// The patch that turns `from` into `to`; `None` if they are equal. Parts that are
/// equal are not written as JSON: the spec of a Tenant or an Identity is long, and
/// rarely changes.
fn of_object(from: &Object, to: &Object) -> Option<Value> {
    let parts = match (from, to) {
        (Object::Tenant(old), Object::Tenant(new)) => [
            part("metadata", &old.metadata, &new.metadata),
            part("spec", &old.spec, &new.spec),
            part("status", &old.status, &new.status),
        ],
        (Object::Identity(old), Object::Identity(new)) => [
            part("metadata", &old.metadata, &new.metadata),
            part("spec", &old.spec, &new.spec),
            part("status", &old.status, &new.status),
        ],
        _ => return between(&from.to_value(), &to.to_value()),
    };
    let patch: Map<String, Value> = parts.into_iter().flatten().collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// The patch of a part, if it differs.
fn part<T: PartialEq + Serialize>(name: &str, old: &T, new: &T) -> Option<(String, Value)> {
    if old == new {
        return None;
    }
    // The serialization of a map with text keys cannot fail.
    let value = |part| serde_json::to_value(part).unwrap_or_default();
    Some((name.to_owned(), between(&value(old), &value(new))?))
}

/// The patch without secrets: the data of a Secret, and secret fields of
/// credentials anywhere in the patch, are hidden.
#[allow(dead_code, reason = "rustc overlooks uses in a derived Debug")]
pub(crate) fn without_secrets(patch: &Value, kind: Kind) -> Value {
    let mut shown = patch.clone();
    hide(&mut shown, kind == Kind::Secret);
    shown
}

fn hide(value: &mut Value, in_secret: bool) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let is_data = in_secret && matches!(key.as_str(), "data" | "stringData");
                if is_data || SECRET_FIELDS.contains(&key.as_str()) {
                    *value = Value::from("..");
                } else {
                    hide(value, in_secret);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide(value, in_secret)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
