//! `completion`: prints a shell's script for the completion of command lines.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{arguments::Arguments, context::Context, failure::Result};

pub(super) fn run(context: &Context, shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "liqo-auth", &mut script);
    context.printer.result(&String::from_utf8_lossy(&script))
}
