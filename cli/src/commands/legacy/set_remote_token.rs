//! `legacy set remote-token`: what a foreign cluster's administrator handed
//! over.

use std::path::Path;

use liqo_auth::model::ClusterId;

use crate::{
    commands::Context,
    failure::Result,
    home::{Home, Use},
    input,
    legacy::home_side,
};

pub(super) fn run(context: &Context, peer: &ClusterId, token_file: &Path) -> Result<()> {
    // First, so that nobody waits for the home while somebody types.
    let token = input::token(token_file)?;
    let mut home = Home::open(context.home()?, Use::Write)?;
    home_side::set_remote_token(&mut home, peer, &token, &context.policy, context.clock)?;
    context
        .printer
        .message(&format!("The token of {peer} is set."));
    Ok(())
}
