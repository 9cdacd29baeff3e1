//! `create`, `delete` and `get resourceslice`: a part of a provider's
//! resources.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use liqo_auth::{
    consumer::SliceOptions,
    machine::{Effect, replication},
    model::{
        ClusterId, Kind, Object, ObjectRef, Resource, ResourceSlice,
        ResourceSliceConditionStatus as Decided, ResourceSliceConditionType as Condition,
        ResourceSliceStatus, names,
    },
};

use super::homes::Homes;
use super::{listing, replicate};
use crate::{
    arguments::{CreateResourceSlice, DeleteResourceSlice, Format, List},
    context::Context,
    failure::{Code, Failure, Result},
    home::{Home, SecretValue, Use},
    output::{Side, Table, escaped, program},
    peering::{
        consumer_side::ConsumerSide,
        pair::Pair,
        provider_side::{ProviderSide, ProviderStand, end_of_trial, refused},
    },
    remedies::{Role, noticed},
};

pub(super) fn create(context: &Context, arguments: &CreateResourceSlice) -> Result<()> {
    let Homes {
        mut local,
        remote,
        peer,
    } = Homes::open(context, &arguments.remote)?;
    let name = arguments.name.as_str();
    let subject = format!("the slice {} is not requested", escaped(name));
    let options = options(arguments)?;
    if let Some(format) = arguments.output {
        return local.rehearse(|local| {
            let mut consumer = ConsumerSide::new(local, &peer, &context.policy, context.clock)?;
            let step = consumer.administer(&subject, |consumer, view, env| {
                consumer.request_slice(view, &options, env)
            })?;
            print(context, consumer.home, &step.effects, name, format)
        });
    }
    let mut consumer = ConsumerSide::new(&mut local, &peer, &context.policy, context.clock)?;
    consumer.administer(&subject, |consumer, view, env| {
        consumer.request_slice(view, &options, env)
    })?;
    consumer.settle()?;
    context.printer.info(Side::Only, "ResourceSlice created")?;
    let Some(mut remote) = remote else {
        // In a home, nobody carries the slice to the provider meanwhile.
        let is_carried = local.site().folder().is_none();
        if arguments.wait.unwrap_or(is_carried) && context.trial().is_none() {
            drop(local);
            return await_decision(context, &peer, name);
        }
        let send = how_to_send(&local, &peer, name);
        context
            .printer
            .message(&format!("It waits for {peer}. {send}"));
        return Ok(());
    };
    let stand = settle(context, &mut local, &mut remote)?;
    if let Some(end) = end_of_trial(&remote, local.cluster_id()) {
        context.printer.message(&end);
        return Ok(());
    }
    if !is_decided(&local, &peer, name)
        && let Some(why) = replicate::shut(context, &local, &remote, &stand)?
    {
        return Err(Failure::waiting(format!(
            "{peer} has not decided on the slice {name}: {why}"
        )));
    }
    tell(
        context,
        &local,
        name,
        remote.cluster_id(),
        &remote.site().options(),
    )
}

/// Waits until the provider has decided on a slice, and a replicator has carried the
/// answer here.
fn await_decision(context: &Context, peer: &ClusterId, name: &str) -> Result<()> {
    let end = Instant::now() + context.timeout();
    loop {
        let home = context.open(Use::Read)?;
        if is_decided(&home, peer, name) {
            return tell(context, &home, name, peer, "on the provider");
        }
        if Instant::now() >= end {
            let send = how_to_send(&home, peer, name);
            return Err(Failure::waiting(format!(
                "{peer} has not decided on the slice {name} within --timeout, and the request stays. See: {} status on the provider. {send}",
                program()
            )));
        }
        drop(home);
        thread::sleep(PAUSE);
    }
}

/// Whether the provider has decided on the request of a slice.
fn is_decided(home: &Home, peer: &ClusterId, name: &str) -> bool {
    of_peer(home, peer, name)
        .is_some_and(|slice| slice.status.condition(Condition::Authentication).is_some())
}

/// What a person does where nobody carries slices to the provider.
fn how_to_send(home: &Home, peer: &ClusterId, name: &str) -> String {
    format!(
        "If there is no replicator, send it to {peer}: {} generate resourceslice {name} {} --remote-cluster-id {peer}",
        program(),
        home.site().options()
    )
}

