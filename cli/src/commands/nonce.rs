//! `create nonce`: the first step, on the provider.

use liqo_auth::model::{Namespace, Resource};

use super::{get, listing};
use crate::{
    arguments::CreateNonce,
    consumer_side::sentence,
    context::Context,
    failure::{Failure, Result},
    home::Use,
    output::Side,
    provider_side::{ProviderSide, ProviderStand, nonce_secret, refused},
};

pub(super) fn run(context: &Context, arguments: &CreateNonce) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let mut home = context.open(Use::Write)?;
    if arguments.tolerate_no_handshake {
        home.peer_mut(peer).tolerate_no_handshake = true;
    }
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    match provider.invite()? {
        // With --replace, go on: the stored Tenant may be refused because it signs
        // an old nonce.
        ProviderStand::Refused(error) if !arguments.replace => {
            return Err(refused(provider.home, &error));
        }
        _ => {}
    }
    if arguments.replace {
        for notice in provider.replace_nonce()?.iter().map(sentence) {
            context.printer.warning(&notice);
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
