//! A JSON value, read from any format, with what readers could differ on.

use core::{cell::RefCell, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess},
};
use serde_json::{Map, Number, Value};

use super::unreadable::{Step, path, wipe};
use crate::model::ObjectError;

/// Reads one document. Of a key that stands twice the first value is kept, and
/// what lies too deep is left out; both are noted with their places. So is an
/// object with more values than an object may have: of what follows there, only
/// the fields that name the object are kept.
pub(in crate::model) struct StrictValue(RefCell<State>);

/// How many values are read.
#[derive(Clone, Copy)]
pub(in crate::model) struct Room {
    /// How many values were read before.
    pub(in crate::model) used: usize,
    /// How many values one object may have.
    pub(in crate::model) object: usize,
    /// Whether the rest of an object that has more costs little to pass over.
    pub(in crate::model) is_skippable: bool,
}

/// What is wrong in the form of a value, and where.
#[derive(Clone)]
pub(in crate::model) struct Defect {
    steps: Vec<OwnStep>,
    kind: DefectKind,
}

/// Why the reading was given up.
#[derive(Clone)]
pub(in crate::model) enum Refusal {
    /// There are more values than so many.
    Values(usize),
    /// One object has more values than so many.
    ObjectValues(usize),
    /// There are more defects than so many; the last one is there.
    Defects(String, usize),
}

impl StrictValue {
    /// A reader with so much room.
    pub(in crate::model) fn new(room: Room) -> Self {
        Self(RefCell::new(State {
            steps: Vec::new(),
            defects: Vec::new(),
            values: room.used,
            room,
            object: Count::default(),
            refusal: None,
        }))
    }

    pub(in crate::model) fn read<'de, D: Deserializer<'de>>(
        &self,
        from: D,
    ) -> Result<Value, D::Error> {
        Node {
            state: &self.0,
            depth: 0,
        }
        .deserialize(from)
    }

    /// How many values were read by now.
    pub(in crate::model) fn values(&self) -> usize {
        self.0.borrow().values
    }

    pub(in crate::model) fn refusal(&self) -> Option<Refusal> {
        self.0.borrow().refusal.clone()
    }

    pub(in crate::model) fn defects(&self) -> Vec<Defect> {
        self.0.borrow().defects.clone()
    }
}

impl Defect {
    /// The place for people.
    fn path(&self) -> String {
        path(self.steps.iter().map(OwnStep::borrow))
    }

    /// The key on that level of the path.
    pub(in crate::model) fn key(&self, level: usize) -> Option<&str> {
        match self.steps.get(level)? {
            OwnStep::Key(key) => Some(key),
            OwnStep::Index(_) => None,
        }
    }

    /// Which of `items` the defect is in; from there on its path is that
    /// item's.
    pub(in crate::model) fn take_item(&mut self) -> Option<usize> {
        let [OwnStep::Key(items), OwnStep::Index(at), ..] = self.steps.as_slice() else {
            return None;
        };
        if items != "items" {
            return None;
        }
        let at = *at;
        self.steps.drain(..2);
        Some(at)
    }

    pub(in crate::model) fn reason(&self) -> ObjectError {
        let path = self.path();
        match self.kind {
            DefectKind::Repeated => ObjectError::Repeated { path },
            DefectKind::TooDeep => ObjectError::TooDeep { path, limit: DEPTH },
            DefectKind::TooManyValues { limit } => ObjectError::TooManyValues { limit },
        }
    }
}

struct State {
    steps: Vec<OwnStep>,
    defects: Vec<Defect>,
    values: usize,
    room: Room,
    /// The object that is being read.
    object: Count,
    refusal: Option<Refusal>,
}

/// How much of an object was read.
#[derive(Clone, Copy, Default)]
struct Count {
    values: usize,
    /// On which level of the document the object lies.
    level: usize,
    is_full: bool,
}

#[derive(Clone)]
enum OwnStep {
    Key(String),
    Index(usize),
}

#[derive(Clone, Copy)]
enum DefectKind {
    Repeated,
    TooDeep,
    TooManyValues { limit: usize },
}

impl OwnStep {
    fn borrow(&self) -> Step<'_> {
        match self {
            Self::Key(key) => Step::Key(key),
            Self::Index(at) => Step::Index(*at),
        }
    }
}

impl State {
    fn count<E: de::Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        if self.values > VALUES {
            self.refusal = Some(Refusal::Values(VALUES));
            return Err(E::custom("too many values"));
        }
        self.object.values += 1;
        if self.object.values <= self.room.object || self.object.is_full {
            return Ok(());
        }
        let limit = self.room.object;
        if !self.room.is_skippable {
            self.refusal = Some(Refusal::ObjectValues(limit));
            return Err(E::custom("too many values in an object"));
        }
        self.object.is_full = true;
        let inside = self.steps.split_off(self.object.level);
        let noted = self.note(DefectKind::TooManyValues { limit });
        self.steps.extend(inside);
        noted
    }

    /// Whether the place is that of an item of a list of objects.
    fn is_at_item(&self) -> bool {
        let is_item = |steps: &[OwnStep]| match steps {
            [OwnStep::Key(key), OwnStep::Index(_)] => key == "items",
            _ => false,
        };
        let steps = &self.steps;
        !steps.is_empty() && steps.len() <= 2 * LIST_LEVELS && steps.chunks(2).all(is_item)
    }

    /// Whether the key at this place is kept of an object that has too many
    /// values: it names the object, or is needed to take it away.
    fn is_kept(&self) -> bool {
        let reserve = self.room.object.saturating_add(RESERVE);
        let key = |step: &OwnStep, keys: &[&str]| match step {
            OwnStep::Key(key) => keys.contains(&key.as_str()),
            OwnStep::Index(_) => false,
        };
        self.object.values <= reserve
            && match self.steps.get(self.object.level..) {
                Some([root]) => key(root, &["apiVersion", "kind", "metadata"]),
                Some([metadata, field, ..]) => {
                    key(metadata, &["metadata"]) && key(field, &NAMING_FIELDS)
                }
                _ => false,
            }
    }

    fn note<E: de::Error>(&mut self, kind: DefectKind) -> Result<(), E> {
        if self.defects.len() == DEFECTS {
            let path = path(self.steps.iter().map(OwnStep::borrow));
            self.refusal = Some(Refusal::Defects(path, DEFECTS));
            return Err(E::custom("too many defects"));
        }
        self.defects.push(Defect {
            steps: self.steps.clone(),
            kind,
        });
        Ok(())
    }
}

