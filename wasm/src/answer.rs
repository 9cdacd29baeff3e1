//! From a request to its answer.

use liqo_auth::{
    Error,
    error::{Fault, PeerMisbehaved},
};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use crate::{functions, machine};

/// A request: one field names the call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Request {
    Provider(Box<machine::ProviderRequest>),
    Consumer(Box<machine::ConsumerRequest>),
    VerifyTenant(functions::VerifyTenant),
    VerifyResourceSlice(functions::VerifyResourceSlice),
    VerifyRequest(functions::VerifyRequest),
    VerifySignature(functions::VerifySignature),
    CheckNonce(functions::CheckNonce),
    ReadPublicKey(functions::ReadPublicKey),
    MakeRequest(functions::MakeRequest),
}

/// Why there is no value.
pub(crate) enum Failure {
    /// The library's own error.
    Library(Box<Error>),
    /// A part of the request does not have its form. The text shows no secret.
    Form(String),
}

/// The answer to a request, as JSON in UTF-8.
pub fn answer(request: &[u8]) -> Vec<u8> {
    let value = serde_json::from_slice(request)
        .map_err(|error| Failure::Form(error.to_string()))
        .and_then(value);
    match value {
        Ok(value) => [br#"{"ok":"#, &*value, b"}"].concat(),
        Err(failure) => written(&json!({ "error": failure })),
    }
}

fn value(request: Request) -> Result<Vec<u8>, Failure> {
    match request {
        Request::Provider(request) => machine::provider(*request),
        Request::Consumer(request) => machine::consumer(*request),
        Request::VerifyTenant(request) => functions::verify_tenant(request),
        Request::VerifyResourceSlice(request) => functions::verify_resource_slice(request),
        Request::VerifyRequest(request) => functions::verify_request(request),
        Request::VerifySignature(request) => functions::verify_signature(request),
        Request::CheckNonce(request) => functions::check_nonce(request),
        Request::ReadPublicKey(request) => functions::read_public_key(request),
        Request::MakeRequest(request) => functions::make_request(request),
    }
}

/// The value as JSON. Values of this crate always have that form.
pub(crate) fn written(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// JSON that is read later.
pub(crate) type Raw = Box<RawValue>;

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
        }
    }
}
