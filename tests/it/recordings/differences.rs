//! The fields in which the objects of two clusters differ.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// The differences between the objects of two clusters, one per line.
pub(crate) fn differences(
    liqo: &BTreeMap<String, Value>,
    ours: &BTreeMap<String, Value>,
) -> Vec<String> {
    let mut objects: Vec<&String> = liqo.keys().chain(ours.keys()).collect();
    objects.sort();
    objects.dedup();
    let mut found = Vec::new();
    for object in objects {
        compare(object, "", liqo.get(object), ours.get(object), &mut found);
    }
    found
}

fn compare(
    object: &str,
    path: &str,
    liqo: Option<&Value>,
    ours: Option<&Value>,
    found: &mut Vec<String>,
) {
    let nothing = Value::Object(serde_json::Map::new());
    // An absent map counts as an empty one. An absent object does not.
    let (liqo, ours) = match (liqo, ours) {
        (Some(Value::Object(_)), None) if !path.is_empty() => (liqo, Some(&nothing)),
        (None, Some(Value::Object(_))) if !path.is_empty() => (Some(&nothing), ours),
        both => both,
    };
    match (liqo, ours) {
        (Some(Value::Object(liqo)), Some(Value::Object(ours))) => {
            let mut fields: Vec<&String> = liqo.keys().chain(ours.keys()).collect();
            fields.sort();
            fields.dedup();
            for field in fields {
                let separator = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{separator}{field}");
                compare(object, &path, liqo.get(field), ours.get(field), found);
            }
        }
        (liqo, ours) if liqo == ours => {}
        (liqo, ours) => {
            let (liqo, ours) = (meaning(path, liqo), meaning(path, ours));
            found.push(format!("{object} | {path} | {liqo} | {ours}"));
        }
    }
}

/// A readable form of a value. Encoded content is decoded.
fn meaning(path: &str, value: Option<&Value>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(_) if path.is_empty() => "present".to_owned(),
        Some(Value::Array(conditions)) if path == "status.conditions" => {
            let said = conditions.iter().map(|condition| {
                let field = |name: &str| condition[name].as_str().unwrap_or_default();
                format!(
                    "{} {} {}",
                    field("type"),
                    field("status"),
                    field("lastTransitionTime")
                )
            });
            said.collect::<Vec<_>>().join(", ")
        }
        Some(Value::String(text)) => match STANDARD.decode(text) {
            Ok(bytes) if bytes.starts_with(b"-----BEGIN ") => {
                let padding = bytes.iter().rev().take_while(|byte| **byte == 0).count();
                let label = String::from_utf8_lossy(&bytes[11..]);
                let label = label.split("-----").next().unwrap_or_default();
                match padding {
                    0 => format!("PEM {label}"),
                    _ => format!("PEM {label}, {padding} NUL bytes"),
                }
            }
            Ok(bytes) if bytes.len() == 32 => "32 raw bytes".to_owned(),
            _ if path.contains("commitment") => "key and signature".to_owned(),
            _ => text.clone(),
        },
        Some(other) => other.to_string(),
    }
}
