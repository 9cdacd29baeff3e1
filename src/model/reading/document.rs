//! Reading one document: a configuration, the answer of a backend, a kubeconfig.

use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

use super::{
    manifest::{ManifestError, read_json_values, read_values},
    strict_value::Defect,
    unreadable::{ObjectError, deserialize, wipe},
};
use crate::policy::Limits;

/// The longest document that is read, in bytes.
pub(crate) const LONGEST: usize = 256 * 1024;

/// Why a text is not a document of the expected type. The error does not contain
/// a value of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is neither JSON nor YAML.
    #[error(transparent)]
    Text(#[from] ManifestError),
    /// The text does not hold exactly one document.
    #[error("found {found} documents, expected one")]
    Documents {
        /// The number found.
        found: usize,
    },
    /// A field is unknown, missing, repeated or of a wrong type.
    #[error(transparent)]
    Field(#[from] ObjectError),
}

/// Reads one map: JSON always, YAML with the feature `yaml`. The text has at
/// most 256 KiB.
///
/// The error names the path of the field, but does not show a value. A repeated key is an
/// error, since readers differ on which one counts. The type decides whether
/// unknown fields are refused: the configurations and
/// [`Answer`](crate::crypto::Answer) refuse them.
///
/// # Errors
/// [`DocumentError`] if the text is not such a map.
///
/// # Examples
/// ```
/// use liqo_auth::{consumer::ConsumerConfig, model::read_document};
///
/// let text = br#"{ "clusterID": "cl-consumer", "peers": { "cl-provider": { "acceptAWS": true } } }"#;
/// let error = read_document::<ConsumerConfig>(text).unwrap_err();
/// assert!(error.to_string().starts_with("peers.cl-provider.acceptAWS: found a field that is not known"));
/// ```
pub fn read_document<T: DeserializeOwned>(text: &[u8]) -> Result<T, DocumentError> {
    read_document_within(text, LONGEST)
}

/// Reads one document of at most `limit` bytes, as [`read_document`] does.
pub(crate) fn read_document_within<T: DeserializeOwned>(
    text: &[u8],
    limit: usize,
) -> Result<T, DocumentError> {
    only(read_values(text, limit.min(LONGEST), &Limits::default())?)
}

/// Reads one JSON map of at most `limit` bytes, such as a message from the network.
/// YAML is refused. In all other respects, the function is like [`read_document`].
pub(crate) fn read_json<T: DeserializeOwned>(
    text: &[u8],
    limit: usize,
) -> Result<T, DocumentError> {
    only(read_json_values(text, limit, &Limits::default())?)
}

/// The only document, which must be a map.
fn only<T: DeserializeOwned>(mut documents: Vec<(Value, Vec<Defect>)>) -> Result<T, DocumentError> {
    let found = documents.len();
    let (Some((mut value, defects)), 1) = (documents.pop(), found) else {
        documents.iter_mut().for_each(|(value, _)| wipe(value));
        return Err(DocumentError::Documents { found });
    };
    let document = match defects.first() {
        Some(defect) => Err(defect.reason()),
        None => deserialize(&value).map(|MapOnly(document)| document),
    };
    wipe(&mut value);
    Ok(document?)
}

/// A value that has to be a map. Without this type, serde also accepts a list of
/// the fields' values.
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

#[cfg(test)]
mod tests;
