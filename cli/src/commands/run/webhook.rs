//! The admission webhook: the library's verdicts about Tenants and resource slices, with
//! the paths and the messages of Liqo's own webhook.

mod bound;
mod lift;
pub(super) mod room;
mod slices;
mod surroundings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use anyhow::Context;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::post,
};
use kube::core::{
    DynamicObject,
    admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation},
};
use liqo_auth::{
    admission::{Denial, tenant},
    model::{Object, Resource, Tenant},
};
use serde_json::Value;

pub(super) use self::{
    lift::is_of_a_person,
    surroundings::{OnCluster, Surroundings},
};
use self::{
    room::{Room, within},
    slices::validate_slice,
};
use super::connections::Connections;

pub(super) type Request = AdmissionRequest<DynamicObject>;

/// The answers to an API server with these objects.
pub(super) fn router(surroundings: impl Surroundings) -> Router {
    let surroundings: Arc<dyn Surroundings> = Arc::new(surroundings);
    Router::new()
        .route("/mutate/tenants", post(mutate_tenant))
        .route("/validate/tenants", post(validate_tenant))
        .route("/validate/resourceslices", post(validate_slice))
        .route_layer(from_fn_with_state(Arc::new(Room::default()), within))
        .with_state(surroundings)
}

/// All connections are those of one client, the API server.
pub(super) fn connections() -> Connections {
    Connections {
        at_once: 64,
        of_source: None,
        stay_open: true,
    }
}

async fn mutate_tenant(State(surroundings): State<Arc<dyn Surroundings>>, body: Bytes) -> Response {
    answer(&body, async |request: &Request| {
        let allowed = AdmissionResponse::from(request);
        let Some(object) = &request.object else {
            return Ok(allowed);
        };
        let value = serde_json::to_value(object).context("the Tenant")?;
        let Ok(new) = read::<Tenant>(&self::value(&request.object)?) else {
            // The validation refuses it.
            return Ok(allowed);
        };
        let lifted = lift::lifted(surroundings.as_ref(), request, &new).await?;
        let mutated = tenant::defaulted(lifted.as_ref().unwrap_or(&new));
        let patch = json_patch::diff(&value, &with_fields_of(value.clone(), mutated));
        allowed
            .with_patch(patch)
            .context("the change of the Tenant")
    })
    .await
}

async fn validate_tenant(
    State(surroundings): State<Arc<dyn Surroundings>>,
    body: Bytes,
) -> Response {
    answer(&body, async |request: &Request| {
        let (new, old) = match changed::<Tenant>(request)? {
            Change::Free => return Ok(AdmissionResponse::from(request)),
            Change::Unreadable(reason) => return Ok(unreadable(request, "new", &reason)),
            Change::Created(new) => (new, None),
            Change::Updated { old: Ok(old), new } => (new, Some(old)),
            Change::Updated {
                old: Err(reason), ..
            } => {
                return Ok(unreadable(request, "stored", &reason));
            }
        };
        let namespace = surroundings.namespace(&new.metadata.namespace).await?;
        let tenants = surroundings.tenants_beside(&new).await?;
        let tenants: Vec<&Tenant> = tenants.iter().collect();
        let around = tenant::Surroundings {
            namespace: namespace.as_ref(),
            tenants: &tenants,
        };
        Ok(verdict(
            request,
            match old {
                None => tenant::create(&new, &around),
                Some(old) => tenant::update(&old, &new, &around),
            },
        ))
    })
    .await
}

/// Reads a review, and writes what `judge` answers. Without an answer, the API server
/// refuses the change, since the webhook fails closed.
pub(super) async fn answer(
    body: &[u8],
    judge: impl AsyncFnOnce(&Request) -> anyhow::Result<AdmissionResponse>,
) -> Response {
    let review: Result<AdmissionReview<DynamicObject>, _> = serde_json::from_slice(body);
    let request: Option<Request> = review.ok().and_then(|review| review.try_into().ok());
    let Some(request) = request else {
        return no_review();
    };
    match judge(&request).await {
        Ok(response) => {
            if !response.allowed {
                let (object, user) = (&request.name, &request.user_info.username);
                let reason = &response.result.message;
                tracing::info!(kind = request.kind.kind, object, user, reason, "refused");
            }
            written(response)
        }
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "no verdict");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "no verdict: see the log\n",
            )
                .into_response()
        }
    }
}

