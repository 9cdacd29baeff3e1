//! Reads a JSON value from any format, and notes every defect on which readers
//! could differ.

use core::{cell::RefCell, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess},
};
use serde_json::{Map, Number, Value};
use serde_path_to_error::Segment;
use zeroize::Zeroize;

use super::unreadable::{NAMING_FIELDS, path, wipe};
use crate::model::ObjectError;

/// Reads one document, and notes its defects with their places. The first value of
/// a repeated key is kept. A value that is nested too deeply is left out. If an object
/// has too many values, only the fields that identify the object are kept after the
/// last allowed value.
pub(crate) struct StrictValue(RefCell<State>);

/// The limits on the number of values.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// The number of values that were read before.
    pub(crate) used: usize,
    /// The most values that one object may have.
    pub(crate) object: usize,
    /// Whether it is cheap to skip the rest of an object with too many values.
    pub(crate) is_skippable: bool,
}

/// A defect in the form of a value, with its place.
#[derive(Clone)]
pub(crate) struct Defect {
    steps: Vec<Segment>,
    kind: DefectKind,
}

/// Why the reading was stopped.
pub(crate) enum Refusal {
    /// The text has more values than this limit.
    Values(usize),
    /// One object has more values than this limit.
    ObjectValues(usize),
    /// The text has more defects than this limit. The path is that of the last
    /// defect.
    Defects(String, usize),
}

impl StrictValue {
    /// A reader with these limits.
    pub(crate) fn new(room: Room) -> Self {
        Self(RefCell::new(State {
            steps: Vec::new(),
            defects: Vec::new(),
            values: room.used,
            room,
            object: Count::default(),
            refusal: None,
        }))
    }

    pub(crate) fn read<'de, D: Deserializer<'de>>(&self, from: D) -> Result<Value, D::Error> {
        Node {
            state: &self.0,
            depth: 0,
            is_kept: true,
        }
        .deserialize(from)
    }

    /// What was read so far.
    pub(crate) fn finish(self) -> State {
        self.0.into_inner()
    }
}

impl Defect {
    /// The key at that level of the path.
    pub(crate) fn key(&self, level: usize) -> Option<&str> {
        match self.steps.get(level)? {
            Segment::Map { key } => Some(key),
            _ => None,
        }
    }

    /// Returns the index of the item in `items` that has the defect, and makes the
    /// path relative to that item.
    pub(crate) fn take_item(&mut self) -> Option<usize> {
        let at = match self.steps.as_slice() {
            [Segment::Map { key }, Segment::Seq { index }, ..] if key == "items" => *index,
            _ => return None,
        };
        self.steps.drain(..2);
        Some(at)
    }

    pub(crate) fn reason(&self) -> ObjectError {
        let path = path(&self.steps);
        match self.kind {
            DefectKind::Repeated => ObjectError::Repeated { path },
            DefectKind::TooDeep => ObjectError::TooDeep { path, limit: DEPTH },
            DefectKind::TooManyValues { limit } => ObjectError::TooManyValues { limit },
        }
    }
}

/// The progress of the reading.
pub(crate) struct State {
    steps: Vec<Segment>,
    pub(crate) defects: Vec<Defect>,
    /// The number of values that were read so far.
    pub(crate) values: usize,
    room: Room,
    /// The object that is being read.
    object: Count,
    pub(crate) refusal: Option<Refusal>,
}

/// The number of values of an object that were read so far.
#[derive(Clone, Copy, Default)]
struct Count {
    values: usize,
    /// The level of the object in the document.
    level: usize,
    is_full: bool,
}

#[derive(Clone, Copy)]
enum DefectKind {
    Repeated,
    TooDeep,
    TooManyValues { limit: usize },
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

    /// Whether the present path is that of an item of a list of objects.
    fn is_at_item(&self) -> bool {
        let is_item = |steps: &[Segment]| match steps {
            [Segment::Map { key }, Segment::Seq { .. }] => key == "items",
            _ => false,
        };
        let steps = &self.steps;
        !steps.is_empty() && steps.len() <= 2 * LIST_LEVELS && steps.chunks(2).all(is_item)
    }

