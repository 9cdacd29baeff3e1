//! The errors of the library in sentences.

use liqo_auth::error::Error;

/// An error as one paragraph: its code and rule, and the advice.
pub fn paragraph(error: &Error) -> String {
    format!("{}. {}", with_code(error), error.advice())
}

/// An error, with its code and the rule that is broken.
pub fn with_code(error: &Error) -> String {
    match error.rule() {
        None => format!("{error} ({})", error.code()),
        Some(rule) => format!("{error} ({}, {rule})", error.code()),
    }
}
