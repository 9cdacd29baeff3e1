//! The evaluation of a template.

use std::borrow::Cow;

use serde_json::Value;

use super::{Node, Part, comparison::holds, parser::Bounds};

/// The values so far.
type Values<'v> = Vec<Cow<'v, Value>>;

/// Evaluates the parts of a template in their order.
pub(super) struct Evaluator<'t> {
    parts: &'t [Part],
    /// Whether the last part was `range`.
    begins: bool,
    /// The number of ranges around the current part.
    depth: usize,
    /// The number of `end` that have been met, and have not ended a range yet.
    ends: usize,
    last_end: Option<usize>,
}

/// Why a part has no result.
struct Fault {
    message: String,
    /// Whether there were values before. A filter without an operator then passes.
    had_values: bool,
}

impl<'t> Evaluator<'t> {
    pub(super) fn new(parts: &'t [Part]) -> Self {
        Self {
            parts,
            begins: false,
            depth: 0,
            ends: 0,
            last_end: None,
        }
    }

    /// The results of each part.
    pub(super) fn find<'v>(mut self, document: &'v Value) -> Result<Vec<Values<'v>>, String> {
        self.find_from(0, Some(&Cow::Borrowed(document)))
    }

    /// The results of the parts from `start` on, up to the end of the current range.
    fn find_from<'v>(
        &mut self,
        start: usize,
        document: Option<&Cow<'v, Value>>,
    ) -> Result<Vec<Values<'v>>, String> {
        let mut found = Vec::new();
        let mut at = start;
        while let Some(part) = self.parts.get(at) {
            let values: Values<'v> = document.cloned().into_iter().collect();
            let results = match part {
                Part::Text(text) => vec![Cow::Owned(Value::from(text.as_str()))],
                Part::Action(nodes) => self.walk(values, nodes).map_err(|fault| fault.message)?,
            };
            if self.ends > 0 && self.ends <= self.depth {
                self.ends -= 1;
                self.last_end = Some(at);
                break;
            }
            if std::mem::take(&mut self.begins) {
                if self.depth == MAX_DEPTH {
                    return Err(format!("at most {MAX_DEPTH} ranges may be nested"));
                }
                self.depth += 1;
                for value in &results {
                    found.extend(self.find_from(at + 1, Some(value))?);
                }
                if results.is_empty() {
                    // Only to find the end of the range.
                    self.find_from(at + 1, None)?;
                }
                self.depth -= 1;
                if let Some(end) = self.last_end.filter(|end| *end > at) {
                    at = end;
                }
            } else {
                found.push(results);
            }
            at += 1;
        }
        Ok(found)
    }

    fn walk<'v>(&mut self, values: Values<'v>, nodes: &[Node]) -> Result<Values<'v>, Fault> {
        nodes
            .iter()
            .try_fold(values, |values, node| self.step(values, node))
    }

    fn step<'v>(&mut self, values: Values<'v>, node: &Node) -> Result<Values<'v>, Fault> {
        let each = |value: Value| values.iter().map(|_| Cow::Owned(value.clone())).collect();
        match node {
            Node::Text(text) => Ok(vec![Cow::Owned(Value::from(text.as_str()))]),
            Node::Integer(integer) => Ok(each(Value::from(*integer))),
            Node::Float(float) => Ok(each(Value::from(*float))),
            Node::Boolean(boolean) => Ok(each(Value::from(*boolean))),
            Node::Field(name) => Ok(values
                .into_iter()
                .filter_map(|value| field(value, name))
                .collect()),
            Node::Range(bounds) => ranged(values, *bounds),
            Node::Wildcard => Ok(values.into_iter().flat_map(contents).collect()),
            Node::Recursive => {
                let mut all = Values::new();
                for value in values {
                    descend(value, &mut all);
                }
                Ok(all)
            }
            Node::Union(each) => {
                let had_values = !values.is_empty();
                let mut united = Values::new();
                for nodes in each {
                    let one = self.walk(values.clone(), nodes);
                    united.extend(one.map_err(|fault| Fault {
                        had_values,
                        ..fault
                    })?);
                }
                Ok(united)
            }
            Node::Filter { left, comparison } => self.filtered(values, left, comparison.as_ref()),
            Node::Word(word) => self.word(values, word),
        }
    }

    fn word<'v>(&mut self, values: Values<'v>, word: &str) -> Result<Values<'v>, Fault> {
        match word {
            "range" => {
                self.begins = true;
                Ok(values)
            }
            "end" if self.depth > 0 => {
                self.ends += 1;
                Ok(Values::new())
            }
            "end" => Err(Fault::new("not in range, nothing to end", false)),
            other => Err(Fault::new(
                format!("unrecognized identifier {other}"),
                !values.is_empty(),
            )),
        }
    }

    fn filtered<'v>(
        &mut self,
        values: Values<'v>,
        left: &[Node],
        comparison: Option<&(String, Vec<Node>)>,
    ) -> Result<Values<'v>, Fault> {
        let mut passed = Values::new();
        for value in values {
            let Some(items) = items(&value) else {
                let shown = super::text::as_words(&[value]);
                let message = format!("{shown} is not array or slice and cannot be filtered");
                return Err(Fault::new(message, true));
            };
            for item in items {
                let lefts = self.walk(vec![item.clone()], left);
                let Some((operator, right)) = comparison else {
                    let exists = match &lefts {
                        Ok(lefts) => !lefts.is_empty(),
                        Err(fault) => fault.had_values,
                    };
                    passed.extend(exists.then_some(item));
                    continue;
                };
                let sides = (only(lefts?)?, only(self.walk(vec![item.clone()], right)?)?);
                if let (Some(left), Some(right)) = sides {
                    let holds = holds(&left, operator, &right);
                    let passes =
                        holds.map_err(|message| Fault::new(message, !passed.is_empty()))?;
                    passed.extend(passes.then_some(item));
                }
            }
        }
        Ok(passed)
    }
}

