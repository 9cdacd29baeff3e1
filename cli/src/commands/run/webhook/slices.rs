//! Resource slices: a user of a peer writes replicas alone, and who else writes a slice of this
//! cluster vouches for it.

use std::sync::Arc;

use axum::{body::Bytes, extract::State, response::Response};
use kube::core::{
    DynamicObject,
    admission::{AdmissionResponse, Operation},
};
use liqo_auth::{
    admission::resource_slice,
    model::{ResourceSlice, names},
};

use super::{
    Change, Request, Surroundings, answer, bound::names_as_peer, changed, room, unreadable, verdict,
};

pub(super) async fn validate_slice(
    State(surroundings): State<Arc<dyn Surroundings>>,
    body: Bytes,
) -> Response {
    answer(&body, async |request: &Request| {
        let allowed = AdmissionResponse::from(request);
        let is_replica = is_about_a_replica(request);
        if !is_replica && is_of_a_peer(surroundings.as_ref(), request).await? {
            return Ok(allowed.deny(OF_A_PEER));
        }
        let groups = request.user_info.groups.iter().flatten();
        let groups: Vec<&str> = groups.map(String::as_str).collect();
        let (new, old) = match changed::<ResourceSlice>(request)? {
            Change::Free => return Ok(allowed),
            Change::Unreadable(reason) => return Ok(unreadable(request, "new", &reason)),
            Change::Created(new) => (new, None),
            Change::Updated { old: Ok(old), new } => (new, Some(old)),
            Change::Updated {
                old: Err(reason),
                new,
            } => {
                // The rules compare the two objects only if a control plane changes them.
                if groups.contains(&names::CONTROL_PLANE_ORGANIZATION) {
                    return Ok(unreadable(request, "stored", &reason));
                }
                return Ok(verdict(
                    request,
                    resource_slice::update(&new, &new, &groups),
                ));
            }
        };
        let judged = match &old {
            Some(old) => resource_slice::update(old, &new, &groups),
            None => {
                let others = surroundings.slices_named(&new.metadata.name).await?;
                let others: Vec<&ResourceSlice> = others.iter().collect();
                resource_slice::create(&new, &others)
            }
        };
        if judged.is_ok() && !is_replica && !request.dry_run {
            vouch(surroundings.as_ref(), new, old).await?;
        }
        Ok(verdict(request, judged))
    })
    .await
}

/// Whether a user of a peer makes the change, by Liqo's group or by a binding in its tenant
/// namespace.
async fn is_of_a_peer(surroundings: &dyn Surroundings, request: &Request) -> anyhow::Result<bool> {
    let user = &request.user_info;
    if room::peer(user).is_some() {
        return Ok(true);
    }
    let objects = [&request.object, &request.old_object];
    let mut objects = objects.into_iter().flatten();
    let namespace = objects.find_map(|object| object.metadata.namespace.as_deref());
    let Some(namespace) = namespace else {
        return Ok(false);
    };
    let bindings = surroundings.bindings(namespace).await?;
    Ok(names_as_peer(&bindings, user))
}

/// Whether the change makes, changes or deletes a replica, and nothing else of it. A request to
/// delete a collection is reviewed for each object, and names none.
fn is_about_a_replica(request: &Request) -> bool {
    let is_replica = |object: &DynamicObject| {
        let labels = object.metadata.labels.iter();
        let label = labels
            .flatten()
            .find(|(name, _)| *name == names::REPLICATED_LABEL);
        label.is_some_and(|(_, value)| value == names::TRUE)
    };
    let (new, old) = (request.object.as_ref(), request.old_object.as_ref());
    let has_all = match request.operation {
        Operation::Create => new.is_some(),
        Operation::Update => new.is_some() && old.is_some(),
        Operation::Delete | Operation::Connect => old.is_some(),
    };
    has_all && [new, old].into_iter().flatten().all(is_replica)
}

/// Has the consumer's side accept a slice of this cluster, as it is now.
async fn vouch(
    surroundings: &dyn Surroundings,
    new: ResourceSlice,
    old: Option<ResourceSlice>,
) -> anyhow::Result<()> {
    if old.as_ref().is_some_and(|old| asks_the_same(old, &new)) {
        return Ok(());
    }
    let provider = new
        .metadata
        .labels
        .get(names::REPLICATION_DESTINATION_LABEL);
    let Some(provider) = provider.and_then(|provider| provider.parse().ok()) else {
        return Ok(());
    };
    let (old, new) = (old.map(Into::into), new.into());
    surroundings.vouch(&provider, old.as_ref(), &new).await
}

/// Whether a change leaves what the provider is asked for. The controllers change the rest, and
/// an order would wait until they have done so.
fn asks_the_same(old: &ResourceSlice, new: &ResourceSlice) -> bool {
    old.spec.class == new.spec.class && old.spec.resources == new.spec.resources
}

const OF_A_PEER: &str = "a peer writes replicas of its own slices alone";
