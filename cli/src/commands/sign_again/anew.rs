//! `sign-again --force`: has a certificate that is in force signed again.

use liqo_auth::{
    crypto::Certificate,
    machine::Holder,
    provider::{Phase, Renewal, RenewalChannel, Status},
};

use crate::{
    context::Context,
    failure::{Failure, Result},
    output::{Side, escaped, program},
    peering::provider_side::{ProviderSide, refused, unsigned},
    remedies::{self, Role},
};

pub(super) fn sign(
    context: &Context,
    mut provider: ProviderSide<'_>,
    holder: &Holder,
    shown: &str,
) -> Result<()> {
    let status = provider.status()?;
    let Some((before, _)) = in_force(&status, holder) else {
        return Err(Failure::waiting(format!(
            "{shown} has no certificate that is in force in {}, and nothing was changed: the peer is {}",
            provider.home.site(),
            status.phase.name(),
        )));
    };
    let before = before.fingerprint();
    let subject = format!("the certificate of {shown} is not signed again");
    provider.administer(&subject, |provider, view, env| {
        provider.sign_again(view, holder, true, env.now)
    })?;
    // The administrator's decision is on the disk before the request is made.
    provider.home.save()?;
    provider.settle()?;
    let status = provider.status()?;
    match in_force(&status, holder) {
        Some((present, _)) if present.fingerprint() != before => {
            let until = present.not_after;
            let done = format!("The certificate of {shown} is signed again, until {until}");
            context.printer.info(Side::Only, &done)?;
            context
                .printer
                .message(&carried(&provider, &status, holder));
            Ok(())
        }
        Some((_, Renewal::Denied { error, .. })) => {
            Err(refused(provider.home, &provider.peer, error))
        }
        _ => Err(unsigned(provider.home, &provider.peer)),
    }
}

/// The certificate in force, and its renewal. `None` unless the peer is authenticated.
fn in_force<'s>(status: &'s Status, holder: &Holder) -> Option<(&'s Certificate, &'s Renewal)> {
    let Phase::Authenticated(issued) = &status.phase else {
        return None;
    };
    let (credential, renewal) = match holder {
        Holder::ControlPlane => (&issued.credential, &issued.renewal),
        Holder::Slice(name) => {
            let mut slices = status.slices.iter();
            let slice = slices.find(|slice| slice.slice.name == *name)?;
            let settled = slice.phase.settled()?;
            (&settled.credential, &settled.renewal)
        }
    };
    Some((credential.shown.certificate()?.leaf(), renewal))
}

/// How the consumer gets the new certificate.
fn carried(provider: &ProviderSide<'_>, status: &Status, holder: &Holder) -> String {
    let (peer, home) = (&provider.peer, &*provider.home);
    let generate = |what: &str| {
        let (program, options) = (program(), home.site().options());
        format!("{program} generate {what} {options} --remote-cluster-id {peer}")
    };
    let by_files = |what: &str| match home.is_live() {
        // A replicator carries it.
        true => String::new(),
        false => format!(
            " By files: {}\nThen on {peer}: {} apply -f FILE",
            generate(what),
            program()
        ),
    };
    match (holder, status.renewal_channel) {
        (Holder::Slice(name), _) => {
            let name = escaped(name);
            let by_files = by_files(&format!("resourceslice {name}"));
            format!("{peer} takes it from the status of its ResourceSlice {name}.{by_files}")
        }
        (Holder::ControlPlane, RenewalChannel::Permanent) => {
            let by_files = by_files(&remedies::carrier(home, peer.as_str(), Role::Consumer));
            format!("{peer} takes it from the status of its Renew.{by_files}")
        }
        (Holder::ControlPlane, _) => format!(
            "{peer} has no Renew that takes it before a renewal is due. Carry the Identity to it: {}",
            generate("identity")
        ),
    }
}
