//! From a request to its answer.

use serde::Deserialize;
use serde_json::{Deserializer, json};

use crate::{
    failure::Failure,
    functions,
    json::{Value, written},
    machine, objects, session,
};

/// A request: one field names the call. A call without fields is its name alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Request<'r> {
    #[serde(borrow)]
    Provider(Box<machine::ProviderRequest<'r>>),
    #[serde(borrow)]
    Consumer(Box<machine::ConsumerRequest<'r>>),
    Session(Box<session::SessionRequest>),
    CloseSession,
    Limits,
    VerifyTenant(functions::VerifyTenant),
    VerifyResourceSlice(functions::VerifyResourceSlice),
    VerifyRequest(functions::VerifyRequest),
    VerifySignature(functions::VerifySignature),
    CheckNonce(functions::CheckNonce),
    ReadPublicKey(functions::ReadPublicKey),
    MakeRequest(functions::MakeRequest),
}

/// The answer to a request, as JSON in UTF-8. Bytes that follow it come after a newline.
pub fn answer(request: &[u8]) -> Vec<u8> {
    match read(request).and_then(|(request, following)| value(request, following)) {
        Ok(Value { json, following }) => {
            let newline: &[u8] = if following.is_empty() { b"" } else { b"\n" };
            [br#"{"ok":"#, &*json, b"}", newline, &following].concat()
        }
        Err(failure) => written(&json!({ "error": failure })),
    }
}

/// Reads a request. Returns also the bytes that follow it.
fn read(request: &[u8]) -> Result<(Request<'_>, &[u8]), Failure> {
    let mut values = Deserializer::from_slice(request).into_iter();
    let read = values.next().unwrap_or_else(|| serde_json::from_str(""));
    let read = read.map_err(|error| Failure::Form(error.to_string()))?;
    let following = request.get(values.byte_offset()..).unwrap_or_default();
    Ok((read, following.trim_ascii_start()))
}

fn value(request: Request<'_>, following: &[u8]) -> Result<Value, Failure> {
    let json = match request {
        Request::Session(request) => return session::answer(*request, following),
        _ if !following.is_empty() => {
            return Err(Failure::Form("found bytes after the request".to_owned()));
        }
        Request::Provider(request) => machine::provider(*request),
        Request::Consumer(request) => machine::consumer(*request),
        Request::CloseSession => Ok(session::close()),
        Request::Limits => Ok(objects::limits()),
        Request::VerifyTenant(request) => functions::verify_tenant(request),
        Request::VerifyResourceSlice(request) => functions::verify_resource_slice(request),
        Request::VerifyRequest(request) => functions::verify_request(request),
        Request::VerifySignature(request) => functions::verify_signature(request),
        Request::CheckNonce(request) => functions::check_nonce(request),
        Request::ReadPublicKey(request) => functions::read_public_key(request),
        Request::MakeRequest(request) => functions::make_request(request),
    };
    json.map(Value::from)
}
