//! `cordon`, `uncordon`, `activate` and `drain`: set what a tenant, or one of its slices, gets
//! from now on.

use std::cell::Cell;

use liqo_auth::{
    machine::Step,
    model::{ClusterId, TenantCondition},
    provider::Provider,
};

use super::{get, several};
use crate::{
    arguments::{Activate, Cordon, Drain, NamedSlice, NamedTenants, Uncordon},
    context::Context,
    failure::{Failure, Result},
    home::Use,
    output::{Side, escaped},
    peering::provider_side::{ProviderSide, ProviderStand, condition_of, refused},
};

pub(super) fn cordon(context: &Context, command: &Cordon) -> Result<()> {
    match command {
        Cordon::Tenant(tenants) => set_each(context, tenants, Change::Cordon),
        Cordon::ResourceSlice(slice) => mark(context, slice, true),
    }
}

pub(super) fn drain(context: &Context, command: &Drain) -> Result<()> {
    match command {
        Drain::Tenant(tenants) => set_each(context, tenants, Change::Drain),
    }
}

pub(super) fn uncordon(context: &Context, command: &Uncordon) -> Result<()> {
    match command {
        Uncordon::Tenant(tenants) => set_each(context, tenants, Change::Uncordon),
        Uncordon::ResourceSlice(slice) => mark(context, slice, false),
    }
}

pub(super) fn activate(context: &Context, command: &Activate) -> Result<()> {
    match command {
        Activate::Tenant(tenants) => set_each(context, tenants, Change::Activate),
    }
}

/// What a command does with a tenant.
#[derive(Debug, Clone, Copy)]
enum Change {
    Cordon,
    Drain,
    Uncordon,
    Activate,
}

impl Change {
    const fn condition(self) -> TenantCondition {
        match self {
            Self::Cordon => TenantCondition::Cordoned,
            Self::Drain => TenantCondition::Drained,
            Self::Uncordon | Self::Activate => TenantCondition::Active,
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Cordon => "cordoned",
            Self::Drain => "drained",
            Self::Uncordon => "uncordoned",
            Self::Activate => "activated",
        }
    }
}

fn set_each(context: &Context, tenants: &NamedTenants, change: Change) -> Result<()> {
    several::each(context, &tenants.names, |peer| set(context, peer, change))
}

/// Sets the condition of a tenant, in liqoctl's words.
fn set(context: &Context, peer: &ClusterId, change: Change) -> Result<()> {
    let condition = change.condition();
    let mut home = get::open_with_tenant(context, peer)?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    // A drain works whatever cannot be read.
    let before = match provider.condition() {
        Err(_) if condition == TenantCondition::Drained => None,
        before => Some(before?),
    };
    match (before.unwrap_or_default(), condition) {
        (TenantCondition::Active, TenantCondition::Active) => {
            let unchanged = match change {
                Change::Activate => "is active already",
                _ => "is not cordoned",
            };
            context
                .printer
                .warning(&format!("Tenant \"{peer}\" {unchanged}"));
            return Ok(());
        }
        (TenantCondition::Cordoned | TenantCondition::Drained, TenantCondition::Cordoned) => {
            context.printer.warning(&format!(
                "Tenant \"{peer}\" is not active. Activate the tenant to cordon it."
            ));
            return Ok(());
        }
        _ => {}
    }
    let question = match condition {
        TenantCondition::Active => format!("Lift the condition of the tenant {peer}?"),
        TenantCondition::Cordoned => {
            format!("Cordon the tenant {peer}, so that it gets no new slices?")
        }
        TenantCondition::Drained => {
            format!("Drain the tenant {peer}, so that it loses its rights and its slices?")
        }
    };
    context.confirm(&question)?;
    let subject = format!("the condition of {peer} stays as it is");
    let overtaken_by = Cell::new(None);
    provider.administer(&subject, |provider, view, env| {
        // Another administrator may have set it since. A controller may have carried out
        // the first effect of this command.
        if before.is_some() {
            let found = condition_of(provider, view, env.now)?;
            if Some(found) != before && found != condition {
                overtaken_by.set(Some(found));
                return Ok(Step::default());
            }
        }
        provider.set_condition(view, condition)
    })?;
    if let Some(found) = overtaken_by.get() {
        return Err(Failure::waiting(format!(
            "{subject}: meanwhile, somebody else set it to {found:?}"
        )));
    }
    // The condition is on the disk before the provider acts on it.
    provider.home.save()?;
    let stand = provider.settle()?;
    let done = format!("Tenant \"{peer}\" {}", change.done());
    context.printer.info(Side::Only, &done)?;
    match stand {
        ProviderStand::Refused(error) => Err(refused(&home, peer, &error)),
        _ => Ok(()),
    }
}

fn mark(context: &Context, slice: &NamedSlice, cordoned: bool) -> Result<()> {
    let NamedSlice {
        name,
        remote_cluster_id: peer,
    } = slice;
    let mut home = context.open(Use::Write)?;
    let shown = escaped(name);
    let subject = format!("the slice {shown} stays as it is");
    context.confirm(&match cordoned {
        true => format!("Cordon the slice {shown} of {peer}?"),
        false => format!("Lift the cordon of the slice {shown} of {peer}?"),
    })?;
    let change = match cordoned {
        true => Provider::cordon_slice,
        false => Provider::uncordon_slice,
    };
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    provider.administer(&subject, |provider, view, _| change(provider, view, name))?;
    provider.settle()?;
    let done = if cordoned { "cordoned" } else { "uncordoned" };
    context
        .printer
        .info(Side::Only, &format!("ResourceSlice \"{shown}\" {done}"))
}