    /// Whether the key at the present path is kept although the object has too many
    /// values. Such a key identifies the object, or is needed to delete it.
    fn is_kept(&self) -> bool {
        let reserve = self.room.object.saturating_add(RESERVE);
        let key = |step: &Segment, keys: &[&str]| match step {
            Segment::Map { key } => keys.contains(&key.as_str()),
            _ => false,
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
            let path = path(&self.steps);
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

/// The deepest nesting: more than any object of the exchange has, managed fields
/// included.
const DEPTH: usize = 32;
/// The most values of a text: enough for a large list of objects.
const VALUES: usize = 500_000;
const DEFECTS: usize = 64;
/// The deepest nesting of lists of objects.
pub(crate) const LIST_LEVELS: usize = 2;
/// The values beyond the limit that remain for the fields that identify an object.
const RESERVE: usize = 256;

#[derive(Clone, Copy)]
struct Node<'s> {
    state: &'s RefCell<State>,
    depth: usize,
    /// Whether the value is kept. A value that is not kept is skipped, and may be
    /// counted.
    is_kept: bool,
}

impl Node<'_> {
    fn inside(self, step: Segment) -> Self {
        self.state.borrow_mut().steps.push(step);
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    /// Begins a new count if the value is an item of a list of objects. Returns the
    /// previous count, which continues after the item.
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

    /// Whether the value here is skipped, because its object has too many values.
    fn is_left_out(self) -> bool {
        let state = self.state.borrow();
        state.object.is_full && state.steps.len() > state.object.level && !state.is_kept()
    }

    fn skipped(self) -> Self {
        Self {
            is_kept: false,
            ..self
        }
    }

    fn is_too_deep<E: de::Error>(self) -> Result<bool, E> {
        if self.depth < DEPTH {
            return Ok(false);
        }
        self.note(DefectKind::TooDeep)?;
        Ok(true)
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
        if !self.is_kept {
            // A skipped value is counted if skipping costs much.
            if self.state.borrow().room.is_skippable {
                return IgnoredAny::deserialize(deserializer).map(|_| Value::Null);
            }
            self.state.borrow_mut().count()?;
            return deserializer.deserialize_any(self);
        }
        let outer = self.enter_item();
        let counted = self.state.borrow_mut().count();
        let read = counted.and_then(|()| deserializer.deserialize_any(self));
        if let Some(outer) = outer {
            self.state.borrow_mut().object = outer;
        }
        read
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
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None if self.is_kept => Err(E::custom("a number that is not finite")),
            None => Ok(Value::Null),
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(self.is_kept.then_some(text).into())
    }

    fn visit_string<E>(self, mut text: String) -> Result<Value, E> {
        if self.is_kept {
            return Ok(text.into());
        }
        // The text may be a secret.
        text.zeroize();
        Ok(Value::Null)
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
        if !self.is_kept || self.is_too_deep()? {
            while access.next_element_seed(self.skipped())?.is_some() {}
            return Ok(Value::Null);
        }
        let mut items = Vec::new();
        loop {
            if self.is_left_out() {
                while access.next_element_seed(self.skipped())?.is_some() {}
                return Ok(items.into());
            }
            let inside = self.inside(Segment::Seq { index: items.len() });
            let item = access.next_element_seed(inside)?;
            self.leave();
            match item {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        if !self.is_kept || self.is_too_deep()? {
            while access.next_key::<IgnoredAny>()?.is_some() {
                access.next_value_seed(self.skipped())?;
            }
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
            let inside = self.inside(Segment::Map { key: key.clone() });
            if inside.is_left_out() {
                access.next_value_seed(self.skipped())?;
                self.leave();
                continue;
            }
            let mut value = access.next_value_seed(inside)?;
            if fields.contains_key(&key) {
                // One noted defect for each map is enough, so the list of defects
                // stays short.
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

#[cfg(test)]
mod tests {
    use serde::de::{Visitor, value::Error};

    use super::*;

    #[test]
    fn a_skipped_text_is_not_kept() {
        let room = Room {
            used: 0,
            object: 9,
            is_skippable: false,
        };
        let reader = StrictValue::new(room);
        for (is_kept, read) in [(true, Value::from("secret")), (false, Value::Null)] {
            let node = Node {
                state: &reader.0,
                depth: 0,
                is_kept,
            };
            assert_eq!(
                node.visit_string::<Error>("secret".to_owned()),
                Ok(read.clone())
            );
            assert_eq!(node.visit_str::<Error>("secret"), Ok(read));
        }
    }
}
