//! A person who sets a milder condition lifts the recorded one: the webhook adds the token of
//! the record to the Tenant.

use kube::core::admission::Operation;
use liqo_auth::{
    admission::tenant,
    model::{Tenant, names},
};
use serde_json::Value;

use super::{Request, read, room, surroundings::Surroundings, value};

/// The Tenant with the token, if this change lifts the recorded condition.
pub(super) async fn lifted(
    surroundings: &dyn Surroundings,
    request: &Request,
    new: &Tenant,
) -> anyhow::Result<Option<Tenant>> {
    if request.operation != Operation::Update || !is_of_a_person(request) || is_applied(request) {
        return Ok(None);
    }
    let (Ok(old), Ok(peer)) = (
        read::<Tenant>(&value(&request.old_object)?),
        new.spec.cluster_id.parse(),
    ) else {
        return Ok(None);
    };
    let Some(token) = tenant::lifted_by(&old, new) else {
        return Ok(None);
    };
    let record = surroundings.record(&peer).await?;
    let token = record.as_ref().and_then(|record| record.get(token));
    let Some(token) = token.and_then(|token| str::from_utf8(token).ok()) else {
        return Ok(None);
    };
    let mut lifted = new.clone();
    let (annotation, token) = (names::LIFT_CONDITION_ANNOTATION, token.to_owned());
    let annotations = &mut lifted.metadata.annotations;
    annotations.insert(annotation.to_owned(), token);
    Ok(Some(lifted))
}

/// Whether the user is neither a peer's nor a program of a cluster.
pub(crate) fn is_of_a_person(request: &Request) -> bool {
    let mut groups = request.user_info.groups.iter().flatten();
    let is_program = groups.any(|group| PROGRAMS.contains(&group.as_str()));
    !is_program && room::peer(&request.user_info).is_none()
}

/// Whether the change comes from a file that is applied, by the client or by the server. The
/// file may be older than the condition.
fn is_applied(request: &Request) -> bool {
    let options = request.options.as_ref().map(|options| &options.0);
    let manager = options.and_then(|options| options.get("fieldManager"));
    let Some(manager) = manager.and_then(Value::as_str) else {
        return false;
    };
    let object = request.object.as_ref();
    let managed = object.and_then(|object| object.metadata.managed_fields.as_ref());
    manager == CLIENT_SIDE_APPLY
        || managed.into_iter().flatten().any(|fields| {
            fields.manager.as_deref() == Some(manager)
                && fields.operation.as_deref() == Some("Apply")
        })
}

const PROGRAMS: [&str; 2] = ["system:serviceaccounts", "system:nodes"];
/// The manager of what `kubectl apply` changes, unless the server applies.
const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";
