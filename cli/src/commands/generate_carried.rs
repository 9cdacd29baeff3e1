//! `generate resourceslice` and `generate renew`: a file in place of Liqo's crd-replicator.
//! A consumer gets the replica for the provider, and a provider the answer to a replica.

use liqo_auth::{
    machine::{Effect, View, replication},
    model::{ClusterId, Kind, Metadata, Namespace, Object, ObjectRef, names},
};

use crate::{
    arguments::GenerateCarried,
    context::Context,
    failure::{Failure, Result},
    home::{Home, SecretValue, Use, replace_status},
    output::{escaped, program},
};

pub(super) fn run(context: &Context, kind: Kind, arguments: &GenerateCarried) -> Result<()> {
    let (name, peer) = (arguments.name.as_str(), &arguments.remote_cluster_id);
    let home = context.open(Use::Read)?;
    let of_peer = |metadata: &Metadata| {
        replication::is_shared_with(metadata, peer) || replication::is_replica_of(metadata, peer)
    };
    let found = home.objects().find(|object| {
        let id = object.id();
        id.kind == kind && id.name == name && of_peer(object.metadata())
    });
    let found = found.ok_or_else(|| {
        Failure::waiting(format!(
            "there is no {} {} of {peer} in {}",
            kind.as_str(),
            escaped(name),
            home.site()
        ))
    })?;
    let (value, command) = if replication::is_replica_of(found.metadata(), peer) {
        let at_consumer = names::tenant_namespace(home.cluster_id());
        (answer(&home, &found.id())?, replace_status(&at_consumer))
    } else {
        let replica = replica(&home, peer, &found.id())?;
        (replica, "kubectl apply -f -".to_owned())
    };
    context.made(&home, &value, arguments.output)?;
    context.printer.message(&format!(
        "{peer} takes it with: {command}\nOr, in place of kubectl, with: {} apply -f -",
        program()
    ));
    Ok(())
}

/// The object as the replicator makes it at the provider.
fn replica(home: &Home, provider: &ClusterId, original: &ObjectRef) -> Result<SecretValue> {
    let mut namespace = Namespace::for_tenant(home.cluster_id());
    let settings = home.settings.peers.get(provider);
    if let Some(other) = settings.and_then(|peer| peer.remote_tenant_namespace.as_ref()) {
        namespace.metadata.name = other.to_string();
    }
    let at_provider: [Object; 1] = [namespace.into()];
    let step = replication::to_provider(
        &home.view(provider),
        &View::of(home.cluster_id(), &at_provider),
    );
    let step = step.map_err(|error| Failure::of(&home.site().to_string(), &error))?;
    let made = step.effects.into_iter().find_map(|effect| match effect {
        Effect::Create(object) => {
            let id = object.id();
            (id.kind == original.kind && id.name == original.name).then_some(object)
        }
        _ => None,
    });
    let made = made.ok_or_else(|| {
        Failure::waiting(format!(
            "{original} is being deleted, and no longer carried"
        ))
    })?;
    Ok(SecretValue::new(made.to_value()))
}

/// The object with the provider's status. It has no namespace, since it is in another one
/// on each side.
fn answer(home: &Home, replica: &ObjectRef) -> Result<SecretValue> {
    let value = home.value(replica).map(SecretValue::portable);
    let mut value = value.ok_or_else(|| Failure::at_odds(format!("{replica} cannot be read")))?;
    if value.get("status").is_none() {
        return Err(Failure::waiting(format!(
            "{} has not answered {replica} yet",
            home.site()
        )));
    }
    value.remove(&["metadata", "namespace"]);
    Ok(value)
}
