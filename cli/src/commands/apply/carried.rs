//! What Liqo's replicator carries between two clusters, carried by a person:
//! slices and renewals on their way to the provider, and the answers back.

use liqo_auth::{
    error::Error,
    machine::{Step, View, replication},
    model::{ClusterId, Kind, Namespace, Object, ObjectRef, Renew, Resource, ResourceSlice, names},
};

use super::Received;
use crate::{
    commands::{Context, get},
    consumer_side::ConsumerSide,
    failure::{Failure, Result},
    home::Home,
    output::escaped,
    pair::binds,
    provider_side::ProviderSide,
};

/// Which way an object goes, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// This home is its provider's: it is stored as the replica.
    ToProvider,
    /// This home is its consumer's: its status is taken.
    ToConsumer,
}

/// The other cluster, and which way the object goes.
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
            "{id}: it does not say who is {field}: {error}. Apply it as `get -o yaml` prints it."
        ))
    })?;
    Ok((peer, way))
}

/// Takes an object in memory, if the library has nothing against it.
pub(super) fn receive(
    context: &Context,
    home: &mut Home,
    (peer, way): &(ClusterId, Way),
    object: &Received,
    subject: &str,
) -> Result<()> {
    let own = home.cluster_id().clone();
    let (kind, name) = object.kind_and_name();
    // The network would carry it with the rights that the peer has here.
    if *way == Way::ToProvider && !binds(home, peer) {
        return Err(Failure::waiting(format!(
            "{subject}: {peer} has no rights in {}. Authenticate it first, or uncordon it.",
            home.path().display()
        )));
    }
    let carried = moved(object, *way, &own);
    // The other side's view, with nothing in it but this.
    let other: [Object; 2] = [Namespace::for_tenant(&own).into(), carried];
    let others_view = View::of(&own, &other);
    let before = refusals(context, home, peer, *way)?;
    let step = {
        let own_view = home.view(peer);
        let step = match way {
            Way::ToProvider => replication::to_provider(&others_view, &own_view),
            Way::ToConsumer => replication::to_consumer(&own_view, &others_view),
        };
        step.map_err(|error| Failure::of(subject, &error))?
    };
    // Only this one came: that others did not says nothing about them.
    let about = |id: &ObjectRef| id.kind == kind && id.name == name;
    let mut only = Step::default();
    only.effects = step.effects;
    only.effects.retain(|effect| about(&effect.id()));
    if *way == Way::ToConsumer && !is_there(home, kind, &name) {
        return Err(Failure::waiting(format!(
            "{subject}: there is no {kind} {} in {} that it could answer",
            escaped(&name),
            home.path().display()
        )));
    }
    home.carry_out(&only, context.clock.now()?)?;
    let after = refusals(context, home, peer, *way)?;
    match after.into_iter().find(|error| !before.contains(error)) {
        Some(error) => Err(Failure::of(subject, &error)),
        None => Ok(()),
    }
}

/// Goes on with what was taken, and says what came of it.
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
    let plural = format!("{}s", kind.as_str().to_lowercase());
    let singular = kind.as_str().to_lowercase();
    context
        .printer
        .result(&format!("{singular}.{}/{name} {verb}\n", names::API_GROUP))?;
    if *way == Way::ToProvider && kind == Kind::ResourceSlice {
        context.printer.message(&format!(
            "Hand the answer back: liqo-auth get {plural} {name} --home {} -o yaml",
            home.path().display()
        ));
    }
    Ok(())
}

/// Consumer and provider, as the object says.
fn parties(object: &Received) -> (String, String) {
    let label = |labels: &std::collections::BTreeMap<String, String>, key: &str| {
        labels.get(key).cloned().unwrap_or_default()
    };
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
        Received::Tenant(_) | Received::Identity(_) => Default::default(),
    }
}

/// The object as it lies on the other side.
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
    }
}

/// Puts it where the other side has it, and marks it as that does: an original
/// that is shared with this cluster, or a replica.
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

/// What is refused of what is in memory now.
fn refusals(context: &Context, home: &mut Home, peer: &ClusterId, way: Way) -> Result<Vec<Error>> {
    let step = match way {
        Way::ToProvider => ProviderSide::new(home, peer, &context.policy, context.clock)?.look()?,
        Way::ToConsumer => ConsumerSide::new(home, peer, &context.policy, context.clock)?.look()?,
    };
    Ok(step
        .refused
        .into_iter()
        .map(|refused| refused.error)
        .collect())
}
