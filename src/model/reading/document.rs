//! One document of data: a configuration, the answer of a backend, a kubeconfig.

use serde::de::DeserializeOwned;

use super::{
    manifest::{ManifestError, read_values},
    strict_json::MapOnly,
    unreadable::{ObjectError, deserialize, wipe},
};
use crate::policy::Limits;

/// The longest document that is read, in bytes.
pub(in crate::model) const LONGEST: usize = 256 * 1024;

/// Why a text is no document of the type expected. No value is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is neither JSON nor YAML.
    #[error(transparent)]
    Text(#[from] ManifestError),
    /// The text does not hold one document.
    #[error("found {found} documents, expected one")]
    Documents {
        /// How many were found.
        found: usize,
    },
    /// A field is unknown, missing, repeated or of a wrong type.
    #[error(transparent)]
    Field(#[from] ObjectError),
}

/// Reads one map: JSON always, YAML with the feature `yaml`. The text has at
/// most 256 KiB.
///
/// The error names the path of the field, and shows no value. A key that stands
/// twice is an error, since readers differ on which one counts. Whether unknown
/// fields are refused is the type's to say: the configurations refuse them, and
/// so does [`Answer`](crate::crypto::Answer).
///
/// # Errors
/// [`DocumentError`] if the text is no such map.
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
    let mut documents = read_values(text, LONGEST, &Limits::default())?;
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
