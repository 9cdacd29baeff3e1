//! The admission webhook: the library's verdicts about Tenants and resource slices, with
//! the paths and the messages of Liqo's own webhook.

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
    response::{IntoResponse, Response},
    routing::post,
};
use kube::core::{
    DynamicObject,
    admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation},
};
use liqo_auth::{
    admission::{Denial, resource_slice, tenant},
    model::{Object, Resource, ResourceSlice, Tenant},
};
use serde_json::Value;

pub(super) use self::surroundings::OnCluster;
use self::surroundings::Surroundings;

type Request = AdmissionRequest<DynamicObject>;

/// The answers to an API server with these objects.
pub(super) fn router(surroundings: impl Surroundings) -> Router {
    let surroundings: Arc<dyn Surroundings> = Arc::new(surroundings);
    Router::new()
        .route("/mutate/tenants", post(mutate_tenant))
        .route("/validate/tenants", post(validate_tenant))
        .route("/validate/resourceslices", post(validate_slice))
        .with_state(surroundings)
}

async fn mutate_tenant(body: Bytes) -> Response {
    answer(&body, async |request: &Request| {
        let allowed = AdmissionResponse::from(request);
        let Some(object) = &request.object else {
            return Ok(allowed);
        };
        let value = serde_json::to_value(object).context("the Tenant")?;
        let Object::Tenant(new) = Object::from_value(value.clone()) else {
            // The API server refuses the form of it.
            return Ok(allowed);
        };
        let patch = json_patch::diff(&value, &with_defaults(value.clone(), &new));
        allowed.with_patch(patch).context("the defaults")
    })
    .await
}

async fn validate_tenant(
    State(surroundings): State<Arc<dyn Surroundings>>,
    body: Bytes,
) -> Response {
    answer(&body, async |request: &Request| {
        let Some((new, old)) = changed::<Tenant>(request) else {
            return Ok(AdmissionResponse::from(request));
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

async fn validate_slice(
    State(surroundings): State<Arc<dyn Surroundings>>,
    body: Bytes,
) -> Response {
    answer(&body, async |request: &Request| {
        let Some((new, old)) = changed::<ResourceSlice>(request) else {
            return Ok(AdmissionResponse::from(request));
        };
        let Some(old) = old else {
            let others = surroundings.slices_named(&new.metadata.name).await?;
            let others: Vec<&ResourceSlice> = others.iter().collect();
            return Ok(verdict(request, resource_slice::create(&new, &others)));
        };
        let groups = request.user_info.groups.iter().flatten();
        let groups: Vec<&str> = groups.map(String::as_str).collect();
        Ok(verdict(
            request,
            resource_slice::update(&old, &new, &groups),
        ))
    })
    .await
}

/// Reads a review, and writes what `judge` answers. Without an answer, the API server
/// refuses the change, since the webhook fails closed.
async fn answer(
    body: &[u8],
    judge: impl AsyncFnOnce(&Request) -> anyhow::Result<AdmissionResponse>,
) -> Response {
    let review: Result<AdmissionReview<DynamicObject>, _> = serde_json::from_slice(body);
    let request: Option<Request> = review.ok().and_then(|review| review.try_into().ok());
    let Some(request) = request else {
        return (StatusCode::BAD_REQUEST, "this is not an AdmissionReview\n").into_response();
    };
    match judge(&request).await {
        Ok(response) => {
            if !response.allowed {
                let (object, user) = (&request.name, &request.user_info.username);
                let reason = &response.result.message;
                tracing::info!(kind = request.kind.kind, object, user, reason, "refused");
            }
            match serde_json::to_string(&response.into_review()) {
                Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
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

/// The new object, and the one before a change. None if nothing has to be judged: a
/// deletion, or an object whose form the API server refuses.
fn changed<K: Resource + Clone>(request: &Request) -> Option<(K, Option<K>)> {
    let read = |object: &DynamicObject| {
        let object = Object::from_value(serde_json::to_value(object).ok()?);
        K::from_object(&object).cloned()
    };
    let new = read(request.object.as_ref()?)?;
    match request.operation {
        Operation::Create => Some((new, None)),
        Operation::Update => Some((new, Some(read(request.old_object.as_ref()?)?))),
        Operation::Delete | Operation::Connect => None,
    }
}

/// The Tenant with the defaults, and with every field that the library does not know.
fn with_defaults(mut value: Value, new: &Tenant) -> Value {
    let defaulted = Object::from(tenant::defaulted(new)).to_value();
    for pointer in [
        "/metadata/labels",
        "/spec/authzPolicy",
        "/spec/tenantCondition",
    ] {
        let (above, field) = pointer.rsplit_once('/').unwrap_or_default();
        if let (Some(Value::Object(fields)), Some(set)) =
            (value.pointer_mut(above), defaulted.pointer(pointer))
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
