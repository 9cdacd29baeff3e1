//! `completion`: what a shell needs to complete a command line.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Context;
use crate::{arguments::Arguments, failure::Result};

pub(super) fn run(context: &Context, shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "liqo-auth", &mut script);
    context.printer.result(&String::from_utf8_lossy(&script))
}
