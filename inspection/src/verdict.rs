//! The last line of an inspection: whether to apply what was inspected.

use liqo_auth::crypto::Fingerprint;
use serde_json::{Value, json};

use crate::report::{Compare, Report};

/// What a person does with the inspected files.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is nothing to apply.
    Nothing,
    /// It may be applied.
    Apply,
    /// Something is wrong.
    DoNot,
    /// First, these fingerprints are compared.
    Compare(Vec<Compare>),
    /// Something is not verified that no fingerprint can settle.
    Open,
}

impl Verdict {
    /// What follows from the reports.
    pub fn of(reports: &[Report]) -> Self {
        if reports.iter().any(|report| !report.wrong.is_empty()) {
            return Self::DoNot;
        }
        let messages: Vec<&Report> = reports.iter().filter(|report| report.is_message).collect();
        if messages.is_empty() {
            return Self::Nothing;
        }
        let open = messages
            .iter()
            .filter(|report| !report.unverified.is_empty());
        let open: Vec<Option<&Compare>> = open.map(|report| report.compare.as_ref()).collect();
        if open.is_empty() {
            return Self::Apply;
        }
        let mut compared: Vec<Compare> = Vec::new();
        for compare in open.into_iter().flatten() {
            if !compared.contains(compare) {
                compared.push(compare.clone());
            }
        }
        match compared.is_empty() {
            true => Self::Open,
            false => Self::Compare(compared),
        }
    }

    /// The sentences for a person, each with the fingerprint that follows it.
    pub fn sentences(&self) -> Vec<(String, Option<&Fingerprint>)> {
        let alone = |sentence: &str| vec![(sentence.to_owned(), None)];
        match self {
            Self::Nothing => Vec::new(),
            Self::Apply => alone("Apply it."),
            Self::DoNot => alone("Do not apply it."),
            Self::Open => alone(
                "Apply it only where its other cluster is known: inspect it with --home or --kubeconfig there.",
            ),
            Self::Compare(all) => {
                let all = all.iter().map(|compare| {
                    let sentence = format!(
                        "Before you apply it, compare {} with {}'s administrator, by phone:",
                        compare.what, compare.cluster
                    );
                    (sentence, Some(&compare.fingerprint))
                });
                all.collect()
            }
        }
    }

    /// The verdict in a format for programs.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Apply => json!({ "apply": "yes" }),
            Self::DoNot => json!({ "apply": "no" }),
            Self::Open => json!({ "apply": "unknown" }),
            Self::Compare(all) => {
                let all = all.iter().map(|compare| {
                    json!({
                        "what": compare.what,
                        "cluster": compare.cluster,
                        "fingerprint": compare.fingerprint.to_string(),
                    })
                });
                json!({ "apply": "after-comparison", "compare": all.collect::<Vec<_>>() })
            }
        }
    }
}