/// The pause between two looks for an answer.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) fn delete(context: &Context, arguments: &DeleteResourceSlice) -> Result<()> {
    let Homes {
        mut local,
        remote,
        peer,
    } = Homes::open(context, &arguments.remote)?;
    let name = arguments.name.as_str();
    let subject = format!("the slice {} is not deleted", escaped(name));
    let slice = stored_of_peer(&local, &peer, name).ok_or_else(|| absent(&local, name))?;
    if replication::is_replica_of(slice.metadata(), &peer) {
        // Without a replicator, the provider's administrator deletes the replica.
        let id = slice.id();
        local.delete(&id, context.clock.now()?)?;
        let mut provider = ProviderSide::new(&mut local, &peer, &context.policy, context.clock)?;
        if let ProviderStand::Refused(error) = provider.settle()? {
            return Err(refused(provider.home, &peer, &error));
        }
    } else {
        let mut consumer = ConsumerSide::new(&mut local, &peer, &context.policy, context.clock)?;
        consumer.administer(&subject, |consumer, view, _| {
            consumer.delete_slice(view, name)
        })?;
        consumer.settle()?;
        if let Some(mut remote) = remote {
            settle(context, &mut local, &mut remote)?;
        }
    }
    context.printer.result(&format!(
        "resourceslice.{} \"{}\" deleted\n",
        names::API_GROUP,
        escaped(name)
    ))
}

pub(super) fn get(context: &Context, list: &List) -> Result<()> {
    let home = context.open(Use::Read)?;
    listing::warn(context, &home);
    let slices: Vec<&ResourceSlice> = home
        .all::<ResourceSlice>()
        .filter(|slice| list.asks_for(&slice.metadata))
        .collect();
    if let Some(printed) = list.printed() {
        let ids = listing::ids(&slices);
        return listing::listed(context, &home, list, Kind::ResourceSlice, &ids, &printed);
    }
    let now = context.clock.now()?;
    // The printer columns of Liqo's CustomResourceDefinition.
    let mut table = Table::new(["NAMESPACE", "NAME", "AUTHENTICATION", "RESOURCES", "AGE"]);
    if list.is_wide() {
        table.add_titles(["CONSUMER", "PROVIDER", "CLASS"]);
    }
    for slice in slices {
        let metadata = &slice.metadata;
        table.row([
            metadata.namespace.clone(),
            metadata.name.clone(),
            decision(&slice.status, Condition::Authentication),
            decision(&slice.status, Condition::Resources),
            listing::age_of(metadata, now),
        ]);
        if list.is_wide() {
            let spec = &slice.spec;
            table.add_cells([
                spec.consumer_cluster_id.clone().unwrap_or_default(),
                spec.provider_cluster_id.clone().unwrap_or_default(),
                spec.class.clone(),
            ]);
        }
    }
    listing::print(context, &home, list, table, Kind::ResourceSlice)
}

/// The slice of that name between this home and a peer. Either side may be the
/// consumer.
pub(super) fn of_peer<'h>(
    home: &'h Home,
    peer: &ClusterId,
    name: &str,
) -> Option<&'h ResourceSlice> {
    home.all::<ResourceSlice>().find(|slice| {
        slice.metadata.name == name
            && (replication::is_shared_with(&slice.metadata, peer)
                || replication::is_replica_of(&slice.metadata, peer))
    })
}

/// The same as it is stored, readable or not.
fn stored_of_peer<'h>(home: &'h Home, peer: &ClusterId, name: &str) -> Option<&'h Object> {
    home.view(peer).objects().find(|object| {
        let (id, metadata) = (object.id(), object.metadata());
        id.kind == Kind::ResourceSlice
            && id.name == name
            && (replication::is_shared_with(metadata, peer)
                || replication::is_replica_of(metadata, peer)
                // The labels may be what cannot be read.
                || object.as_unreadable().is_some())
    })
}

pub(super) fn absent(home: &Home, name: &str) -> Failure {
    Failure::waiting(format!(
        "there is no ResourceSlice {} of that peer in {}",
        escaped(name),
        home.site()
    ))
}

