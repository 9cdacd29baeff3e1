//! Authenticate Liqo clusters, by their API servers or by files.
//!
//! A home is a folder that represents a cluster. The library makes all decisions.
//! This tool stores the objects, reads the clock, and prints messages.

#[cfg(not(unix))]
compile_error!("a home needs the permissions and the symbolic links of a Unix file system");

mod arguments;
mod commands;
mod consumer_side;
mod context;
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
