//! The results as Go prints them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Number, Serializer, Value, ser::PrettyFormatter};

/// Results with spaces between them: texts as they are, lists and maps as JSON.
pub(super) fn as_words(values: &[Cow<'_, Value>]) -> String {
    let words: Vec<String> = values.iter().map(|value| word(value)).collect();
    words.join(" ")
}

/// Results as a JSON array in lines, with four spaces for each level.
pub(super) fn as_json(values: &[Cow<'_, Value>]) -> Result<String, String> {
    let mut lines = Vec::new();
    let format = PrettyFormatter::with_indent(b"    ");
    let mut serializer = Serializer::with_formatter(&mut lines, format);
    values
        .serialize(&mut serializer)
        .map_err(|error| error.to_string())?;
    let lines = String::from_utf8(lines).map_err(|error| error.to_string())?;
    Ok(format!("{}\n", escaped(&lines)))
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => of_number(number),
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => escaped(&value.to_string()),
    }
}

/// Go writes large and small floats with an exponent of at least two digits.
fn of_number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..21).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => float.to_string(),
    }
}

/// Go escapes these characters in JSON, which stand in strings only.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for next in json.chars() {
        match next {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(next)));
            }
            next => text.push(next),
        }
    }
    text
}