/// A decision in one word. Empty without a decision.
fn decision(status: &ResourceSliceStatus, condition: Condition) -> String {
    status
        .condition(condition)
        .map_or_else(String::new, |condition| format!("{:?}", condition.status))
}

fn options(arguments: &CreateResourceSlice) -> Result<SliceOptions> {
    let amounts = [
        ("cpu", &arguments.cpu),
        ("memory", &arguments.memory),
        ("pods", &arguments.pods),
    ];
    let amounts = amounts
        .into_iter()
        .filter_map(|(name, amount)| Some((name.to_owned(), amount.clone()?)));
    let mut resources = BTreeMap::new();
    for (name, amount) in amounts.chain(arguments.resources.clone()) {
        if let Some(other) = resources.insert(name.clone(), amount.clone())
            && other != amount
        {
            return Err(Failure::usage(format!(
                "{name} is requested twice, as {other} and as {amount}"
            )));
        }
    }
    Ok(SliceOptions {
        class: arguments.class.clone(),
        resources,
        create_virtual_node: !arguments.no_virtual_node,
        ..SliceOptions::named(&arguments.name)
    })
}

/// Prints the slice that would be created. Nothing is saved.
fn print(
    context: &Context,
    home: &Home,
    effects: &[Effect],
    name: &str,
    format: Format,
) -> Result<()> {
    let created = effects.iter().find_map(|effect| match effect {
        Effect::Create(object @ Object::ResourceSlice(_)) => {
            Some(SecretValue::new(object.to_value()))
        }
        _ => None,
    });
    let stored = || {
        let slice = home
            .all::<ResourceSlice>()
            .find(|slice| slice.metadata.name == name)?;
        home.value(&slice.id())
    };
    match created.or_else(stored) {
        Some(value) => context.manifest(&value.portable(), format),
        None => Err(absent(home, name)),
    }
}

fn settle(context: &Context, local: &mut Home, remote: &mut Home) -> Result<ProviderStand> {
    let rest = Pair::new(local, remote, &context.policy, context.clock)?.settle()?;
    for notice in &rest.notices {
        let told = noticed(local, remote.cluster_id(), Role::Provider, notice);
        context.printer.warning(&told);
    }
    match rest.provider {
        ProviderStand::Refused(error) => Err(refused(remote, local.cluster_id(), &error)),
        stand => Ok(stand),
    }
}

/// Prints the result in liqoctl's words.
fn tell(
    context: &Context,
    local: &Home,
    name: &str,
    remote: &ClusterId,
    remote_options: &str,
) -> Result<()> {
    let slice = of_peer(local, remote, name).ok_or_else(|| absent(local, name))?;
    let status = &slice.status;
    match status.condition(Condition::Authentication) {
        None => {
            return Err(Failure::waiting(format!(
                "{remote} has not decided on the slice {name}. See: {} status {remote_options}",
                program(),
            )));
        }
        Some(condition) if condition.status == Decided::Denied => {
            return Err(Failure::new(
                Code::Refused,
                format!(
                    "{remote} denied the slice {name}: {}",
                    escaped(&condition.message)
                ),
            ));
        }
        Some(_) => context
            .printer
            .info(Side::Only, "ResourceSlice authentication: Accepted")?,
    }
    match status.condition(Condition::Resources) {
        Some(condition) if condition.status == Decided::Accepted => context
            .printer
            .info(Side::Only, "ResourceSlice resources: Accepted")?,
        denied => {
            let message = denied.map(|condition| escaped(&condition.message));
            let why = message
                .filter(|message| !message.is_empty())
                .unwrap_or_else(|| {
                    "the provider cluster may have cordoned the tenant or the resourceslice"
                        .to_owned()
                });
            context
                .printer
                .warning(&format!("ResourceSlice resources not accepted: {why}"));
        }
    }
    let identity = names::resource_slice_identity_name(name);
    let secret = ObjectRef::new(
        Kind::Secret,
        &slice.metadata.namespace,
        names::kubeconfig_secret(&identity),
    );
    if local.value(&secret).is_some() {
        context.printer.message(&format!(
            "The kubeconfig is in {secret}: {}",
            local.site_of(&secret)
        ));
    }
    Ok(())
}
