//! `approve` and `deny`: a person's decision on a tenant's request, or on what Liqo granted to
//! a slice.

use std::collections::BTreeMap;

use liqo_auth::{
    machine::Notice,
    model::{ClusterId, Quantity},
};

use super::{get, several};
use crate::{
    arguments::{Approve, Deny, NamedSlice},
    context::Context,
    failure::{Failure, Result},
    home::Use,
    output::{Side, amounts, escaped, program},
    peering::provider_side::{ProviderSide, ProviderStand, refused},
};

pub(super) fn approve(context: &Context, command: &Approve) -> Result<()> {
    match command {
        Approve::Tenant(tenants) => several::each(context, &tenants.names, |peer| {
            approve_request(context, peer)
        }),
        Approve::ResourceSlice(slice) => approve_grant(context, slice),
    }
}

fn approve_request(context: &Context, peer: &ClusterId) -> Result<()> {
    let mut home = get::open_with_tenant(context, peer)?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let subject = format!("the request of {peer} is not approved");
    provider.administer(&subject, |provider, view, env| {
        provider.approve(view, env.now)
    })?;
    // The approval is on the disk before the request is signed.
    provider.home.save()?;
    let stand = provider.settle()?;
    context
        .printer
        .info(Side::Only, &format!("Tenant \"{peer}\" approved"))?;
    match stand {
        ProviderStand::Refused(error) => Err(refused(&home, peer, &error)),
        ProviderStand::Authenticated => {
            context.printer.message(&format!(
                "{peer} is authenticated. Now generate its Identity: {} generate identity {} --remote-cluster-id {peer}",
                program(),
                home.site().options()
            ));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn approve_grant(context: &Context, slice: &NamedSlice) -> Result<()> {
    let NamedSlice {
        name,
        remote_cluster_id: peer,
    } = slice;
    let mut home = context.open(Use::Write)?;
    let shown = escaped(name);
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let Some(resources) = unconfirmed(&provider, name)? else {
        return Err(Failure::waiting(format!(
            "Liqo granted nothing to the slice {shown} of {peer} that waits for approval in {}",
            provider.home.site()
        )));
    };
    let resources = amounts(&resources);
    context.confirm(&format!("Grant the slice {shown} of {peer} {resources}?"))?;
    let subject = format!("the slice {shown} is not granted more");
    provider.administer(&subject, |provider, view, _| {
        provider.confirm_slice(view, name)
    })?;
    provider.settle()?;
    context.printer.info(
        Side::Only,
        &format!("ResourceSlice \"{shown}\" is granted {resources}"),
    )
}

/// What Liqo granted to the slice, and nobody has confirmed.
fn unconfirmed(
    provider: &ProviderSide<'_>,
    name: &str,
) -> Result<Option<BTreeMap<String, Quantity>>> {
    let mut notices = provider.status()?.notices.into_iter();
    Ok(notices.find_map(|notice| match notice {
        Notice::GrantUnconfirmed { slice, resources } if slice.name == name => Some(resources),
        _ => None,
    }))
}

pub(super) fn deny(context: &Context, command: &Deny) -> Result<()> {
    let Deny::Tenant { tenants, reason } = command;
    several::each(context, &tenants.names, |peer| {
        deny_request(context, peer, reason)
    })
}

fn deny_request(context: &Context, peer: &ClusterId, reason: &str) -> Result<()> {
    let mut home = get::open_with_tenant(context, peer)?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let subject = format!("the request of {peer} is not denied");
    provider.administer(&subject, |provider, view, env| {
        provider.deny(view, reason, env.now)
    })?;
    provider.settle()?;
    context
        .printer
        .info(Side::Only, &format!("Tenant \"{peer}\" denied"))
}
