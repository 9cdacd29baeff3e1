//! The forms of requests and answers.

use liqo_auth_inspection::{Mark, Report, Verdict, text::printable};
use serde::{Deserialize, Serialize};

/// What comes before the files of a request.
#[derive(Debug, Deserialize)]
pub struct Head {
    /// The present time, such as `2026-11-20T13:00:00Z`.
    pub now: String,
    /// The files, in their order.
    pub files: Vec<File>,
}

/// A file of a request.
#[derive(Debug, Deserialize)]
pub struct File {
    /// The name, for people.
    pub name: String,
    /// The length in bytes.
    pub length: usize,
}

/// What is said of the files, or why nothing is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// What is said.
    Said {
        /// The sentences about files that cannot be read.
        unread: Vec<String>,
        /// A report about each object.
        reports: Vec<Said>,
        /// `yes`, `no`, `unknown` or `after-comparison`. None if there is nothing to apply.
        apply: Option<String>,
        /// The sentences about what to do, each with the fingerprint that follows it.
        sentences: Vec<(String, Option<String>)>,
    },
    /// The request has another form. This is not the fault of the files.
    Failure(String),
}

/// What is said of an object.
#[derive(Debug, Serialize)]
pub struct Said {
    title: String,
    /// Each with its name.
    facts: Vec<(&'static str, String)>,
    /// Each with its kind and the words before it.
    marked: Vec<(&'static str, &'static str, String)>,
}

impl Said {
    pub(crate) fn of(report: &Report) -> Self {
        let facts = report.facts.iter();
        let marked = report.marked();
        Self {
            title: report.title.clone(),
            facts: facts
                .map(|(name, value)| (*name, printable(value)))
                .collect(),
            marked: marked
                .map(|(mark, line)| (kind(mark), mark.words(), printable(line)))
                .collect(),
        }
    }
}

impl Answer {
    pub(crate) fn of(unread: Vec<String>, reports: &[Report]) -> Self {
        // Nobody applies what stands beside a file of which nothing is known.
        let verdict = match Verdict::of(reports) {
            Verdict::DoNot => Verdict::DoNot,
            _ if !unread.is_empty() => Verdict::Nothing,
            verdict => verdict,
        };
        let json = verdict.to_json();
        let sentences = verdict.sentences().into_iter();
        Self::Said {
            unread: unread.iter().map(|sentence| printable(sentence)).collect(),
            reports: reports.iter().map(Said::of).collect(),
            apply: json
                .get("apply")
                .and_then(|apply| apply.as_str())
                .map(str::to_owned),
            sentences: sentences
                .map(|(text, fingerprint)| (printable(&text), fingerprint.map(ToString::to_string)))
                .collect(),
        }
    }
}

const fn kind(mark: Mark) -> &'static str {
    match mark {
        Mark::Verified => "verified",
        Mark::Unverified => "unverified",
        Mark::Wrong => "wrong",
    }
}