impl Fault {
    fn new(message: impl Into<String>, had_values: bool) -> Self {
        Self {
            message: message.into(),
            had_values,
        }
    }
}

/// The only value of one side of a comparison. None if there is no value.
fn only(values: Values<'_>) -> Result<Option<Cow<'_, Value>>, Fault> {
    match values.len() {
        0 | 1 => Ok(values.into_iter().next()),
        _ => Err(Fault::new("can only compare one element at a time", true)),
    }
}

fn field<'v>(value: Cow<'v, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        // Text and numbers of the template itself have no fields.
        Cow::Owned(_) => None,
    }
}

/// The items of a list. None if the value is not a list.
fn items<'v>(value: &Cow<'v, Value>) -> Option<Values<'v>> {
    match value {
        Cow::Borrowed(value) => Some(value.as_array()?.iter().map(Cow::Borrowed).collect()),
        Cow::Owned(_) => None,
    }
}

/// What a value contains. Go takes a text as its bytes.
fn contents(value: Cow<'_, Value>) -> Values<'_> {
    match value {
        Cow::Borrowed(Value::Object(fields)) => fields.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        value => match value.as_str() {
            Some(text) => text.bytes().map(|byte| Cow::Owned(byte.into())).collect(),
            None => Values::new(),
        },
    }
}

/// Adds a value and all that it contains, except for what contains nothing.
fn descend<'v>(value: Cow<'v, Value>, all: &mut Values<'v>) {
    let contents = contents(value.clone());
    if contents.is_empty() {
        return;
    }
    all.push(value);
    for content in contents {
        descend(content, all);
    }
}

fn ranged(values: Values<'_>, bounds: Bounds) -> Result<Values<'_>, Fault> {
    let mut picked = Values::new();
    for value in values {
        if value.is_null() {
            continue;
        }
        let Some(items) = items(&value) else {
            let message = format!("{} is not array or slice", type_of(&value));
            return Err(Fault::new(message, true));
        };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let mut from = bounds.from.unwrap_or(0);
        if from < 0 {
            from = from.saturating_add(length);
        }
        let mut to = bounds.to.unwrap_or(length);
        if to < 0 || (to == 0 && bounds.is_index) {
            to = to.saturating_add(length);
        }
        if from == to {
            return Ok(picked);
        }
        let outside = |index: i64| {
            let message = format!("array index out of bounds: index {index}, length {length}");
            Fault::new(message, true)
        };
        if from >= length || from < 0 {
            return Err(outside(from));
        }
        if to > length || to < 0 {
            return Err(outside(to.saturating_sub(1)));
        }
        if from > to {
            let message = format!("starting index {from} is greater than ending index {to}");
            return Err(Fault::new(message, true));
        }
        let step = bounds.step.unwrap_or(1);
        let step = usize::try_from(step).ok().filter(|step| *step > 0);
        let step = step.ok_or_else(|| Fault::new("step must be > 0", true))?;
        let index = |bound: i64| usize::try_from(bound).unwrap_or_default();
        let picks = items.into_iter().take(index(to)).skip(index(from));
        picked.extend(picks.step_by(step));
    }
    Ok(picked)
}

/// The number of nested ranges. Each level needs a part of the stack, and multiplies
/// the work.
const MAX_DEPTH: usize = 16;

/// The name of a value's type in Go.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