fn written(response: AdmissionResponse) -> Response {
    match serde_json::to_string(&response.into_review()) {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn no_review() -> Response {
    (StatusCode::BAD_REQUEST, "this is not an AdmissionReview\n").into_response()
}

/// What a change is about, as far as it can be read.
enum Change<K> {
    /// Nothing has to be judged: a deletion, or a step of one.
    Free,
    Created(K),
    Updated {
        /// The stored object, or the reason why it cannot be read.
        old: Result<K, String>,
        new: K,
    },
    /// The new object cannot be read, and so it cannot be judged.
    Unreadable(String),
}

fn changed<K: Resource + Clone>(request: &Request) -> anyhow::Result<Change<K>> {
    let is_update = match request.operation {
        Operation::Create => false,
        Operation::Update => true,
        Operation::Delete | Operation::Connect => return Ok(Change::Free),
    };
    let (new, old) = (value(&request.object)?, value(&request.old_object)?);
    let read_new = read::<K>(&new);
    if !is_update {
        return Ok(read_new.map_or_else(Change::Unreadable, Change::Created));
    }
    let read_old = read::<K>(&old);
    if (read_new.is_err() || read_old.is_err()) && only_releases(&old, &new) {
        return Ok(Change::Free);
    }
    Ok(match read_new {
        Ok(new) => Change::Updated { old: read_old, new },
        Err(reason) => Change::Unreadable(reason),
    })
}

/// The object without the fields that an API server adds. They have many values, and say
/// nothing to the library.
pub(super) fn value(object: &Option<DynamicObject>) -> anyhow::Result<Value> {
    let mut object = object.clone();
    if let Some(object) = &mut object {
        object.metadata.managed_fields = None;
    }
    serde_json::to_value(object).context("the object")
}

fn read<K: Resource + Clone>(value: &Value) -> Result<K, String> {
    let object = Object::from_value(value.clone());
    match (K::from_object(&object), object.as_unreadable()) {
        (Some(found), _) => Ok(found.clone()),
        (None, Some(unreadable)) => Err(unreadable.reason.to_string()),
        (None, None) => Err(format!("found another kind, expected {}", K::KIND)),
    }
}

/// Whether a change takes nothing but finalizers from an object that is being deleted.
fn only_releases(old: &Value, new: &Value) -> bool {
    let finalizers = |value: &Value| -> Vec<Value> {
        let found = value.pointer("/metadata/finalizers");
        let found = found.and_then(Value::as_array);
        found.cloned().unwrap_or_default()
    };
    let rest = |value: &Value| {
        let mut value = value.clone();
        if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
            metadata.retain(|field, _| !CHANGED_BY_A_RELEASE.contains(&field.as_str()));
        }
        value
    };
    let before = finalizers(old);
    old.pointer("/metadata/deletionTimestamp").is_some()
        && finalizers(new).iter().all(|kept| before.contains(kept))
        && rest(old) == rest(new)
}

fn unreadable(request: &Request, which: &str, reason: &str) -> AdmissionResponse {
    let denied = AdmissionResponse::from(request);
    denied.deny(format!("the {which} object cannot be judged: {reason}"))
}

/// The Tenant with what a review may change, and with every field that the library does not
/// know.
fn with_fields_of(mut value: Value, mutated: Tenant) -> Value {
    let mutated = Object::from(mutated).to_value();
    for pointer in [
        "/metadata/annotations",
        "/metadata/labels",
        "/spec/authzPolicy",
        "/spec/tenantCondition",
    ] {
        let (above, field) = pointer.rsplit_once('/').unwrap_or_default();
        if let (Some(Value::Object(fields)), Some(set)) =
            (value.pointer_mut(above), mutated.pointer(pointer))
        {
            fields.insert(field.to_owned(), set.clone());
        }
    }
    value
}

fn verdict(request: &Request, verdict: Result<(), Denial>) -> AdmissionResponse {
    let allowed = AdmissionResponse::from(request);
    match verdict {
        Ok(()) => allowed,
        Err(denial) => {
            let mut denied = allowed.deny(&denial);
            denied.result.code = denial.rule.status_code();
            denied
        }
    }
}

const CHANGED_BY_A_RELEASE: [&str; 3] = ["finalizers", "generation", "resourceVersion"];
