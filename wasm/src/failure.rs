//! Why a request has no value.

use liqo_auth::{
    Error,
    error::{Fault, PeerMisbehaved},
    machine::drive::Stopped,
};
use serde::Serialize;
use serde_json::json;

/// Why there is no value.
pub(crate) enum Failure {
    /// The library's own error.
    Library(Box<Error>),
    /// A part of the request does not have its form. The text does not show a secret.
    Form(String),
    /// A run ends before its goal.
    Stopped(Stopped),
}

impl Failure {
    /// The peer sent a part of a message that breaks a rule.
    pub(crate) fn of_peer(fault: PeerMisbehaved) -> Self {
        Fault::from(fault).into()
    }

    /// A part of the request cannot be read.
    pub(crate) fn of_part(part: &str, error: impl core::fmt::Display) -> Self {
        Self::Form(format!("{part}: {error}"))
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Error::from(fault).into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(Box::new(error))
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl Serialize for Failure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Library(error) => error.serialize(serializer),
            Self::Form(message) => json!({
                "code": "request-form",
                "fault": "ApiMisuse",
                "message": message,
                "advice": "Use a Go package and a module of the same version.",
                "disposition": "giveUp",
            })
            .serialize(serializer),
            Self::Stopped(stopped) => json!({
                "code": match stopped {
                    Stopped::Overtaken(_) => "overtaken",
                    _ => "restless",
                },
                "fault": "Local",
                "message": stopped.to_string(),
                "advice": "Look for another program that writes the same objects.",
                "disposition": "retry",
            })
            .serialize(serializer),
        }
    }
}
