//! The last line of an inspection: whether to apply what was inspected.

use serde_json::{Value, json};

use super::report::{Compare, Report};
use crate::output::Printer;

/// What a person does with the inspected files.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There is nothing to apply.
    Nothing,
    Apply,
    /// Something is wrong.
    DoNot,
    /// First, these fingerprints are compared.
    Compare(Vec<Compare>),
    /// Something is not verified that no fingerprint can settle.
    Open,
}

impl Verdict {
    pub(super) fn of(reports: &[Report]) -> Self {
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

    /// Fingerprints have lines of their own, to compare and to copy.
    pub(super) fn to_text(&self, printer: Printer) -> Option<String> {
        Some(match self {
            Self::Nothing => return None,
            Self::Apply => printer.prose("Apply it."),
            Self::DoNot => printer.prose("Do not apply it."),
            Self::Open => printer.prose(
                "Apply it only where its other cluster is known: inspect it with --home or --kubeconfig there.",
            ),
            Self::Compare(all) => all
                .iter()
                .map(|compare| {
                    let before = printer.prose(&format!(
                        "Before you apply it, compare {} with {}'s administrator, by phone:",
                        compare.what, compare.cluster
                    ));
                    format!("{before}{}\n", compare.fingerprint)
                })
                .collect(),
        })
    }

    pub(super) fn to_json(&self) -> Value {
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
