//! `replicate`: carries the shared objects of two clusters in both directions.

use liqo_auth::model::{ClusterId, Identity, Tenant, names};
use serde::Serialize;
use serde_json::json;

use super::homes::Homes;
use super::left::Left;
use crate::{
    arguments::{Remote, Replicate},
    context::Context,
    failure::{Failure, Result, paragraph},
    home::Home,
    output::{Side, program},
    overview::{self, Peering, Role, Waits},
    peering::{
        pair::{Pair, binds, has_identity},
        provider_side::{ProviderStand, has_tenant, refused},
    },
    remedies,
};

pub(super) fn run(context: &Context, arguments: &Replicate) -> Result<()> {
    let remote = Remote {
        remote_cluster_id: None,
        site: arguments.site.clone(),
    };
    arguments.site.required()?;
    let Homes { local, remote, .. } = Homes::open(context, &remote)?;
    let mut local = local;
    let mut remote = remote.ok_or_else(|| Failure::usage("name the remote home"))?;
    let (forth, back) = directions(&local, &remote)?;
    // One direction that is closed does not stop the other.
    let forth = match forth {
        true => told(context, &mut local, &mut remote, Side::Local),
        false => Ok(()),
    };
    let back = match back {
        true => told(context, &mut remote, &mut local, Side::Remote),
        false => Ok(()),
    };
    match (forth, back) {
        (Err(forth), Err(back)) if forth.is_told() => {
            context.printer.error(&forth.to_string());
            Err(back)
        }
        (forth, back) => forth.and(back),
    }
}

/// A direction for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Direction<'c> {
    consumer: &'c str,
    provider: &'c str,
    in_sync: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Replicates between a consumer and its provider, and tells programs whether that is done.
fn told(context: &Context, consumer: &mut Home, provider: &mut Home, side: Side) -> Result<()> {
    let (consumer_id, provider_id) = (consumer.cluster_id().clone(), provider.cluster_id().clone());
    let settled = settle(context, consumer, provider, side);
    let direction = Direction {
        consumer: consumer_id.as_str(),
        provider: provider_id.as_str(),
        in_sync: settled.is_ok(),
        error: settled.as_ref().err().map(ToString::to_string),
    };
    context.deeds.tell("directions", json!(direction));
    settled
}

/// Replicates between a consumer and its provider, and prints the result.
fn settle(context: &Context, consumer: &mut Home, provider: &mut Home, side: Side) -> Result<()> {
    let (consumer_id, provider_id) = (consumer.cluster_id().clone(), provider.cluster_id().clone());
    let lost = Left::of_lost_slices(consumer, &provider_id);
    let rest = Pair::new(consumer, provider, &context.policy, context.clock)?.settle()?;
    for notice in &rest.notices {
        let told = remedies::noticed(consumer, &provider_id, Role::Provider, notice);
        context.printer.warning(&told);
    }
    for refused in rest.refused.iter().map(paragraph) {
        context.printer.warning(&refused);
    }
    if let ProviderStand::Refused(error) = rest.provider {
        return Err(refused(provider, consumer.cluster_id(), &error));
    }
    if let Some(why) = shut(context, consumer, provider, &rest.provider)? {
        return Err(Failure::waiting(why));
    }
    let at_consumer = left(context, consumer, &provider_id, Role::Provider)?;
    let at_provider = left(context, provider, &consumer_id, Role::Consumer)?;
    at_consumer.and(at_provider).and(lost).judge()?;
    context.printer.info(
        side,
        &format!("Slices and renewals are in sync with {provider_id}"),
    )
}

/// What is due or refused on one side of the peering.
fn left(context: &Context, home: &mut Home, peer: &ClusterId, role: Role) -> Result<Left> {
    let peering = peering(context, home, peer, role)?;
    let now = context.clock.now()?;
    Ok(peering.map_or_else(Left::default, |peering| Left::of(home, &peering, now)))
}

fn peering(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
    role: Role,
) -> Result<Option<Peering>> {
    let mut peerings = overview::peerings(context, home)?.into_iter();
    Ok(peerings.find(|it| it.role == role && it.peer == peer.as_str()))
}

/// Whether a slice of a consumer waits for its provider's decision.
pub(super) fn awaits_decision(
    context: &Context,
    consumer: &mut Home,
    provider: &ClusterId,
) -> Result<bool> {
    let peering = peering(context, consumer, provider, Role::Provider)?;
    let waits = peering.iter().flat_map(|it| &it.waits_for);
    Ok(waits.into_iter().any(Waits::is_for_a_slice))
}

/// The reason why nothing was carried, with the command that helps, also if the consumer is drained.
pub(super) fn shut(
    context: &Context,
    consumer: &Home,
    provider: &Home,
    stand: &ProviderStand,
) -> Result<Option<String>> {
    let why = closed(context, consumer, provider)?;
    Ok(why.map(|why| match stand {
        ProviderStand::Drained => {
            let lift = remedies::lift_drain(provider, consumer.cluster_id());
            format!("{why}. {lift}")
        }
        _ => why,
    }))
}

/// The reason why nothing can be carried between a consumer and its provider, if
/// there is one.
pub(super) fn closed(
    context: &Context,
    consumer: &Home,
    provider: &Home,
) -> Result<Option<String>> {
    let (consumer_id, provider_id) = (consumer.cluster_id(), provider.cluster_id());
    if !has_identity(consumer, provider_id, context.clock.now()?) {
        return Ok(Some(format!(
            "{consumer_id} has no valid identity from {provider_id}: nothing was carried. {}",
            remedies::authenticate_again(consumer, provider_id)
        )));
    }
    if !binds(provider, consumer_id) {
        let why = format!("{provider_id} grants {consumer_id} no rights: nothing was carried");
        return Ok(Some(match has_tenant(&provider.view(consumer_id)) {
            true => why,
            // The provider was restored, or has ended the peering.
            false => format!(
                "{why}. The command that authenticates again is {} authenticate {} {}.",
                program(),
                consumer.site().options(),
                provider.site().remote_options()
            ),
        }));
    }
    Ok(None)
}

/// Whether the local cluster is the consumer of the remote one, and the remote one of the
/// local one. Fails if neither is.
pub(super) fn directions(local: &Home, remote: &Home) -> Result<(bool, bool)> {
    let (forth, back) = (peers(local, remote), peers(remote, local));
    if !forth && !back {
        let (local_id, remote_id) = (local.cluster_id(), remote.cluster_id());
        return Err(Failure::waiting(format!(
            "{local_id} and {remote_id} have no peering. If {local_id} is the consumer, the command is {} authenticate {} {}",
            program(),
            local.site().options(),
            remote.site().remote_options()
        )));
    }
    Ok((forth, back))
}

/// Whether one home is, or was, a consumer of the other.
fn peers(consumer: &Home, provider: &Home) -> bool {
    let identity = names::identity_name(provider.cluster_id());
    let is_tenant = |id: &ClusterId, name: &str| id.as_str() == name;
    consumer
        .all::<Identity>()
        .any(|object| object.metadata.name == identity)
        || provider
            .all::<Tenant>()
            .any(|tenant| is_tenant(consumer.cluster_id(), &tenant.metadata.name))
}
