//! From a request to its answer.

use serde::Deserialize;
use serde_json::json;

use crate::{failure::Failure, functions, json::written, machine, session};

/// A request: one field names the call. A call without fields is its name alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Request<'r> {
    #[serde(borrow)]
    Provider(Box<machine::ProviderRequest<'r>>),
    #[serde(borrow)]
    Consumer(Box<machine::ConsumerRequest<'r>>),
    #[serde(borrow)]
    Session(Box<session::SessionRequest<'r>>),
    CloseSession,
    VerifyTenant(functions::VerifyTenant),
    VerifyResourceSlice(functions::VerifyResourceSlice),
    VerifyRequest(functions::VerifyRequest),
    VerifySignature(functions::VerifySignature),
    CheckNonce(functions::CheckNonce),
    ReadPublicKey(functions::ReadPublicKey),
    MakeRequest(functions::MakeRequest),
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

fn value(request: Request<'_>) -> Result<Vec<u8>, Failure> {
    match request {
        Request::Provider(request) => machine::provider(*request),
        Request::Consumer(request) => machine::consumer(*request),
        Request::Session(request) => session::answer(*request),
        Request::CloseSession => Ok(session::close()),
        Request::VerifyTenant(request) => functions::verify_tenant(request),
        Request::VerifyResourceSlice(request) => functions::verify_resource_slice(request),
        Request::VerifyRequest(request) => functions::verify_request(request),
        Request::VerifySignature(request) => functions::verify_signature(request),
        Request::CheckNonce(request) => functions::check_nonce(request),
        Request::ReadPublicKey(request) => functions::read_public_key(request),
        Request::MakeRequest(request) => functions::make_request(request),
    }
}
