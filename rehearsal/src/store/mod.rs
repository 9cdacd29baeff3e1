//! What a store of objects must do, and a check that it does it.

mod cases;

use std::fmt;

use liqo_auth::{
    machine::{ApplyError, Effect, Interest, Objects},
    model::Object,
};
use serde_json::Value;

/// One cluster's objects, as an embedder keeps them: in a database, or on an API server.
///
/// | the store | what it must do |
/// |---|---|
/// | create | takes a free name, ignores the given UID and version, and gives new ones |
/// | UID | no two objects share one, not even if one is gone |
/// | version | each change of an object gives it a new one; an effect that names another one than the stored one is refused, and so is another UID |
/// | replace | takes the whole object, and keeps the UID and the times that the store wrote |
/// | patch | a JSON merge patch (RFC 7396) of one part; what it does not name stays |
/// | finalizers | a deleted object with finalizers stays, marked, until the last one is gone; it can be patched and replaced meanwhile |
/// | unreadable objects | are found, patched in their metadata, and deleted |
/// | refusals | change nothing |
///
/// [`Effect::apply_to`] and [`Effect::apply_to_value`] do all of it but the UIDs and the
/// versions. The library leaves `generateName` empty, so a store need not know it.
///
/// # Examples
/// A store of JSON texts, such as a table of a database:
/// ```
/// use std::collections::BTreeMap;
///
/// use liqo_auth::{
///     machine::{ApplyError, Effect, Interest},
///     model::{Object, ObjectRef, Timestamp},
/// };
/// use liqo_auth_rehearsal::{Store, check_store};
/// use serde_json::Value;
///
/// #[derive(Default)]
/// struct Table {
///     rows: BTreeMap<ObjectRef, String>,
///     revision: u64,
/// }
///
/// impl Store for Table {
///     fn look_up(&mut self, interests: &[Interest]) -> Vec<Object> {
///         let values = self.rows.values().filter_map(|row| serde_json::from_str(row).ok());
///         let mut objects: Vec<Object> = values.map(Object::from_value).collect();
///         objects.retain(|object| interests.iter().any(|interest| interest.matches(object)));
///         objects
///     }
///
///     fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
///         let id = effect.id();
///         let stored: Option<Value> =
///             self.rows.get(&id).and_then(|row| serde_json::from_str(row).ok());
///         let now = Timestamp::from_unix(1_795_179_600).unwrap();
///         let after = effect.apply_to_value(stored.as_ref(), now)?;
///         if after == stored {
///             return Ok(());
///         }
///         let Some(mut value) = after else {
///             self.rows.remove(&id);
///             return Ok(());
///         };
///         self.revision += 1;
///         let metadata = &mut value["metadata"];
///         if metadata["uid"].is_null() {
///             metadata["uid"] = format!("uid-{}", self.revision).into();
///         }
///         metadata["resourceVersion"] = self.revision.to_string().into();
///         self.rows.insert(id, value.to_string());
///         Ok(())
///     }
///
///     fn plant(&mut self, value: Value) -> bool {
///         let id = Object::from_value(value.clone()).id();
///         self.rows.insert(id, value.to_string());
///         true
///     }
/// }
///
/// check_store(&mut Table::default())?;
/// # Ok::<(), liqo_auth_rehearsal::Deviation>(())
/// ```
pub trait Store {
    /// The objects that one of the interests names, also those that cannot be read.
    fn look_up(&mut self, interests: &[Interest]) -> Vec<Object>;

    /// Carries out one effect.
    ///
    /// # Errors
    /// [`ApplyError`]; the store is unchanged then. `Exists`, `Missing` and `Changed` are the
    /// conflicts with other writers.
    fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError>;

    /// Puts an object in, past all checks: one that this library cannot read, such as one
    /// that an older program wrote. Returns false if the store does not take such objects, as an
    /// API server with a schema does.
    fn plant(&mut self, value: Value) -> bool;
}

/// What a store does otherwise than it must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// What the store must do.
    pub rule: &'static str,
    /// What it did.
    pub found: String,
}

impl fmt::Display for Deviation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.rule, self.found)
    }
}

impl std::error::Error for Deviation {}

/// Checks that an empty store does what a [`Store`] must. The check needs the Namespace
/// `store-check` in an API server, and does not leave an object.
///
/// # Errors
/// The first [`Deviation`].
pub fn check_store(store: &mut dyn Store) -> Result<(), Deviation> {
    cases::all(store)
}

impl Store for Objects {
    fn look_up(&mut self, interests: &[Interest]) -> Vec<Object> {
        let is_wanted =
            |object: &&Object| interests.iter().any(|interest| interest.matches(object));
        self.iter().filter(is_wanted).cloned().collect()
    }

    fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
        Objects::apply(self, effect)
    }

    fn plant(&mut self, value: Value) -> bool {
        self.insert_value(value);
        true
    }
}
