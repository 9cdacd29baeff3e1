//! Objects that could not be read, and why.

use std::io;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use serde_path_to_error::Segment;
use zeroize::Zeroize;

use super::excerpt::Excerpt;
use crate::model::{Kind, Metadata, Object, ObjectRef, names, values::wiped};

/// An object that exists but could not be read. It never counts as absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The reference to the object. An unknown name or namespace is empty; an
    /// unknown kind is [`Kind::Other`].
    pub id: ObjectRef,
    /// The API version found; empty if there was none.
    pub api_version: String,
    /// The kind found; empty if there was none.
    pub kind: String,
    /// The metadata fields that could be read. They suffice to delete the object.
    pub metadata: Box<Metadata>,
    /// Why the object could not be read.
    pub reason: ObjectError,
}

/// Why an object could not be read. The error does not contain a value of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The value is not a map with an API version and a kind.
    #[error("found no map with apiVersion and kind, expected a Kubernetes object")]
    NotAnObject,
    /// The kind is known, but not in this version.
    #[error("found {kind} of apiVersion \"{}\", expected {}", Excerpt(.found), .kind.api_version())]
    ApiVersion {
        /// The kind.
        kind: Kind,
        /// The API version found.
        found: String,
    },
    /// The exchange does not use this kind.
    #[error(
        "found kind \"{}\" of apiVersion \"{}\", expected a kind of the exchange",
        Excerpt(.found),
        Excerpt(.api_version)
    )]
    UnknownKind {
        /// The API version found.
        api_version: String,
        /// The kind found.
        found: String,
    },
    /// The object is larger than the limits allow.
    #[error("found an object of more than {limit} bytes, expected at most {limit}")]
    TooLarge {
        /// The most bytes allowed, as JSON without white space.
        limit: usize,
    },
    /// The object holds more values than the limits allow.
    #[error("found an object of more than {limit} values, expected at most {limit}")]
    TooManyValues {
        /// The most values allowed.
        limit: usize,
    },
    /// The older objects of the same kind in the tenant namespace have used up its budget.
    #[error(
        "found more than {limit} bytes of objects of this kind in the namespace, expected at most {limit}"
    )]
    OverBudget {
        /// The bytes of this object.
        bytes: usize,
        /// The most bytes of all objects.
        limit: usize,
    },
    /// Maps and lists are nested too deeply.
    #[error("{path}: found more than {limit} levels, expected at most {limit}")]
    TooDeep {
        /// The path, such as `spec.csr`.
        path: String,
        /// The most levels allowed.
        limit: usize,
    },
    /// A map has a key twice, so that readers could differ.
    #[error("{path}: found twice, expected once")]
    Repeated {
        /// The path, such as `spec.csr`.
        path: String,
    },
    /// A field has an invalid value.
    #[error("{path}: {reason}")]
    Field {
        /// The path, such as `spec.csr`.
        path: String,
        /// The found and the expected value.
        reason: String,
    },
}

impl Unreadable {
    /// An unreadable object, with the parts of the value that are known.
    pub(crate) fn of(value: &Value, reason: ObjectError) -> Self {
        let (api_version, kind) = (text(value.get("apiVersion")), text(value.get("kind")));
        let metadata = value.get("metadata");
        let field = |name| text(metadata.and_then(|metadata| metadata.get(name)));
        Self {
            id: ObjectRef::new(
                Kind::find(&api_version, &kind).unwrap_or(Kind::Other),
                field("namespace"),
                field("name"),
            ),
            api_version,
            kind,
            metadata: Box::new(metadata.map(metadata_of).unwrap_or_default()),
            reason,
        }
    }

    /// Whether this may be the object of that kind, namespace and name. An unknown
    /// part matches anything.
    pub(crate) fn may_be(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        let may = |found: &str, wanted: &str| found.is_empty() || found == wanted;
        self.may_be_of(kind)
            && (!kind.is_namespaced() || may(&self.id.namespace, namespace))
            && may(&self.id.name, name)
    }

    /// Whether the object may be of that kind. An item of a typed list has no kind,
    /// so it may be of any kind.
    pub(crate) fn may_be_of(&self, kind: Kind) -> bool {
        let is_told = matches!(self.reason, ObjectError::UnknownKind { .. });
        self.id.kind == kind || (self.id.kind == Kind::Other && !is_told)
    }

