//! `completion` prints the script with which a shell asks this program to complete a
//! command line. `options` prints the global options.

use clap::ValueEnum;
use clap_complete::{Shell, env::Shells};

use crate::{
    arguments,
    context::Context,
    failure::{Failure, Result},
};

pub(super) fn run(context: &Context, shell: Shell) -> Result<()> {
    let name = shell
        .to_possible_value()
        .map(|value| value.get_name().to_owned());
    let name = name.unwrap_or_default();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&name)
        .ok_or_else(|| Failure::usage(format!("{name}: no such shell")))?;
    let mut script = Vec::new();
    completer.write_registration(
        "COMPLETE",
        "liqo-auth",
        "liqo-auth",
        "liqo-auth",
        &mut script,
    )?;
    context.printer.result(&String::from_utf8_lossy(&script))
}

pub(super) fn options(context: &Context) -> Result<()> {
    let mut command = arguments::command();
    let page = command.find_subcommand_mut("options");
    let help = page.map(|page| page.render_long_help().to_string());
    context.printer.result(&help.unwrap_or_default())
}
