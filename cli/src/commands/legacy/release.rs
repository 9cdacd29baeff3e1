//! `legacy release`: takes an identity back.

use liqo_auth::model::ClusterId;

use crate::{
    context::Context,
    failure::{Failure, Result},
    home::Use,
    legacy::foreign_side::{ForeignChoices, ForeignSide},
};

pub(super) fn run(context: &Context, peer: &ClusterId) -> Result<()> {
    let mut home = context.open_folder(Use::Write)?;
    let accounts = ForeignSide::account_namespace(&home, peer);
    let choices = ForeignChoices {
        accounts,
        ..ForeignChoices::default()
    };
    let side = ForeignSide::new(&home, choices, &context.policy, context.clock)?;
    if !side.release(&mut home, peer)? {
        return Err(Failure::waiting(format!(
            "{} has given no identity to {peer}",
            home.site()
        )));
    }
    home.save()?;
    if context.trial().is_none() {
        context.printer.message(&format!(
            "The rights of {peer} are taken back, and it can get an identity again. Its certificate stays valid until it expires, but has no rights."
        ));
    }
    Ok(())
}
