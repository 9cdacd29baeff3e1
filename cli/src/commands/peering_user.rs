//! `generate peering-user` and `delete peering-user`: a user that may peer with this
//! cluster, and is not its administrator.

use getrandom::SysRng;
use liqo_auth::crypto::{Algorithm, KeyPair, SigningKey};

use anyhow::Context as _;

use crate::{
    arguments::peering_user::{DeletePeeringUser, GeneratePeeringUser, TlsCompatibility},
    context::Context,
    failure::Result,
    home::{Home, Use},
    output::Side,
    peering::provider_side::{ProviderSide, end_at_signer, watches_for_peering_users},
};

pub(super) fn generate(context: &Context, arguments: &GeneratePeeringUser) -> Result<()> {
    let peer = &arguments.consumer_cluster_id;
    let mut home = open(context)?;
    let rsa = match arguments.tls_compatibility_mode {
        TlsCompatibility::True => true,
        TlsCompatibility::False => false,
        TlsCompatibility::Auto => {
            let own = home.key()?.public_key().algorithm();
            matches!(own, Algorithm::Rsa { .. })
        }
    };
    let algorithm = if rsa {
        Algorithm::Rsa { bits: 2048 }
    } else {
        Algorithm::Ed25519
    };
    let key = KeyPair::generate(algorithm, &mut SysRng)
        .context("the key of the peering user cannot be made")?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let Some(kubeconfig) = provider.make_peering_user(key)? else {
        context.printer.message(&end_at_signer(&home));
        return Ok(());
    };
    if context.trial().is_none() {
        context
            .printer
            .warning("Please take note of this kubeconfig as it is not stored.");
    }
    context.printer.warning(&format!(
        "Note that it can only be used to peer with this cluster from a cluster with ID {peer}"
    ));
    let text = String::from_utf8_lossy(kubeconfig.expose());
    context.printer.result(&text)
}

pub(super) fn delete(context: &Context, arguments: &DeletePeeringUser) -> Result<()> {
    let peer = &arguments.consumer_cluster_id;
    let mut home = open(context)?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    provider.delete_peering_user()?;
    context.printer.info(
        Side::Only,
        &format!("Peering user for cluster with ID \"{peer}\" deleted successfully"),
    )
}

fn open(context: &Context) -> Result<Home> {
    context.open_with(Use::Write, |home| {
        let watches = watches_for_peering_users(home)?;
        home.load(watches)
    })
}
