//! One JSON value of a message, read strictly into a type of one's own.

use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{
    strict_value::{Refusal, Room, StrictValue},
    unreadable::{deserialize, wipe},
};
use crate::{model::ObjectError, policy::Limits};

/// Why a text is no message of the form expected. No value is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrictJsonError {
    /// The text is longer than is read.
    #[error("found {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length read.
        limit: usize,
    },
    /// The text is not UTF-8.
    #[error("found a byte that is not UTF-8 at {at}, expected text")]
    NotText {
        /// Where the byte stands, counted from 0.
        at: usize,
    },
    /// The text is not one JSON value and nothing else.
    #[error("line {line}, column {column}: found no JSON")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
    /// A field stands twice, lies too deep or is of a wrong type.
    #[error(transparent)]
    Field(#[from] ObjectError),
}

/// A message or a part of one, which is a map: serde alone takes a list of the
/// fields' values for it, too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct MapOnly<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for MapOnly<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfMap(PhantomData)).map(Self)
    }
}

struct OfMap<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMap<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(access))
    }
}

/// Reads one JSON map of at most `limit` bytes. A key that stands twice is
/// refused, since readers differ on which one counts; so is what lies too deep.
/// Fields that are not known are ignored. The strings are wiped.
pub(crate) fn read_strict_json<T: DeserializeOwned>(
    text: &[u8],
    limit: usize,
) -> Result<T, StrictJsonError> {
    if text.len() > limit {
        let found = text.len();
        return Err(StrictJsonError::TooLong { found, limit });
    }
    let text = core::str::from_utf8(text).map_err(|error| StrictJsonError::NotText {
        at: error.valid_up_to(),
    })?;
    let strict = StrictValue::new(Room {
        used: 0,
        object: Limits::default().object_values,
        is_skippable: true,
    });
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = strict.read(&mut deserializer);
    if strict
        .refusal()
        .is_some_and(|refusal| matches!(refusal, Refusal::Values(_)))
    {
        let (found, limit) = (text.len(), limit);
        return Err(StrictJsonError::TooLong { found, limit });
    }
    let syntax = |error: &serde_json::Error| StrictJsonError::Syntax {
        line: error.line(),
        column: error.column(),
    };
    let defect = strict.defects().first().map(|defect| defect.reason());
    let mut value = match (value, defect) {
        (_, Some(defect)) => return Err(defect.into()),
        (Err(error), None) => return Err(syntax(&error)),
        (Ok(value), None) => value,
    };
    let read = match deserializer.end() {
        Err(error) => Err(syntax(&error)),
        Ok(()) => deserialize(&value)
            .map(|MapOnly(message)| message)
            .map_err(StrictJsonError::from),
    };
    wipe(&mut value);
    read
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Message {
        token: String,
    }

    fn read(text: &str) -> Result<Message, StrictJsonError> {
        read_strict_json(text.as_bytes(), 64)
    }

    #[test]
    fn one_value_is_read_and_nothing_else() {
        let token = "a".to_owned();
        assert_eq!(read(r#"{"token":"a","more":[1]}"#), Ok(Message { token }));
        for (text, error) in [
            ("hello", StrictJsonError::Syntax { line: 1, column: 1 }),
            ("", StrictJsonError::Syntax { line: 1, column: 0 }),
            (
                r#"{"token":"a"}{}"#,
                StrictJsonError::Syntax {
                    line: 1,
                    column: 14,
                },
            ),
            (
                r#"{"token":"a","token":"b"}"#,
                ObjectError::Repeated {
                    path: "token".into(),
                }
                .into(),
            ),
            (
                r#"["a"]"#,
                ObjectError::Field {
                    path: String::new(),
                    reason: "found a list, expected a map".into(),
                }
                .into(),
            ),
            (
                r#"{"token":5}"#,
                ObjectError::Field {
                    path: "token".into(),
                    reason: "found a number, expected a string".into(),
                }
                .into(),
            ),
            (
                &format!("{{\"token\":\"{}\"}}", "a".repeat(64)),
                StrictJsonError::TooLong {
                    found: 76,
                    limit: 64,
                },
            ),
        ] {
            assert_eq!(read(text), Err(error), "{text}");
        }
        assert_eq!(
            read_strict_json::<Message>(b"\"\xff", 9),
            Err(StrictJsonError::NotText { at: 1 })
        );
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
        let text = format!(r#"{{"token":"a","x":{deep}}}"#);
        assert!(matches!(
            read_strict_json::<Message>(text.as_bytes(), 1024),
            Err(StrictJsonError::Field(ObjectError::TooDeep { .. }))
        ));
        let bottomless = "[".repeat(100_000);
        assert!(read_strict_json::<Message>(bottomless.as_bytes(), 1 << 20).is_err());
    }
}
