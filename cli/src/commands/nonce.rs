//! `create nonce` and `delete nonce`: a provider invites a consumer, and takes that back.

use liqo_auth::{
    crypto::SignatureError,
    error::{Error, Fault, PeerIncompatible},
    model::{Namespace, Resource},
    provider::Phase,
};

use super::{get, listing};
use crate::{
    arguments::{CreateNonce, DeleteNonce},
    context::Context,
    failure::{Failure, Result},
    home::Use,
    output::{Side, program},
    peering::provider_side::{ProviderSide, ProviderStand, has_tenant, nonce_secret, refused},
    remedies::{Role, noticed},
};

pub(super) fn create(context: &Context, arguments: &CreateNonce) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let mut home = context.open(Use::Write)?;
    if arguments.tolerate_no_handshake {
        home.peer_mut(peer).tolerate_no_handshake = true;
    }
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let is_replaced = match provider.invite()? {
        _ if arguments.replace => true,
        ProviderStand::Refused(error) if is_of_a_nonce_that_serves_no_more(&error) => true,
        // The present one serves, if it is not the one that was signed before.
        ProviderStand::Refused(error) if is_of_another_nonce(&error) => {
            !provider.awaits_tenant()?
        }
        ProviderStand::Refused(error) => return Err(refused(provider.home, peer, &error)),
        ProviderStand::AwaitsTenant | ProviderStand::Tolerated | ProviderStand::Ended => false,
        // It was made for a running peering, and is not signed yet.
        ProviderStand::Authenticated if provider.awaits_tenant()? => false,
        ProviderStand::AwaitsApproval
        | ProviderStand::AwaitsCertificate
        | ProviderStand::Authenticated
        | ProviderStand::Drained => {
            return Err(Failure::waiting(format!(
                "{peer} has signed its nonce already, and does not need another one. If it has to prove its key again: {} create nonce {} --remote-cluster-id {peer} --replace",
                program(),
                provider.home.site().options()
            )));
        }
    };
    if is_replaced {
        for notice in provider.replace_nonce()? {
            let told = noticed(provider.home, peer, Role::Consumer, &notice);
            context.printer.warning(&told);
        }
    }
    let secret = nonce_secret(&home, peer)
        .ok_or_else(|| Failure::at_odds("the nonce was made, but it is missing"))?;
    if let Some(format) = arguments.output {
        let namespace: Option<&Namespace> = home.get("", &secret.metadata.namespace);
        let ids = namespace.map(Resource::id).into_iter().chain([secret.id()]);
        return listing::manifests(context, &home, &ids.collect::<Vec<_>>(), format);
    }
    let text = get::nonce_text(secret)?;
    context.printer.info(Side::Only, "Nonce created")?;
    context
        .printer
        .info(Side::Only, "Nonce generated successfully")?;
    context
        .printer
        .info(Side::Only, &format!("Nonce retrieved: {text}"))
}

/// Whether a Tenant is refused since it signs a nonce that was used, replaced or has expired.
pub(in crate::commands) fn is_of_a_nonce_that_serves_no_more(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::NonceUsed)
            | Fault::PeerIncompatible(PeerIncompatible::NonceExpired { .. })
    )
}

/// Whether a Tenant is refused since it signs another nonce than the present one.
fn is_of_another_nonce(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::NonceSignature(SignatureError::Mismatch))
    )
}

pub(super) fn delete(context: &Context, arguments: &DeleteNonce) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let mut home = context.open(Use::Write)?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    if has_tenant(&provider.view()) {
        let why = match provider.awaits_tenant()? {
            true => format!(
                "the Tenant of {peer} is by an earlier nonce. The present one is not signed yet, and is not taken back alone: {peer} signs it, or it expires"
            ),
            false => format!("{peer} has answered its invitation by a Tenant"),
        };
        return Err(Failure::waiting(format!(
            "{why}. To end the peering: {} unauthenticate {} --remote-cluster-id {peer}",
            program(),
            provider.home.site().options()
        )));
    }
    let phase = provider.status()?.phase;
    // The nonce of a peering that has ended may serve again.
    let serves_again = matches!(phase, Phase::Ended { .. }) && provider.nonce().is_some();
    if matches!(phase, Phase::Uninvited | Phase::Ended { .. }) && !serves_again {
        return Err(Failure::waiting(format!(
            "{} has no invitation for {peer}",
            provider.home.site()
        )));
    }
    provider.administer(
        "the nonce is not deleted",
        |provider, view, _| match serves_again {
            true => provider.end_for_good(view),
            false => provider.end(view),
        },
    )?;
    provider.settle()?;
    context.printer.info(
        Side::Only,
        &format!("Nonce deleted: {peer} is not invited any more"),
    )
}
