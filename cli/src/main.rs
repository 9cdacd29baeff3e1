//! Authenticate Liqo clusters from files.
//!
//! A home is a folder that stands for a cluster. The library decides; this
//! tool keeps the objects, reads the clock, and talks to a person.

#[cfg(not(unix))]
compile_error!("a home needs the permissions and the symbolic links of a Unix file system");

mod arguments;
mod commands;
mod consumer_side;
mod driver;
mod environment;
mod failure;
mod home;
mod input;
mod legacy;
mod output;
mod overview;
mod pair;
mod provider_side;
mod signer;

use std::process::ExitCode;

use clap::Parser;

use crate::{arguments::Arguments, output::Printer};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let printer = Printer::new(arguments.global.color);
    match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer.error(&failure.to_string());
            ExitCode::from(failure.code.number())
        }
    }
}