    /// Whether the only fault of the object is its size.
    pub(crate) fn is_over_limits(&self) -> bool {
        matches!(
            self.reason,
            ObjectError::TooLarge { .. }
                | ObjectError::TooManyValues { .. }
                | ObjectError::OverBudget { .. }
        )
    }

    /// What is kept of an object whose content has no place in the budget of its namespace:
    /// what suffices to find and to delete it.
    pub(crate) fn over_budget(object: &Object, bytes: usize, limit: usize) -> Self {
        let (id, all) = (object.id(), object.metadata());
        let (api_version, kind) = match object {
            Object::Unreadable(found) => (found.api_version.clone(), found.kind.clone()),
            _ => (id.kind.api_version().to_owned(), id.kind.to_string()),
        };
        let mut metadata = Metadata {
            name: all.name.clone(),
            namespace: all.namespace.clone(),
            uid: all.uid.clone(),
            resource_version: all.resource_version.clone(),
            creation_timestamp: all.creation_timestamp,
            deletion_timestamp: all.deletion_timestamp,
            ..Metadata::default()
        };
        let is_short = |bytes| bytes <= SHORT_METADATA_FIELD;
        if is_short(json_bytes(&all.labels)) {
            metadata.labels = all.labels.clone();
        } else {
            let labels = names::LABELS_OF_OBJECTS.iter();
            let kept = labels.filter_map(|key| Some((*key, cut(all.label(key)?))));
            metadata.labels = kept.collect();
        }
        if is_short(json_bytes(&all.finalizers)) {
            metadata.finalizers = all.finalizers.clone();
        }
        if is_short(json_bytes(&all.owner_references)) {
            metadata.owner_references = all.owner_references.clone();
        }
        Self {
            id,
            api_version,
            kind,
            metadata: Box::new(metadata),
            reason: ObjectError::OverBudget { bytes, limit },
        }
    }

    /// The bytes of an object whose content had no place in the budget.
    pub(crate) const fn lost_bytes(&self) -> Option<usize> {
        match self.reason {
            ObjectError::OverBudget { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// The JSON of the object: its API version, kind, namespace and name.
    pub(crate) fn stub(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": { "namespace": self.id.namespace, "name": self.id.name },
        })
    }
}

impl ObjectError {
    /// An error without the values in serde's messages, since these may be secrets.
    /// The error describes the found value by its type, and keeps serde's text of
    /// the expected value.
    fn field(value: &Value, error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let message = error.inner().to_string();
        let found = error
            .path()
            .iter()
            .try_fold(value, |value, segment| match segment {
                Segment::Seq { index } => value.get(index),
                Segment::Map { key } => value.get(key),
                Segment::Enum { .. } | Segment::Unknown => None,
            });
        let reason = match (message.rsplit_once(", expected "), found) {
            (Some((_, expected)), _) if message.starts_with("unknown field") => {
                format!("found a field that is not known, expected {expected}")
            }
            (None, _) if message.starts_with("missing field") => message,
            (Some((own, expected)), _) if own.starts_with("found ") => {
                format!("{own}, expected {expected}")
            }
            (Some((shown, expected)), Some(found)) => match found {
                Value::String(found) if shown.starts_with("unknown variant") => {
                    format!("found \"{}\", expected {expected}", Excerpt(found))
                }
                found => format!("found {}, expected {}", describe(found), in_words(expected)),
            },
            _ => "found a value that cannot be read, expected another value".to_owned(),
        };
        Self::Field {
            path: path(error.path().iter()),
            reason,
        }
    }
}

/// Reads a type from a value. An error does not contain a value.
pub(crate) fn deserialize<T: DeserializeOwned>(value: &Value) -> Result<T, ObjectError> {
    // A second read finds the place of an error. A readable object is read only
    // once.
    T::deserialize(value).or_else(|_| {
        serde_path_to_error::deserialize(value).map_err(|error| ObjectError::field(value, &error))
    })
}

/// A path for people, such as `metadata.ownerReferences[0].name`.
pub(crate) fn path<'s>(steps: impl IntoIterator<Item = &'s Segment>) -> String {
    let mut path = String::new();
    for step in steps {
        if path.len() > LONGEST_PATH {
            path.push('…');
            break;
        }
        match step {
            Segment::Seq { index } => path.push_str(&format!("[{index}]")),
            Segment::Map { key } if key.contains(['.', '[', '/']) => {
                path.push_str(&format!("[\"{}\"]", Excerpt(key)));
            }
            Segment::Map { key } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&Excerpt(key).to_string());
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    path
}

/// The metadata, read field by field. A field is left out if it cannot be read, or
/// if it is larger than an API server stores.
fn metadata_of(value: &Value) -> Metadata {
    let mut fields = serde_json::Map::new();
    for name in NAMING_FIELDS.into_iter().chain(["annotations"]) {
        if let Some(field) = value.get(name)
            && check_values(field, MOST_METADATA_VALUES).is_ok()
            && check_size(field, LONGEST_METADATA_FIELD).is_ok()
            && serde_json::from_value::<Metadata>(json!({ name: field })).is_ok()
        {
            fields.insert(name.to_owned(), field.clone());
        }
    }
    serde_json::from_value(Value::Object(fields)).unwrap_or_default()
}

/// The kind of a value, if this library reads that kind and version.
pub(crate) fn kind_of(value: &Value) -> Result<Kind, ObjectError> {
    let (Some(api_version), Some(name)) = (
        value.get("apiVersion").and_then(Value::as_str),
        value.get("kind").and_then(Value::as_str),
    ) else {
        return Err(ObjectError::NotAnObject);
    };
    let kind = Kind::find(api_version, name).ok_or_else(|| ObjectError::UnknownKind {
        api_version: cut(api_version),
        found: cut(name),
    })?;
    if !kind.reads(api_version) {
        return Err(ObjectError::ApiVersion {
            kind,
            found: cut(api_version),
        });
    }
    Ok(kind)
}

/// Refuses a value that is longer than the limit in JSON, before it is decoded.
pub(crate) fn check_size(value: &Value, limit: usize) -> Result<(), ObjectError> {
    if longest(value) <= limit {
        return Ok(());
    }
    // The serialization of a value fails only at the limit.
    serde_json::to_writer(Room(limit), value).map_err(|_| ObjectError::TooLarge { limit })
}

/// An upper limit of a value's length in JSON: every byte counts as an escaped one.
fn longest(value: &Value) -> usize {
    let text = |text: &str| 6 * text.len() + 4;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
        Value::String(string) => text(string),
        Value::Array(items) => items.iter().map(longest).sum::<usize>() + items.len() + 2,
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, field)| text(key) + longest(field));
            fields.sum::<usize>() + 2
        }
    }
}

