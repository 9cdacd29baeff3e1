//! The report about one object.

use liqo_auth::{crypto::Fingerprint, error::Error};
use serde_json::{Value, json};

use crate::{
    failure::paragraph,
    output::{Mark, Printer, escaped},
};

/// The report about one object: facts, and what is verified, not verified and wrong.
pub(super) struct Report {
    pub(super) title: String,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) verified: Vec<String>,
    pub(super) unverified: Vec<String>,
    pub(super) wrong: Vec<String>,
    /// Whether `apply` takes an object of this kind.
    pub(super) is_message: bool,
    /// What to compare with the administrator of a cluster, before the object is
    /// applied.
    pub(super) compare: Option<Compare>,
}

/// A fingerprint, and the cluster whose administrator knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compare {
    pub(super) what: &'static str,
    pub(super) cluster: String,
    pub(super) fingerprint: Fingerprint,
}

impl Report {
    pub(super) fn new(title: &str) -> Self {
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
    pub(super) fn of_message(title: &str) -> Self {
        Self {
            is_message: true,
            ..Self::new(title)
        }
    }

    pub(super) fn say(&mut self, what: &'static str, text: impl AsRef<str>) {
        self.facts.push((what, text.as_ref().to_owned()));
    }

    pub(super) fn verified(&mut self, what: impl Into<String>) {
        self.verified.push(what.into());
    }

    pub(super) fn unverified(&mut self, what: impl Into<String>) {
        self.unverified.push(what.into());
    }

    pub(super) fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    pub(super) fn error(&mut self, error: &Error) {
        self.wrong.push(paragraph(error));
    }

    pub(super) fn to_text(&self, printer: Printer) -> String {
        let mut text = format!("{}\n", self.title);
        for (what, line) in &self.facts {
            text.push_str(&printer.field(what, line));
        }
        for (mark, lines) in [
            (Mark::Verified, &self.verified),
            (Mark::Unverified, &self.unverified),
            (Mark::Wrong, &self.wrong),
        ] {
            for line in lines {
                text.push_str(&printer.marked(mark, line));
            }
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
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
