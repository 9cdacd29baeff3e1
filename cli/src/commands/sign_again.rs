//! `sign-again`: requests a signature again, after the signer denied the request or
//! after the request failed.

use liqo_auth::machine::Holder;

use crate::{
    arguments::SignAgain,
    context::Context,
    failure::{Failure, Result},
    home::Use,
    output::{Side, escaped},
    provider_side::{ProviderSide, ProviderStand, refused},
};

pub(super) fn run(context: &Context, command: &SignAgain) -> Result<()> {
    let (peer, holder, shown) = match command {
        SignAgain::Tenant(tenant) => {
            let shown = format!("Tenant \"{}\"", tenant.name);
            (&tenant.name, Holder::ControlPlane, shown)
        }
        SignAgain::ResourceSlice(slice) => {
            let shown = format!("ResourceSlice \"{}\"", escaped(&slice.name));
            let holder = Holder::Slice(slice.name.clone());
            (&slice.remote_cluster_id, holder, shown)
        }
    };
    let mut home = context.open(Use::Write)?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    // First, record a denial that is not recorded yet: it counts, too.
    provider.settle()?;
    let subject = format!("the request of {shown} is not signed again");
    let step = provider.administer(&subject, |provider, view, _| {
        provider.sign_again(view, &holder)
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
        ProviderStand::Refused(error) => Err(refused(&home, &error)),
        _ => Ok(()),
    }
}
