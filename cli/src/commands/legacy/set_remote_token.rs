//! `legacy set remote-token`: stores the token of a foreign cluster.

use std::path::Path;

use liqo_auth::model::ClusterId;

use crate::{context::Context, failure::Result, home::Use, input, legacy::home_side};

pub(super) fn run(context: &Context, peer: &ClusterId, token_file: &Path) -> Result<()> {
    // Read the token first, so that the home is not locked while a person types.
    let token = input::token(token_file)?;
    let mut home = context.open_folder(Use::Write)?;
    home_side::set_remote_token(&mut home, peer, &token, &context.policy, context.clock)?;
    if context.trial().is_some() {
        return Ok(());
    }
    context
        .printer
        .message(&format!("The token of {peer} is set."));
    Ok(())
}
