//! The comparisons of a filter.

use std::cmp::Ordering;

use serde_json::Value;

/// Whether `left operator right` holds. Values of different types are an error.
pub(super) fn holds(left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    match operator {
        "==" => equal(left, right),
        "!=" => equal(left, right).map(|is_equal| !is_equal),
        "<" => less(left, right),
        "<=" => at_most(left, right),
        ">" => at_most(left, right).map(|is_at_most| !is_at_most),
        ">=" => less(left, right).map(|is_less| !is_less),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}

fn equal(left: &Value, right: &Value) -> Result<bool, String> {
    match (kind(left)?, kind(right)?) {
        (Kind::Boolean(left), Kind::Boolean(right)) => Ok(left == right),
        (left, right) => Ok(ordering(&left, &right)? == Some(Ordering::Equal)),
    }
}

fn less(left: &Value, right: &Value) -> Result<bool, String> {
    match (kind(left)?, kind(right)?) {
        (Kind::Boolean(_), Kind::Boolean(_)) => Err("invalid type for comparison".to_owned()),
        (left, right) => Ok(ordering(&left, &right)? == Some(Ordering::Less)),
    }
}

fn at_most(left: &Value, right: &Value) -> Result<bool, String> {
    Ok(less(left, right)? || equal(left, right)?)
}

/// The types that can be compared.
enum Kind<'v> {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(&'v str),
}

fn kind(value: &Value) -> Result<Kind<'_>, String> {
    match value {
        Value::Bool(boolean) => Ok(Kind::Boolean(*boolean)),
        Value::String(text) => Ok(Kind::Text(text)),
        Value::Number(number) => {
            let integer = number.as_i64().map(Kind::Integer);
            let float = || number.as_f64().map(Kind::Float);
            integer.or_else(float).ok_or_else(invalid)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => Err(invalid()),
    }
}

/// None if one is NaN.
fn ordering(left: &Kind<'_>, right: &Kind<'_>) -> Result<Option<Ordering>, String> {
    match (left, right) {
        (Kind::Integer(left), Kind::Integer(right)) => Ok(Some(left.cmp(right))),
        (Kind::Float(left), Kind::Float(right)) => Ok(left.partial_cmp(right)),
        (Kind::Text(left), Kind::Text(right)) => Ok(Some(left.cmp(right))),
        _ => Err("incompatible types for comparison".to_owned()),
    }
}

fn invalid() -> String {
    "invalid type for comparison".to_owned()
}
