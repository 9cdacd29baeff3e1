//! `rotate key`: a new key towards one provider.

use liqo_auth::crypto::SigningKey;

use crate::{
    arguments::RotateKey,
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
    output::program,
    overview::{self, Role},
    provider_side::check_other,
};

pub(super) fn key(context: &Context, arguments: &RotateKey) -> Result<()> {
    let provider = &arguments.remote_cluster_id;
    let mut home = context.open(Use::Write)?;
    check_other(&home, provider)?;
    let earlier = home.key_towards(provider)?;
    let algorithm = arguments.key_algorithm.map_or_else(
        || earlier.public_key().algorithm(),
        |algorithm| algorithm.algorithm(),
    );
    home.make_own_key(provider, algorithm, context.clock.now()?)?;
    home.save()?;
    let own = home.own_keys()?;
    let own = own.into_iter().find(|own| own.provider == *provider);
    let own = own.ok_or_else(|| Failure::at_odds("the key was made, but it is missing"))?;
    let key = own.key.public_key();
    let mut text = format!(
        "Key towards {provider}\n{}",
        context.printer.field(
            "New",
            &format!("{}, {}", key.algorithm(), key.fingerprint())
        )
    );
    if let Some(predecessor) = &own.predecessor {
        let known = predecessor.public_key().fingerprint().to_string();
        text.push_str(&context.printer.field("Signed by", &known));
    }
    context.printer.result(&text)?;
    if own.predecessor.is_some() && is_peer(&home, arguments) {
        let options = home.site().options();
        context.printer.message(&format!(
            "{provider} takes the new key with its next nonce. Until then, the earlier key stays in use. With access to both clusters: {program} authenticate {options} --remote-home DIR. By hand, on {provider}: {program} create nonce --remote-cluster-id {} --replace",
            home.cluster_id(),
            program = program(),
        ));
    }
    Ok(())
}

fn is_peer(home: &Home, arguments: &RotateKey) -> bool {
    overview::peers(home).contains(&(arguments.remote_cluster_id.clone(), Role::Provider))
}
