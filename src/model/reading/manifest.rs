//! Manifests: objects as text, in JSON and (with the feature `yaml`) in YAML.
//!
//! # Examples
//! ```
//! use liqo_auth::{model::{Kind, manifest}, policy::Limits};
//!
//! let text = br#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "liqo-nonce"}}"#;
//! let objects = manifest::read(text, &Limits::default())?;
//! assert_eq!(objects[0].id().kind, Kind::Secret);
//! assert!(manifest::write_json(&objects[0]).ends_with("}\n"));
//! # Ok::<(), liqo_auth::model::ManifestError>(())
//! ```

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    strict_value::{Defect, LIST_LEVELS, Refusal, Room, State, StrictValue},
    unreadable::wipe,
};
use crate::{
    model::{Kind, Object, ObjectError, Unreadable},
    policy::Limits,
};

/// Why a text is not a manifest.
///
/// An unreadable object in the text does not cause such an error: it becomes
/// [`Object::Unreadable`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The text is longer than allowed. A manifest may be as long as [`OBJECTS`]
    /// objects of the greatest length.
    #[error("found {found} bytes, expected at most {limit}")]
    TooLarge {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The text is not UTF-8.
    #[error("found a byte that is not UTF-8 at {at}, expected text")]
    NotText {
        /// The position of the byte, counted from 0.
        at: usize,
    },
    /// The text looks like JSON, but is not valid JSON.
    #[error("line {line}, column {column}: found invalid JSON: {reason}")]
    Json {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The fault.
        reason: String,
    },
    /// The text is neither JSON nor YAML.
    #[error("line {line}, column {column}: found invalid YAML: {reason}")]
    Yaml {
        /// The line, counted from 1; 0 if unknown.
        line: usize,
        /// The column, counted from 1; 0 if unknown.
        column: usize,
        /// The fault.
        reason: String,
    },
    /// The text is not JSON. Without the feature `yaml`, the library reads only
    /// JSON.
    #[error("line {line}: found no JSON, expected JSON since the feature `yaml` is off")]
    YamlIsOff {
        /// The line, counted from 1.
        line: usize,
    },
    /// A list of objects has a fault outside its items.
    #[error("in a list of objects: {0}")]
    List(ObjectError),
    /// The text holds too many values.
    #[error("found more than {limit} values, expected at most {limit}")]
    TooManyValues {
        /// The most values allowed.
        limit: usize,
    },
    /// One object in YAML holds too many values. Skipping the rest of the object
    /// would cost too much.
    #[error("found an object of more than {limit} values, expected at most {limit}")]
    TooManyObjectValues {
        /// The most values allowed.
        limit: usize,
    },
    /// The text holds too many objects.
    #[error("found more than {limit} objects, expected at most {limit}")]
    TooManyObjects {
        /// The most objects allowed.
        limit: usize,
    },
    /// Too many objects have faults of form, such as repeated keys.
    #[error(
        "{path}: found more than {limit} objects with faults of form, expected at most {limit}"
    )]
    TooManyFaults {
        /// The path of the last fault.
        path: String,
        /// The most allowed.
        limit: usize,
    },
    /// Lists of objects are nested too deeply.
    #[error("found lists of objects in more than {limit} levels, expected at most {limit}")]
    NestedLists {
        /// The most levels allowed.
        limit: usize,
    },
}

/// The longest text, as a multiple of the longest object.
pub const OBJECTS: usize = 64;

/// The most objects that a text may hold.
pub const MOST_OBJECTS: usize = 10_000;

/// Reads the objects of a text: JSON always, YAML with the feature `yaml`. JSON
/// objects may follow each other. Lines of `---` may separate documents. The items
/// of a list are returned as single objects.
///
/// An object becomes [`Object::Unreadable`] if it has a repeated key, is nested
/// too deeply, is too long or holds too many values. The other objects are not
/// affected. In YAML, the whole text is refused instead if an object holds too many
/// values, or is nested so deeply that the parser stops. The time is linear in the
/// length of the text.
///
/// # Errors
/// [`ManifestError`] if the text as a whole cannot be read.
pub fn read(text: &[u8], limits: &Limits) -> Result<Vec<Object>, ManifestError> {
    let mut objects = Vec::new();
    for (value, defects) in read_values(text, limits.object.saturating_mul(OBJECTS), limits)? {
        collect(value, defects, 0, limits, &mut objects)?;
    }
    Ok(objects)
}

/// Reads the documents of a text of at most `limit` bytes, each with the defects
/// of its form.
pub(crate) fn read_values(
    text: &[u8],
    limit: usize,
    limits: &Limits,
) -> Result<Vec<(Value, Vec<Defect>)>, ManifestError> {
    read_bounded(text, limit, limits, |reader, text| {
        for document in documents(text.trim_start_matches('\u{feff}')) {
            match document.text.trim_start().bytes().next() {
                Some(b'{' | b'[') => reader.read_json(&document)?,
                _ if document.is_empty() => {}
                _ => reader.read_yaml(&document)?,
            }
        }
        Ok(())
    })
}

