//! Bytes and text that are wiped on drop.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use super::{bytes::Base64, wiped::Wiped};

/// Bytes of a Secret: base64 text in JSON and YAML like
/// [`Bytes`](crate::model::Bytes), but wiped when dropped, and never shown.
///
/// The time of a comparison depends on the content, so do not compare tokens and
/// MACs with this type.
///
/// # Examples
/// ```
/// use liqo_auth::model::SecretBytes;
///
/// let secret = SecretBytes::from(&b"liqo"[..]);
/// assert_eq!(secret.expose(), b"liqo");
/// assert_eq!(format!("{secret:?}"), "SecretBytes(..)");
/// ```
#[derive(Clone, Default, PartialEq, Eq, derive_more::Debug, derive_more::From)]
#[from(Vec<u8>, Zeroizing<Vec<u8>>)]
#[debug("SecretBytes(..)")]
pub struct SecretBytes(Wiped<Vec<u8>>);

/// A text that is wiped when dropped, and never shown.
///
/// # Examples
/// ```
/// use liqo_auth::model::SecretText;
///
/// let secret = SecretText::from("wJalrXUtnFEMI");
/// assert_eq!(secret.expose(), "wJalrXUtnFEMI");
/// assert_eq!(format!("{secret:?}"), "SecretText(..)");
/// ```
#[derive(Clone, Default, PartialEq, Eq, derive_more::Debug, derive_more::From)]
#[from(String)]
#[debug("SecretText(..)")]
pub struct SecretText(Wiped<String>);

impl SecretBytes {
    /// The bytes. A copy of them is not wiped automatically.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl SecretText {
    /// The text. A copy of it is not wiped automatically.
    pub fn expose(&self) -> &str {
        &self.0
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_bytes(self) -> SecretBytes {
        SecretBytes(Wiped::new(self.0.as_bytes().to_vec()))
    }
}

impl From<&[u8]> for SecretBytes {
    fn from(bytes: &[u8]) -> Self {
        Self::from(bytes.to_vec())
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl Serialize for SecretBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Wiped::new(STANDARD.encode(self.expose())))
    }
}

impl<'de> Deserialize<'de> for SecretBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Base64).map(Self)
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The text is moved, and not copied.
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.unwrap_or_default().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_travel_like_ordinary_values() {
        let bytes: SecretBytes = serde_json::from_str("\"bGlxbw==\"").unwrap();
        assert_eq!(bytes.expose(), b"liqo");
        assert_eq!(serde_json::to_string(&bytes).unwrap(), "\"bGlxbw==\"");
        let text: SecretText = serde_json::from_str("\"liqo\"").unwrap();
        assert_eq!(text.expose(), "liqo");
        assert_eq!(serde_json::to_string(&text).unwrap(), "\"liqo\"");
        assert!(
            serde_json::from_str::<SecretText>("null")
                .unwrap()
                .expose()
                .is_empty()
        );
        assert!(
            serde_json::from_str::<SecretBytes>("null")
                .unwrap()
                .expose()
                .is_empty()
        );
    }

    #[test]
    fn an_error_does_not_show_the_text() {
        let error = serde_json::from_str::<SecretBytes>("\"hunter2!\"").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(!error.to_string().contains('!'), "{error}");
    }
}
