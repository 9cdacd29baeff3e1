//! Secrets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    Metadata, SecretBytes, SecretText,
    reading::absent::{is_default, or_null},
};

/// A Secret. Its values are wiped when dropped. Source: Kubernetes
/// `corev1.Secret`.
///
/// A value in `stringData` replaces the value of the same key in `data`, as in an
/// API server. `stringData` is never written.
///
/// # Examples
/// ```
/// use liqo_auth::model::Secret;
///
/// let secret: Secret = serde_json::from_str(
///     r#"{"metadata": {"name": "liqo-nonce"}, "stringData": {"nonce": "text"}}"#,
/// )?;
/// assert_eq!(secret.get("nonce"), Some(&b"text"[..]));
/// assert_eq!(serde_json::to_value(&secret)?["data"]["nonce"], "dGV4dA==");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "AsRead")]
pub struct Secret {
    /// Name, namespace and labels.
    pub metadata: Metadata,
    /// The values by their keys.
    #[serde(skip_serializing_if = "is_default")]
    pub data: BTreeMap<String, SecretBytes>,
    /// The type. The API server's default is `Opaque`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub secret_type: Option<String>,
    /// Whether the API server refuses every change of the values. The Secret can
    /// still be deleted.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub immutable: bool,
}

impl Secret {
    /// A Secret with these labels and values.
    pub(crate) fn labelled<const L: usize, const D: usize>(
        name: impl Into<String>,
        namespace: impl Into<String>,
        labels: [(&str, &str); L],
        data: [(&str, SecretBytes); D],
    ) -> Self {
        Self {
            metadata: Metadata::labelled(name, namespace, labels),
            data: data.map(|(key, value)| (key.to_owned(), value)).into(),
            ..Self::default()
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.data.get(key).map(SecretBytes::expose)
    }
}

/// The form in which a Secret is read. A person may write `stringData`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AsRead {
    #[serde(deserialize_with = "or_null")]
    metadata: Metadata,
    #[serde(deserialize_with = "or_null")]
    data: BTreeMap<String, SecretBytes>,
    #[serde(deserialize_with = "or_null")]
    string_data: BTreeMap<String, SecretText>,
    #[serde(rename = "type")]
    secret_type: Option<String>,
    #[serde(deserialize_with = "or_null")]
    immutable: bool,
}

impl From<AsRead> for Secret {
    fn from(read: AsRead) -> Self {
        let mut data = read.data;
        for (key, text) in read.string_data {
            data.insert(key, text.into_bytes());
        }
        Self {
            metadata: read.metadata,
            data,
            secret_type: read.secret_type,
            immutable: read.immutable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_data_wins_over_data() {
        let secret: Secret = serde_json::from_str(
            r#"{"data": {"a": "YQ==", "b": "Yg==", "c": null}, "stringData": {"b": "text"}}"#,
        )
        .unwrap();
        assert_eq!(secret.get("a"), Some(&b"a"[..]));
        assert_eq!(secret.get("b"), Some(&b"text"[..]));
        assert_eq!(secret.get("c"), Some(&b""[..]));
        assert_eq!(secret.get("d"), None);
    }

    #[test]
    fn debug_shows_the_keys_only() {
        let secret: Secret =
            serde_json::from_str(r#"{"stringData": {"privateKey": "hunter2"}}"#).unwrap();
        let shown = format!("{secret:?}");
        assert!(
            shown.contains("privateKey") && !shown.contains("hunter2"),
            "{shown}"
        );
    }
}