/// As [`read_values`], for a text that consists only of JSON.
pub(crate) fn read_json_values(
    text: &[u8],
    limit: usize,
    limits: &Limits,
) -> Result<Vec<(Value, Vec<Defect>)>, ManifestError> {
    read_bounded(text, limit, limits, |reader, text| {
        reader.read_json(&Document { text, line: 0 })
    })
}

fn read_bounded(
    text: &[u8],
    limit: usize,
    limits: &Limits,
    read: impl FnOnce(&mut Reader, &str) -> Result<(), ManifestError>,
) -> Result<Vec<(Value, Vec<Defect>)>, ManifestError> {
    let found = text.len();
    if found > limit {
        return Err(ManifestError::TooLarge { found, limit });
    }
    let text = core::str::from_utf8(text).map_err(|error| ManifestError::NotText {
        at: error.valid_up_to(),
    })?;
    let mut reader = Reader {
        documents: Vec::new(),
        values: 0,
        limits: limits.clone(),
    };
    read(&mut reader, text)?;
    Ok(reader.documents)
}

/// The object as JSON for people: indented by two spaces, with a final
/// newline.
///
/// The text contains the values of a Secret: wipe it after use.
pub fn write_json(object: &Object) -> String {
    let mut value = object.to_value();
    let mut text = format!("{value:#}");
    text.push('\n');
    wipe(&mut value);
    text
}

/// The object as YAML, as `kubectl get -o yaml` prints it: sorted keys, and each
/// value on one line.
///
/// The text contains the values of a Secret: wipe it after use.
#[cfg(feature = "yaml")]
pub fn write_yaml(object: &Object) -> String {
    let mut value = object.to_value();
    let options = serde_saphyr::ser_options! {
        prefer_block_scalars: false,
        compact_list_indent: true,
    };
    let text = serde_saphyr::to_string_with_options(&value, options);
    wipe(&mut value);
    // JSON is valid YAML. A value that was read can always be written, so this
    // fallback is not used.
    text.unwrap_or_else(|_| write_json(object))
}

/// The text between two lines of `---`.
struct Document<'t> {
    text: &'t str,
    /// The number of lines before the document.
    line: usize,
}

/// The documents that were read, with their defects.
struct Reader {
    documents: Vec<(Value, Vec<Defect>)>,
    values: usize,
    limits: Limits,
}

impl Reader {
    fn read_json(&mut self, document: &Document<'_>) -> Result<(), ManifestError> {
        let mut deserializer = serde_json::Deserializer::from_str(document.text);
        self.read_json_value(document, 0, &mut deserializer)?;
        // To find the place of an error, serde_json scans the text before the
        // error. If a document has several values, each value is read as a separate
        // text.
        if deserializer.end().is_ok() {
            return Ok(());
        }
        let mut values =
            serde_json::Deserializer::from_str(document.text).into_iter::<IgnoredAny>();
        // The first value was read above.
        let mut start = 0;
        while let Some(value) = values.next() {
            let end = values.byte_offset();
            // For invalid JSON, the second reader returns the error with its place.
            let text = match value {
                Ok(_) => document.text.get(start..end),
                Err(_) => document.text.get(start..),
            };
            if start > 0 {
                let mut deserializer = serde_json::Deserializer::from_str(text.unwrap_or_default());
                self.read_json_value(document, start, &mut deserializer)?;
                let end = deserializer.end();
                end.map_err(|error| document.invalid_json(start, &error))?;
            }
            start = end;
        }
        Ok(())
    }

    fn read_json_value<'t>(
        &mut self,
        document: &Document<'_>,
        start: usize,
        deserializer: &mut serde_json::Deserializer<serde_json::de::StrRead<'t>>,
    ) -> Result<(), ManifestError> {
        let strict = self.strict(true);
        let value = strict.read(deserializer);
        let syntax = |error| document.invalid_json(start, &error);
        self.take(strict.finish(), value, syntax)
    }

    fn strict(&self, is_skippable: bool) -> StrictValue {
        StrictValue::new(Room {
            used: self.values,
            object: self.limits.object_values,
            is_skippable,
        })
    }

    #[cfg(not(feature = "yaml"))]
    #[allow(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "as with YAML"
    )]
    fn read_yaml(&mut self, document: &Document<'_>) -> Result<(), ManifestError> {
        Err(ManifestError::YamlIsOff {
            line: document.line + 1,
        })
    }

    #[cfg(feature = "yaml")]
    fn read_yaml(&mut self, document: &Document<'_>) -> Result<(), ManifestError> {
        let strict = self.strict(false);
        let value = serde_saphyr::with_deserializer_from_str_with_options(
            document.text,
            crate::model::reading::yaml::options(document.text, &self.limits),
            |deserializer| strict.read(deserializer),
        );
        self.take(strict.finish(), value, |error| {
            let place = error.location();
            let number = |number: u64| usize::try_from(number).unwrap_or(0);
            ManifestError::Yaml {
                line: place.map_or(0, |place| document.line + number(place.line())),
                column: place.map_or(0, |place| number(place.column())),
                reason: crate::model::reading::yaml::reason(&error).to_owned(),
            }
        })
    }

    /// Keeps a document, or returns why the document is refused. `syntax` describes
    /// a fault of the syntax.
    fn take<E>(
        &mut self,
        read: State,
        value: Result<Value, E>,
        syntax: impl FnOnce(E) -> ManifestError,
    ) -> Result<(), ManifestError> {
        self.values = read.values;
        if let Some(refusal) = read.refusal {
            return Err(match refusal {
                Refusal::Values(limit) => ManifestError::TooManyValues { limit },
                Refusal::ObjectValues(limit) => ManifestError::TooManyObjectValues { limit },
                Refusal::Defects(path, limit) => ManifestError::TooManyFaults { path, limit },
            });
        }
        match value {
            Ok(Value::Null) => Ok(()),
            Ok(_) if self.documents.len() == MOST_OBJECTS => {
                let limit = MOST_OBJECTS;
                Err(ManifestError::TooManyObjects { limit })
            }
            Ok(value) => {
                self.documents.push((value, read.defects));
                Ok(())
            }
            Err(error) => Err(syntax(error)),
        }
    }
}

