//! Bounds the objects of an API server's answer while it is read.

mod fields;
mod scanner;

use serde_json::Value;

use self::{
    fields::{Fields, Held, Taken},
    scanner::{Scanner, Token},
};
use super::unreadable::ObjectError;
use crate::policy::Limits;

/// Bounds the objects in an API server's answer: an object, a list, or the events of a
/// watch, in JSON.
///
/// The reader takes the answer in pieces, and returns what remains of each. An object that
/// exceeds [`Limits::object`] or [`Limits::object_values`] is reduced to its API version,
/// its kind and its metadata, before any part of it is decoded.
/// [`Object::from_value`](crate::model::Object::from_value) reads it as
/// [`Object::Unreadable`](crate::model::Object::Unreadable), whose metadata suffices to
/// delete it. Managed fields are left out, and count for nothing.
///
/// The reader holds one object at most. It is no parser: what is no JSON remains as it is,
/// within the limit of one object.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     model::{BoundedReader, Object},
///     policy::Limits,
/// };
///
/// let mut reader = BoundedReader::new(&Limits::default());
/// let head = br#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"large"},"data":{"a":""#;
/// let mut kept = reader.read(head)?;
/// for _ in 0..1024 {
///     kept.extend(reader.read(&[b'A'; 1024])?);
/// }
/// kept.extend(reader.read(br#""}}"#)?);
///
/// let object = Object::from_value(serde_json::from_slice(&kept)?);
/// let unreadable = object.as_unreadable().ok_or("it is too large")?;
/// assert_eq!(unreadable.id.name, "large");
/// assert!(unreadable.reason.to_string().contains("262144 bytes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BoundedReader {
    bounds: Bounds,
    scanner: Scanner,
    object: Option<Fields>,
    around: Option<Around>,
}

/// The limits of one object.
#[derive(Clone, Copy)]
struct Bounds {
    bytes: usize,
    values: usize,
}

/// What is around objects: a list, an event, or something that is no object.
#[derive(Default)]
struct Around {
    held: Option<Held>,
    depth: usize,
    /// The bytes outside of objects.
    bytes: usize,
}

impl BoundedReader {
    /// A reader of one answer.
    pub fn new(limits: &Limits) -> Self {
        Self {
            bounds: Bounds {
                bytes: limits.object,
                values: limits.object_values,
            },
            scanner: Scanner::default(),
            object: None,
            around: None,
        }
    }

    /// Takes the next bytes, and returns what is kept of all bytes so far and was not
    /// returned before. An object is returned at its end.
    ///
    /// # Errors
    /// [`ObjectError::TooLarge`] if there is too much outside of the objects.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Vec<u8>, ObjectError> {
        let mut kept = Vec::new();
        let mut rest = bytes;
        while let Some((token, piece, after)) = self.scanner.next(rest) {
            rest = after;
            self.take(token, piece, &mut kept)?;
        }
        Ok(kept)
    }

    fn take(&mut self, token: Token, piece: &[u8], kept: &mut Vec<u8>) -> Result<(), ObjectError> {
        if let Some(object) = &mut self.object {
            match object.take(token, piece) {
                Taken::Inside => return Ok(()),
                Taken::Ended => {
                    kept.append(&mut object.finish());
                    self.object = None;
                    return Ok(());
                }
                Taken::Holds(held) => {
                    kept.append(&mut object.up_to_value());
                    self.object = None;
                    self.around = Some(Around {
                        held: Some(held),
                        depth: 1,
                        bytes: 0,
                    });
                }
            }
        }
        if self.around.is_none() {
            match token {
                Token::OpenMap => {
                    self.object = Some(Fields::new(self.bounds, true));
                    return Ok(());
                }
                // The space between two events.
                Token::Space => {
                    kept.extend_from_slice(piece);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.take_around(token, piece, kept)
    }

    /// Takes a token outside of objects.
    fn take_around(
        &mut self,
        token: Token,
        piece: &[u8],
        kept: &mut Vec<u8>,
    ) -> Result<(), ObjectError> {
        let around = self.around.get_or_insert_default();
        let begins = match around.held {
            Some(Held::InList) => around.depth == 2,
            Some(Held::Alone) => true,
            None => false,
        };
        if begins && token == Token::OpenMap {
            around.held = around.held.filter(|held| *held == Held::InList);
            self.object = Some(Fields::new(self.bounds, false));
            return Ok(());
        }
        around.bytes += piece.len();
        if around.bytes > self.bounds.bytes {
            let limit = self.bounds.bytes;
            return Err(ObjectError::TooLarge { limit });
        }
        match token {
            Token::OpenMap | Token::OpenList => around.depth += 1,
            Token::Close => around.depth = around.depth.saturating_sub(1),
            _ => {}
        }
        if token == Token::Close && around.depth == 0 {
            self.around = None;
        }
        kept.extend_from_slice(piece);
        Ok(())
    }
}

/// Refuses an object that a reader has reduced.
pub(in crate::model) fn check(value: &Value, limits: &Limits) -> Result<(), ObjectError> {
    let found = value.get(OVER_LIMIT);
    let lost = found.and_then(Value::as_u64);
    if let Some(bytes) = lost.and_then(|lost| usize::try_from(lost).ok()) {
        let limit = BUDGET;
        return Err(ObjectError::OverBudget { bytes, limit });
    }
    match found.map(|found| found.as_str()) {
        None => Ok(()),
        Some(Some("values")) => Err(ObjectError::TooManyValues {
            limit: limits.object_values,
        }),
        Some(_) => Err(ObjectError::TooLarge {
            limit: limits.object,
        }),
    }
}

const OVER_LIMIT: &str = "overLimit";
/// The most bytes of the objects of a kind in a tenant namespace: 4 MiB of JSON. Some 64
/// slices take a tenth of it.
pub(crate) const BUDGET: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests;
