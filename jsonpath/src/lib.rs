//! Templates of kubectl's `-o jsonpath=…`.
#![doc = include_str!("../README.md")]
//!
//! Source: Kubernetes, `k8s.io/client-go/util/jsonpath`.

mod comparison;
mod evaluator;
mod parser;
mod quoted;
mod text;

use std::{error, fmt};

use serde_json::Value;

use evaluator::Evaluator;
use parser::{Node, Part};

/// A template, and how its results are printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
    is_json: bool,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// The error says what is wrong with the template, in kubectl's words.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = parser::parse(text).map_err(TemplateError)?;
        Ok(Self {
            parts,
            is_json: false,
        })
    }

    /// The same template, whose results are printed as a JSON array
    /// (`-o jsonpath-as-json`).
    #[must_use]
    pub fn in_json(self) -> Self {
        Self {
            is_json: true,
            ..self
        }
    }

    /// What the template picks from a document. No line feed is added.
    ///
    /// # Errors
    ///
    /// The error says which part of the template does not fit the document, in kubectl's words.
    pub fn evaluate(&self, document: &Value) -> Result<String, TemplateError> {
        let print = |values: &Vec<_>| match self.is_json {
            true => text::as_json(values),
            false => Ok(text::as_words(values)),
        };
        let results = Evaluator::new(&self.parts).find(document);
        results
            .and_then(|results| results.iter().map(print).collect())
            .map_err(TemplateError)
    }
}

/// What is wrong with a template, or why it has no result, in kubectl's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError(String);

impl fmt::Display for TemplateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl error::Error for TemplateError {}
