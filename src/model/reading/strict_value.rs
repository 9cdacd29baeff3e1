//! A JSON value, read from any format, with what readers could differ on.

use core::{cell::RefCell, fmt};

use serde::{
    Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess},
};
use serde_json::{Map, Number, Value};

use super::unreadable::{Step, path, wipe};
use crate::model::ObjectError;

/// Reads one document. Of a key that stands twice the first value is kept, and
/// what lies too deep is left out; both are noted with their places.
pub(in crate::model) struct StrictValue(RefCell<State>);

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
    /// There are more defects than so many; the last one is there.
    Defects(String, usize),
}

impl StrictValue {
    /// A reader that has read so many values before.
    pub(in crate::model) fn new(values: usize) -> Self {
        Self(RefCell::new(State {
            values,
            ..State::default()
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
        }
    }
}

#[derive(Default)]
struct State {
    steps: Vec<OwnStep>,
    defects: Vec<Defect>,
    values: usize,
    refusal: Option<Refusal>,
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

#[derive(Clone, Copy)]
struct Node<'s> {
    state: &'s RefCell<State>,
    depth: usize,
}

impl Node<'_> {
    fn inside(self, step: OwnStep) -> Self {
        self.state.borrow_mut().steps.push(step);
        Self {
            depth: self.depth + 1,
            ..self
        }
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
        {
            let mut state = self.state.borrow_mut();
            state.values += 1;
            if state.values > VALUES {
                state.refusal = Some(Refusal::Values(VALUES));
                return Err(de::Error::custom("too many values"));
            }
        }
        deserializer.deserialize_any(self)
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
            while access.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        let mut items = Vec::new();
        loop {
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
            while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        let mut fields = Map::new();
        let mut is_noted = false;
        while let Some(key) = access.next_key::<String>()? {
            let inside = self.inside(OwnStep::Key(key.clone()));
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
