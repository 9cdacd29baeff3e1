//! The report about one object.

use liqo_auth::{crypto::Fingerprint, error::Error};
use serde_json::{Value, json};

use crate::{
    mark::Mark,
    paragraph::{paragraph, with_code},
    text::escaped,
};

/// The report about one object: facts, and what is verified, not verified and wrong.
#[derive(Debug, Clone)]
pub struct Report {
    /// The object.
    pub title: String,
    /// What the object says: each fact with its name.
    pub facts: Vec<(&'static str, String)>,
    /// What is verified.
    pub verified: Vec<String>,
    /// What is not verified, and not wrong.
    pub unverified: Vec<String>,
    /// What is wrong.
    pub wrong: Vec<String>,
    /// Whether `apply` takes an object of this kind.
    pub is_message: bool,
    /// What to compare with the administrator of a cluster, before the object is
    /// applied.
    pub compare: Option<Compare>,
}

/// A fingerprint, and the cluster whose administrator knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compare {
    /// Whose fingerprint it is, in words.
    pub what: &'static str,
    /// The ID of the cluster.
    pub cluster: String,
    /// The fingerprint.
    pub fingerprint: Fingerprint,
}

impl Report {
    pub(crate) fn new(title: &str) -> Self {
        Self {
            title: escaped(title),
            facts: Vec::new(),
            verified: Vec::new(),
            unverified: Vec::new(),
            wrong: Vec::new(),
            is_message: false,
            compare: None,
        }
    }

    /// A report about an object that a peer sends.
    pub(crate) fn of_message(title: &str) -> Self {
        Self {
            is_message: true,
            ..Self::new(title)
        }
    }

    pub(crate) fn say(&mut self, what: &'static str, text: impl AsRef<str>) {
        self.facts.push((what, text.as_ref().to_owned()));
    }

    pub(crate) fn verified(&mut self, what: impl Into<String>) {
        self.verified.push(what.into());
    }

    pub(crate) fn unverified(&mut self, what: impl Into<String>) {
        self.unverified.push(what.into());
    }

    pub(crate) fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    pub(crate) fn error(&mut self, error: &Error) {
        self.wrong.push(paragraph(error));
    }

    /// Notes a refusal, with this in place of the error's advice.
    pub(crate) fn refused(&mut self, error: &Error, way_out: &str) {
        self.wrong.push(format!("{}. {way_out}", with_code(error)));
    }

    /// How far the object is verified: each line with its mark.
    pub fn marked(&self) -> impl Iterator<Item = (Mark, &str)> {
        let marks = [
            (Mark::Verified, &self.verified),
            (Mark::Unverified, &self.unverified),
            (Mark::Wrong, &self.wrong),
        ];
        marks
            .into_iter()
            .flat_map(|(mark, lines)| lines.iter().map(move |line| (mark, line.as_str())))
    }

    /// The report in a format for programs.
    pub fn to_json(&self) -> Value {
        let facts = self.facts.iter();
        let facts: Vec<Value> = facts
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        json!({
            "object": self.title,
            "facts": facts,
            "verified": self.verified,
            "notVerified": self.unverified,
            "wrong": self.wrong,
        })
    }
}
