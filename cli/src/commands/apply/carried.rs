//! Applies slices and renewals that a person carries to the provider, and the
//! answers that a person carries back. Between two clusters, Liqo's replicator
//! carries them.

use liqo_auth::{
    Policy,
    error::Error,
    machine::{Step, View, replication},
    model::{
        ClusterId, Kind, Namespace, Object, ObjectRef, Renew, Resource, ResourceSlice, TextMap,
        names,
    },
};

use super::received::Received;
use crate::{
    commands::get,
    context::Context,
    environment::Clock,
    failure::{Failure, Result},
    home::Home,
    output::{escaped, program},
    peering::{consumer_side::ConsumerSide, pair::binds, provider_side::ProviderSide},
    remedies::{Role, way_out},
};

/// The direction of an object, according to its own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// This home is the provider's. The object is stored as a replica.
    ToProvider,
    /// This home is the consumer's. The object's status is taken over.
    ToConsumer,
}

/// The other cluster, and the direction of the object.
pub(super) fn way(home: &Home, object: &Received) -> Result<(ClusterId, Way)> {
    let (consumer, provider) = parties(object);
    let is_own = |id: &str| id == home.cluster_id().as_str();
    let (peer, way, field) = if is_own(&consumer) {
        (provider, Way::ToConsumer, "the provider")
    } else {
        (consumer, Way::ToProvider, "the consumer")
    };
    let peer = peer.parse().map_err(|error| {
        let (kind, name) = object.kind_and_name();
        let id = ObjectRef::new(kind, "", name);
        super::refusal(format!(
            "{id}: it does not name {field}: {error}. Apply it as `get -o yaml` prints it."
        ))
    })?;
    Ok((peer, way))
}

/// Receives an object in memory, if the library accepts it.
pub(super) fn receive(
    context: &Context,
    home: &mut Home,
    (peer, way): &(ClusterId, Way),
    object: &Received,
    subject: &str,
) -> Result<()> {
    let own = home.cluster_id().clone();
    let (kind, name) = object.kind_and_name();
    // Without these rights, the peer's replicator could not write the object here.
    if *way == Way::ToProvider && !binds(home, peer) {
        return Err(Failure::waiting(format!(
            "{subject}: {peer} has no rights in {}. Authenticate it first, or uncordon it.",
            home.site()
        )));
    }
    let carried = moved(object, *way, &own);
    // A view of the other side that contains only this object.
    let other: [Object; 2] = [Namespace::for_tenant(&own).into(), carried];
    let others_view = View::of(&own, &other);
    // What is refused before and after is the same error only at the same time.
    let clock = context.clock.stopped()?;
    let before = refusals(&context.policy, clock, home, peer, *way)?;
    let step = {
        let own_view = home.view(peer);
        let step = match way {
            Way::ToProvider => replication::to_provider(&others_view, &own_view),
            Way::ToConsumer => replication::to_consumer(&own_view, &others_view),
        };
        step.map_err(|error| Failure::of(subject, &error))?
    };
    // Keep only the effects on this object. Other objects are absent from the view,
    // but not deleted on the other side.
    let about = |id: &ObjectRef| id.kind == kind && id.name == name;
    let mut only = Step::default();
    only.effects = step.effects;
    only.effects.retain(|effect| about(&effect.id()));
    if *way == Way::ToConsumer && !is_there(home, kind, &name) {
        return Err(Failure::waiting(format!(
            "{subject}: it answers the {kind} {}, which does not exist in {}",
            escaped(&name),
            home.site()
        )));
    }
    let now = clock.now()?;
    let after = home.rehearse(|home| {
        home.carry_out(&only, now)?;
        refusals(&context.policy, clock, home, peer, *way)
    })?;
    match after.into_iter().find(|error| !before.contains(error)) {
        Some(error) => {
            let role = match way {
                Way::ToProvider => Role::Consumer,
                Way::ToConsumer => Role::Provider,
            };
            let way_out = way_out(home, peer, role, &error);
            Err(Failure::with_way_out(subject, &error, &way_out))
        }
        None => home.carry_out(&only, now),
    }
}

