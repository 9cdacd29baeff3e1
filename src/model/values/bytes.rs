//! Bytes with base64 text as their JSON form.

use core::fmt;

use base64::{DecodeError, Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::wiped::Wiped;

/// Bytes that are base64 text in JSON and YAML, as Go writes a `[]byte`:
/// the standard alphabet, padded.
///
/// `null` is read as empty. Line breaks in the text are skipped, as in an API
/// server. `Debug` shows only the number of bytes. Source: RFC 4648 section 4.
///
/// # Examples
/// ```
/// use liqo_auth::model::Bytes;
///
/// let bytes: Bytes = serde_json::from_str("\"bGlxbw==\"")?;
/// assert_eq!(bytes.as_slice(), b"liqo");
/// assert_eq!(serde_json::to_string(&bytes)?, "\"bGlxbw==\"");
/// assert_eq!(format!("{bytes:?}"), "Bytes(4)");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(
    Clone,
    Default,
    PartialEq,
    Eq,
    Hash,
    derive_more::AsRef,
    derive_more::Debug,
    derive_more::Deref,
    derive_more::From,
)]
#[as_ref([u8])]
#[debug("Bytes({})", _0.len())]
#[deref(forward)]
#[from(Vec<u8>, &[u8])]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bytes = deserializer.deserialize_any(Base64)?;
        Ok(Self(core::mem::take(&mut *bytes)))
    }
}

/// Reads base64 text into bytes that are wiped on drop.
pub(crate) struct Base64;

impl de::Visitor<'_> for Base64 {
    type Value = Wiped<Vec<u8>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("base64 text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        decode(text).map_err(E::custom)
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
        self.visit_str(&Wiped::new(text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Self::Value::default())
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Self::Value::default())
    }
}

/// Decodes base64 text. An error names a position, but not the byte there, since
/// the text may be a secret.
fn decode(text: &str) -> Result<Wiped<Vec<u8>>, String> {
    // The decoder accepts no line breaks, and few texts have any. So the text is
    // decoded as it is first.
    match decode_line(text.as_bytes()) {
        Err(_) if text.contains(['\r', '\n']) => {
            // The capacity suffices: a growing buffer would leave copies in memory.
            let mut kept = Wiped::new(Vec::with_capacity(text.len()));
            kept.extend(text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')));
            decode_line(&kept)
        }
        result => result,
    }
}

fn decode_line(text: &[u8]) -> Result<Wiped<Vec<u8>>, String> {
    let mut bytes = Wiped::new(vec![0; base64::decoded_len_estimate(text.len())]);
    match STANDARD.decode_slice(text, &mut bytes) {
        Ok(length) => {
            bytes.truncate(length);
            Ok(bytes)
        }
        Err(base64::DecodeSliceError::DecodeError(error)) => Err(match error {
            DecodeError::InvalidByte(at, _) => {
                format!("found a byte that is not base64 at {at}, expected base64 text")
            }
            DecodeError::InvalidLength(length) => {
                format!("found {length} characters, expected padded base64 text")
            }
            DecodeError::InvalidLastSymbol(at, _) => {
                format!("found unused bits at {at}, expected base64 text")
            }
            DecodeError::InvalidPadding => {
                "found wrong padding, expected padded base64 text".into()
            }
        }),
        Err(base64::DecodeSliceError::OutputSliceTooSmall) => {
            Err("found too many bytes, expected base64 text".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Bytes, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn null_and_the_empty_text_are_no_bytes() {
        assert_eq!(read("null").unwrap(), Bytes::default());
        assert_eq!(read("\"\"").unwrap(), Bytes::default());
    }

    #[test]
    fn line_breaks_are_skipped() {
        assert_eq!(read("\"bGlx\\r\\nbw==\\n\"").unwrap().as_slice(), b"liqo");
    }

    #[test]
    fn other_alphabets_and_missing_padding_are_refused() {
        for (json, reason) in [
            ("\"bGl-\"", "found a byte that is not base64 at 3"),
            ("\"bGl x\"", "found a byte that is not base64 at 3"),
            ("\"bGlxbw\"", "found wrong padding"),
            ("\"bGlxbx==\"", "found unused bits at 5"),
            ("\"bGlxb\"", "found"),
            ("5", "invalid type: integer `5`, expected base64 text"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.starts_with(reason), "{json}: {error}");
        }
    }
}
