//! Templates of `-o jsonpath=…`, as kubectl reads and evaluates them. This dialect is not
//! RFC 9535: it has text outside of braces, `range` and `end`, and a string for a value
//! that is missing. No crate has it.
//!
//! Source: Kubernetes, `k8s.io/client-go/util/jsonpath`. The order of a map's values, which
//! is random in kubectl, is that of its keys here. At most 16 ranges are nested; kubectl has no
//! limit.

mod comparison;
mod evaluator;
mod parser;
mod quoted;
mod text;

use serde_json::Value;

use evaluator::Evaluator;
use parser::{Node, Part};

/// A template, and how its results are printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
    is_json: bool,
}

impl Template {
    /// Parses a template. The error says what is wrong with it, in kubectl's words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts = parser::parse(text)?;
        Ok(Self {
            parts,
            is_json: false,
        })
    }

    /// The same template, whose results are printed as a JSON array
    /// (`-o jsonpath-as-json`).
    pub(crate) fn in_json(self) -> Self {
        Self {
            is_json: true,
            ..self
        }
    }

    /// What the template picks from a document. No line feed is added.
    pub(crate) fn evaluate(&self, document: &Value) -> Result<String, String> {
        let results = Evaluator::new(&self.parts).find(document)?;
        let print = |values: &Vec<_>| match self.is_json {
            true => text::as_json(values),
            false => Ok(text::as_words(values)),
        };
        results.iter().map(print).collect()
    }
}

#[cfg(test)]
mod tests;
