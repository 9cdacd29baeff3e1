//! `approve` and `deny`: a person's decision on a tenant's request.

use liqo_auth::model::ClusterId;

use super::get;
use crate::{
    arguments::{Approve, Deny},
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
    output::{Side, program},
    provider_side::{ProviderSide, ProviderStand, refused},
};

pub(super) fn approve(context: &Context, command: &Approve) -> Result<()> {
    let Approve::Tenant(tenant) = command;
    let peer = &tenant.name;
    let mut home = open(context, peer)?;
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
        ProviderStand::Refused(error) => Err(refused(&home, &error)),
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

pub(super) fn deny(context: &Context, command: &Deny) -> Result<()> {
    let Deny::Tenant { tenant, reason } = command;
    let peer = &tenant.name;
    let mut home = open(context, peer)?;
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

fn open(context: &Context, peer: &ClusterId) -> Result<Home> {
    let home = context.open(Use::Write)?;
    match get::tenant_of(&home, peer) {
        Some(_) => Ok(home),
        None => Err(Failure::waiting(format!(
            "unable to get tenant: there is no Tenant of {peer} in {}",
            home.site()
        ))),
    }
}