/// Collects the objects of a value: the value itself, or the items of a list.
fn collect(
    mut value: Value,
    defects: Vec<Defect>,
    level: usize,
    limits: &Limits,
    objects: &mut Vec<Object>,
) -> Result<(), ManifestError> {
    let Some(items) = take_items(&mut value) else {
        if objects.len() == MOST_OBJECTS {
            let limit = MOST_OBJECTS;
            return Err(ManifestError::TooManyObjects { limit });
        }
        objects.push(object(value, defects.into_iter().next(), limits));
        return Ok(());
    };
    if level == LIST_LEVELS {
        return Err(ManifestError::NestedLists { limit: LIST_LEVELS });
    }
    let mut defects_of = vec![Vec::new(); items.len()];
    for mut defect in defects {
        match defect.take_item().and_then(|at| defects_of.get_mut(at)) {
            Some(of_item) => of_item.push(defect),
            None => return Err(ManifestError::List(defect.reason())),
        }
    }
    for (item, defects) in items.into_iter().zip(defects_of) {
        collect(item, defects, level + 1, limits, objects)?;
    }
    Ok(())
}

/// The items of a `List`, or of a list of one kind; `None` for an object.
fn take_items(value: &mut Value) -> Option<Vec<Value>> {
    let kind = value.get("kind")?.as_str()?;
    if !kind.ends_with("List") {
        return None;
    }
    let is_list = kind == "List";
    match value.get_mut("items") {
        Some(Value::Array(items)) => Some(core::mem::take(items)),
        Some(Value::Null) | None if is_list => Some(Vec::new()),
        _ => None,
    }
}

fn object(mut value: Value, defect: Option<Defect>, limits: &Limits) -> Object {
    let Some(defect) = defect else {
        return Object::from_value_within(value, limits);
    };
    let mut unreadable = Unreadable::of(&value, defect.reason());
    wipe(&mut value);
    // A repeated name counts as unknown, because readers may differ on it.
    match (defect.key(0), defect.key(1)) {
        (Some("kind" | "apiVersion"), _) => unreadable.id.kind = Kind::Other,
        (Some("metadata"), None) => {
            unreadable.id.namespace.clear();
            unreadable.id.name.clear();
        }
        (Some("metadata"), Some("namespace")) => unreadable.id.namespace.clear(),
        (Some("metadata"), Some("name")) => unreadable.id.name.clear(),
        _ => {}
    }
    unreadable.into()
}

/// Splits a text at its lines of `---`.
fn documents(text: &str) -> Vec<Document<'_>> {
    let document = |start: usize, end: usize, line| Document {
        text: text.get(start..end).unwrap_or_default(),
        line,
    };
    let mut documents = Vec::new();
    let (mut start, mut end, mut first_line) = (0, 0, 0);
    for (line, content) in text.split_inclusive('\n').enumerate() {
        let after = end + content.len();
        if is_separator(content) {
            documents.push(document(start, end, first_line));
            (start, first_line) = (after, line + 1);
        }
        end = after;
    }
    documents.push(document(start, end, first_line));
    documents
}

fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| {
        let rest_of_it = rest.trim_start();
        rest_of_it.is_empty() || (rest.starts_with([' ', '\t']) && rest_of_it.starts_with('#'))
    })
}

impl Document<'_> {
    /// The error of a value that begins at this position of the document.
    fn invalid_json(&self, start: usize, error: &serde_json::Error) -> ManifestError {
        let before = self.text.get(..start).unwrap_or_default();
        let lines = before.matches('\n').count();
        let in_line = before.rsplit('\n').next().map_or(0, str::len);
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default();
        ManifestError::Json {
            line: self.line + lines + error.line(),
            column: error.column() + if error.line() == 1 { in_line } else { 0 },
            reason: reason.to_owned(),
        }
    }

    /// Whether the document has only comments and empty lines.
    fn is_empty(&self) -> bool {
        self.text.lines().all(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#')
        })
    }
}
