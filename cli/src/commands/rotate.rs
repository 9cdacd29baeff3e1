//! `rotate key`: a new key towards one provider.

use liqo_auth::crypto::SigningKey;

use crate::{
    arguments::RotateKey,
    context::Context,
    failure::{Failure, Result},
    home::Use,
    output::program,
    peering::provider_side::check_other,
};

pub(super) fn key(context: &Context, arguments: &RotateKey) -> Result<()> {
    let provider = &arguments.remote_cluster_id;
    let mut home = context.open_folder(Use::Write)?;
    check_other(&home, provider)?;
    if !home.is_known_to(provider) {
        return Err(Failure::waiting(format!(
            "{provider} does not know a key of {}, and nothing was changed: only a consumer that has authenticated with a provider replaces the key towards it",
            home.cluster_id()
        )));
    }
    if home.is_in_succession(provider)? {
        return Err(Failure::waiting(format!(
            "{provider} has not answered the present key yet, and nothing was changed: apply its Identity first"
        )));
    }
    let earlier = home.key_towards(provider)?;
    let algorithm = arguments.key_algorithm.map_or_else(
        || earlier.public_key().algorithm(),
        |algorithm| algorithm.algorithm(),
    );
    let own = home.make_own_key(provider, algorithm, context.clock.now()?)?;
    home.save()?;
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
    if context.trial().is_some() {
        return Ok(());
    }
    let options = home.site().options();
    context.printer.message(&format!(
        "{provider} takes the new key with its next nonce. Until then, the earlier key stays in use. With access to both clusters: {program} authenticate {options} --remote-home DIR",
        program = program(),
    ));
    let (program, own) = (program(), home.cluster_id());
    for step in [
        format!(
            "By hand, on {provider}: {program} create nonce --remote-cluster-id {own} --replace"
        ),
        format!(
            "Then here: {program} generate tenant {options} --remote-cluster-id {provider} --nonce NONCE"
        ),
        format!(
            "Then on {provider}: {program} apply -f FILE, and {program} generate identity --remote-cluster-id {own}"
        ),
        format!("At last here: {program} apply -f FILE {options}"),
    ] {
        context.printer.message(&step);
    }
    Ok(())
}