/// Continues with an object that was received, and prints the result.
pub(super) fn settle(
    context: &Context,
    home: &mut Home,
    (peer, way): &(ClusterId, Way),
    (kind, name): (Kind, &str),
    verb: &str,
) -> Result<()> {
    match way {
        Way::ToProvider => {
            ProviderSide::new(home, peer, &context.policy, context.clock)?.settle()?;
        }
        Way::ToConsumer => {
            ConsumerSide::new(home, peer, &context.policy, context.clock)?.settle()?;
        }
    }
    let singular = kind.as_str().to_lowercase();
    context
        .printer
        .result(&format!("{singular}.{}/{name} {verb}\n", names::API_GROUP))?;
    if *way == Way::ToProvider {
        context.printer.message(&format!(
            "Send the answer back: {} generate {singular} {name} {} --remote-cluster-id {peer}",
            program(),
            home.site().options()
        ));
    }
    Ok(())
}

/// The consumer and the provider that the object names.
fn parties(object: &Received) -> (String, String) {
    let label = |labels: &TextMap, key: &str| labels.get(key).cloned().unwrap_or_default();
    match object {
        Received::ResourceSlice(slice) => {
            let labels = &slice.metadata.labels;
            let said = |id: &Option<String>| id.clone().unwrap_or_default();
            let provider = match said(&slice.spec.provider_cluster_id) {
                none if none.is_empty() => label(labels, names::REPLICATION_DESTINATION_LABEL),
                provider => provider,
            };
            (said(&slice.spec.consumer_cluster_id), provider)
        }
        Received::Renew(renew) => (
            renew.spec.consumer_cluster_id.clone(),
            label(&renew.metadata.labels, names::REPLICATION_DESTINATION_LABEL),
        ),
        Received::Tenant(_) | Received::Identity(_) | Received::Request(_) => Default::default(),
    }
}

/// The object as it is stored on the other side.
fn moved(object: &Received, way: Way, own: &ClusterId) -> Object {
    let namespace = names::tenant_namespace(own);
    match object {
        Received::ResourceSlice(slice) => {
            let mut slice = ResourceSlice::clone(slice);
            place(&mut slice, namespace, way, own);
            slice.into()
        }
        Received::Renew(renew) => {
            let mut renew = Renew::clone(renew);
            place(&mut renew, namespace, way, own);
            renew.into()
        }
        Received::Tenant(tenant) => Object::from((**tenant).clone()),
        Received::Identity(identity) => Object::from((**identity).clone()),
        Received::Request(request) => Object::from((**request).clone()),
    }
}

/// Sets the namespace and the labels that the object has on the other side: those of
/// an original that is shared with this cluster, or those of a replica.
fn place<K: Resource>(object: &mut K, namespace: String, way: Way, own: &ClusterId) {
    let metadata = object.metadata_mut();
    metadata.namespace = namespace;
    metadata.deletion_timestamp = None;
    let marks = match way {
        Way::ToProvider => [
            (names::REPLICATION_LABEL, names::TRUE.to_owned()),
            (names::REPLICATION_DESTINATION_LABEL, own.to_string()),
        ],
        Way::ToConsumer => [
            (names::REPLICATED_LABEL, names::TRUE.to_owned()),
            (names::REPLICATION_ORIGIN_LABEL, own.to_string()),
        ],
    };
    for (key, value) in marks {
        metadata.labels.insert(key.to_owned(), value);
    }
}

fn is_there(home: &Home, kind: Kind, name: &str) -> bool {
    get::stored(home, &(kind, name.to_owned())).is_some()
}

/// The refusals of the objects that are in memory now.
fn refusals(
    policy: &Policy,
    clock: Clock,
    home: &mut Home,
    peer: &ClusterId,
    way: Way,
) -> Result<Vec<Error>> {
    let step = match way {
        Way::ToProvider => ProviderSide::new(home, peer, policy, clock)?.look()?,
        Way::ToConsumer => ConsumerSide::new(home, peer, policy, clock)?.look()?,
    };
    Ok(step
        .refused
        .into_iter()
        .map(|refused| refused.error)
        .collect())
}
