use http::{Request, StatusCode, header::CONTENT_TYPE};
use kube::Client;
use liqo_auth::{
    machine::Effect,
    model::{Object, ObjectRef},
};
use serde_json::Value;

use crate::{Error, error::in_time};

/// The result of applying an [`Effect`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Applied {
    /// The object was written. The value is the written object.
    Written(Box<Object>),
    /// The object was deleted, or it waits for its finalizers.
    Deleted,
    /// The object has another version than the observed one. Look again.
    Conflict,
    /// An object of that name exists already. Fetch it, and look again.
    NameTaken,
    /// The object or its namespace does not exist. Look again.
    Missing,
}

/// Sends one effect to the API server.
///
/// A conflict is not an error: another controller or a person has written the object
/// first.
///
/// # Errors
/// [`Error::Request`] if the API server cannot be reached, or refuses for another
/// reason than those of [`Applied`]. [`Error::TimedOut`] if it does not answer.
/// [`Error::Library`] if the effect has no request ([`Effect::request`]).
pub async fn apply(client: &Client, effect: &Effect) -> Result<Applied, Error> {
    let request = effect.request()?;
    let method = request.method;
    let http = Request::builder()
        .method(method.as_str())
        .uri(request.path.as_str())
        .header(CONTENT_TYPE, request.content_type)
        .body(request.body.expose().to_vec())
        .map_err(|error| failed(effect, kube::Error::HttpError(error)))?;
    let answer = in_time(purpose(effect), client.request::<Value>(http)).await?;
    match (effect, answer) {
        (Effect::Delete { .. }, Ok(_)) => Ok(Applied::Deleted),
        (_, Ok(value)) => Ok(Applied::Written(Box::new(Object::from_value(value)))),
        (_, Err(kube::Error::Api(status))) => match StatusCode::from_u16(status.code) {
            Ok(StatusCode::NOT_FOUND) => Ok(Applied::Missing),
            Ok(StatusCode::CONFLICT) if status.is_already_exists() => Ok(Applied::NameTaken),
            Ok(StatusCode::CONFLICT) => Ok(Applied::Conflict),
            _ => Err(failed(effect, kube::Error::Api(status))),
        },
        (_, Err(error)) => Err(failed(effect, error)),
    }
}

fn failed(effect: &Effect, error: kube::Error) -> Error {
    Error::request(purpose(effect), error)
}

fn purpose(effect: &Effect) -> String {
    let id: ObjectRef = effect.id();
    let verb = match effect {
        Effect::Create(_) => "create",
        Effect::Replace { .. } => "replace",
        Effect::Patch { .. } => "patch",
        Effect::Delete { .. } => "delete",
    };
    format!("{verb} {id}")
}
