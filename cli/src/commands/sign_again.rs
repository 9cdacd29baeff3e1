//! `sign-again`: requests a signature again, after the signer denied the request or
//! after the request failed; with `--force`, also for a certificate that is in force.

mod anew;

use liqo_auth::{machine::Holder, model::ClusterId};

use crate::{
    arguments::SignAgain,
    context::Context,
    failure::{Failure, Result},
    home::Use,
    output::{Side, escaped},
    peering::provider_side::{ProviderSide, ProviderStand, refused},
};

pub(super) fn run(context: &Context, command: &SignAgain) -> Result<()> {
    let Wanted {
        peer,
        holder,
        shown,
        even_in_force,
    } = &Wanted::of(command);
    let mut home = context.open(Use::Write)?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    // First, record a denial that is not recorded yet: it counts, too.
    provider.settle()?;
    if *even_in_force {
        return anew::sign(context, provider, holder, shown);
    }
    let subject = format!("the request of {shown} is not signed again");
    let step = provider.administer(&subject, |provider, view, env| {
        provider.sign_again(view, holder, false, env.now)
    })?;
    if step.effects.is_empty() {
        return Err(Failure::waiting(format!(
            "{shown} has no request in {} that was denied or that failed",
            home.site()
        )));
    }
    // The administrator's decision is on the disk before the next request is made.
    provider.home.save()?;
    let stand = provider.settle()?;
    context.printer.info(
        Side::Only,
        &format!("The request of {shown} is signed again"),
    )?;
    match stand {
        ProviderStand::Refused(error) => Err(refused(&home, peer, &error)),
        _ => Ok(()),
    }
}

/// What is signed again.
struct Wanted<'c> {
    peer: &'c ClusterId,
    holder: Holder,
    /// The holder in words.
    shown: String,
    even_in_force: bool,
}

impl<'c> Wanted<'c> {
    fn of(command: &'c SignAgain) -> Self {
        match command {
            SignAgain::Tenant { tenant, force } => Self {
                peer: &tenant.name,
                holder: Holder::ControlPlane,
                shown: format!("Tenant \"{}\"", tenant.name),
                even_in_force: force.force,
            },
            SignAgain::ResourceSlice { slice, force } => Self {
                peer: &slice.remote_cluster_id,
                holder: Holder::Slice(slice.name.clone()),
                shown: format!("ResourceSlice \"{}\"", escaped(&slice.name)),
                even_in_force: force.force,
            },
        }
    }
}