/// Deeper than any object of the exchange, managed fields included.
const DEPTH: usize = 32;
/// As many values as a large list of objects has.
const VALUES: usize = 500_000;
const DEFECTS: usize = 64;
/// How deep lists of objects may lie in each other.
pub(in crate::model) const LIST_LEVELS: usize = 2;
/// The fields of metadata that are kept of an object with too many values.
const NAMING_FIELDS: [&str; 8] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "deletionTimestamp",
    "labels",
    "finalizers",
    "ownerReferences",
];
/// As many values as these fields have in an object of an honest writer.
const RESERVE: usize = 256;

#[derive(Clone, Copy)]
struct Node<'s> {
    state: &'s RefCell<State>,
    depth: usize,
}

impl<'s> Node<'s> {
    fn inside(self, step: OwnStep) -> Self {
        self.state.borrow_mut().steps.push(step);
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    /// Begins another count at an item of a list of objects, and gives the one
    /// to go on with after it.
    fn enter_item(self) -> Option<Count> {
        let mut state = self.state.borrow_mut();
        let level = state.steps.len();
        let count = Count {
            level,
            ..Count::default()
        };
        state
            .is_at_item()
            .then(|| core::mem::replace(&mut state.object, count))
    }

    /// Whether the value here is passed over, since its object has too many.
    fn is_left_out(self) -> bool {
        let state = self.state.borrow();
        state.object.is_full && state.steps.len() > state.object.level && !state.is_kept()
    }

    fn skipped(self) -> Skipped<'s> {
        Skipped(self.state)
    }

    fn leave(self) {
        self.state.borrow_mut().steps.pop();
    }

    fn note<E: de::Error>(self, kind: DefectKind) -> Result<(), E> {
        self.state.borrow_mut().note(kind)
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let outer = self.enter_item();
        let read = match self.state.borrow_mut().count() {
            Ok(()) => None,
            Err(error) => Some(Err(error)),
        };
        let read = read.unwrap_or_else(|| deserializer.deserialize_any(self));
        if let Some(outer) = outer {
            self.state.borrow_mut().object = outer;
        }
        read
    }
}

/// A value that is passed over, and counted where that costs much.
struct Skipped<'s>(&'s RefCell<State>);

impl<'de> DeserializeSeed<'de> for Skipped<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.0.borrow().room.is_skippable {
            return IgnoredAny::deserialize(deserializer).map(drop);
        }
        self.0.borrow_mut().count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> de::Visitor<'de> for Skipped<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while access.next_element_seed(Skipped(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while access.next_key::<IgnoredAny>()?.is_some() {
            access.next_value_seed(Skipped(self.0))?;
        }
        Ok(())
    }
}

impl<'de> de::Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        if self.depth == DEPTH {
            self.note(DefectKind::TooDeep)?;
            while access.next_element_seed(self.skipped())?.is_some() {}
            return Ok(Value::Null);
        }
        let mut items = Vec::new();
        loop {
            if self.is_left_out() {
                while access.next_element_seed(self.skipped())?.is_some() {}
                return Ok(items.into());
            }
            let inside = self.inside(OwnStep::Index(items.len()));
            let item = access.next_element_seed(inside)?;
            self.leave();
            match item {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        if self.depth == DEPTH {
            self.note(DefectKind::TooDeep)?;
            de::Visitor::visit_map(self.skipped(), access)?;
            return Ok(Value::Null);
        }
        let mut fields = Map::new();
        let mut is_noted = false;
        while let Some(key) = access.next_key::<String>()? {
            if self.is_left_out() {
                access.next_value_seed(self.skipped())?;
                de::Visitor::visit_map(self.skipped(), access)?;
                return Ok(Value::Object(fields));
            }
            let inside = self.inside(OwnStep::Key(key.clone()));
            if inside.is_left_out() {
                access.next_value_seed(self.skipped())?;
                self.leave();
                continue;
            }
            let mut value = access.next_value_seed(inside)?;
            if fields.contains_key(&key) {
                // One place for a map is enough, and the list of them bounded.
                if !is_noted {
                    self.note(DefectKind::Repeated)?;
                }
                is_noted = true;
                wipe(&mut value);
            } else {
                fields.insert(key, value);
            }
            self.leave();
        }
        Ok(Value::Object(fields))
    }
}
