//! `legacy release`: an identity is taken back.

use liqo_auth::model::ClusterId;

use crate::{
    commands::Context,
    failure::Result,
    home::{Home, Use},
    legacy::foreign_side::{ForeignChoices, ForeignSide},
};

pub(super) fn run(context: &Context, peer: &ClusterId) -> Result<()> {
    let mut home = Home::open(context.home()?, Use::Write)?;
    let accounts = ForeignSide::account_namespace(&home, peer);
    let choices = ForeignChoices {
        accounts,
        ..ForeignChoices::default()
    };
    let side = ForeignSide::new(&home, choices, &context.policy, context.clock)?;
    let was_there = side.release(&mut home, peer)?;
    home.save()?;
    context.printer.message(&if was_there {
        format!(
            "The rights of {peer} are taken back, and it may be given an identity again. A certificate that it has is valid until it expires, without rights."
        )
    } else {
        format!("There was nothing to take back from {peer}.")
    });
    Ok(())
}