/// Refuses a value that holds more values than the limit, before it is decoded.
pub(crate) fn check_values(value: &Value, limit: usize) -> Result<(), ObjectError> {
    let mut left = limit;
    if spend(value, &mut left) {
        Ok(())
    } else {
        Err(ObjectError::TooManyValues { limit })
    }
}

/// Subtracts the number of values, nested ones included, from `left`. Returns
/// whether `left` was sufficient.
fn spend(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| spend(item, left)),
        Value::Object(fields) => fields.values().all(|field| spend(field, left)),
        _ => true,
    }
}

/// Wipes every string of a value, since some may be secrets.
pub(crate) fn wipe(value: &mut Value) {
    if wiped::BY_ALLOCATOR {
        return;
    }
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The bytes of a value's JSON.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    let mut room = Room(usize::MAX);
    // The room takes everything, and the library's types fail at nothing else.
    let _ = serde_json::to_writer(&mut room, value);
    usize::MAX - room.0
}

/// A writer that only counts bytes, and fails at the limit.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The largest annotations that an API server stores, in bytes.
const LONGEST_METADATA_FIELD: usize = 256 * 1024;
/// The most values that one kept metadata field may have.
const MOST_METADATA_VALUES: usize = 1024;
/// The most bytes of the labels, of the finalizers and of the owners of an object that has lost
/// its content.
const SHORT_METADATA_FIELD: usize = 512;
const LONGEST_PATH: usize = 256;
/// The longest name of a Kubernetes object, in bytes.
const LONGEST_NAME: usize = 253;
/// The metadata fields that identify an object, its age and its owners, or are needed to
/// delete it. They are kept even if the object has too many values.
pub(super) const NAMING_FIELDS: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "finalizers",
    "ownerReferences",
];

/// A text value, cut to the length of a name; empty for anything else.
fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).map(cut).unwrap_or_default()
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

/// Translates serde's names of Rust types.
fn in_words(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "i64" | "i32" => "a whole number",
        expected if expected.starts_with("struct ") => "a map",
        expected => expected,
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("a string of {} bytes", text.len()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}
