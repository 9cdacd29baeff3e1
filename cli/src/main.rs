//! Authenticate Liqo clusters, by their API servers or by files.
//!
//! A home is a folder that represents a cluster. The library makes all decisions.
//! This tool stores the objects, reads the clock, and prints messages.

#[cfg(not(unix))]
compile_error!("a home needs the permissions and the symbolic links of a Unix file system");

#[cfg(liqo_auth_cheap_signatures)]
compile_error!("liqo_auth_cheap_signatures makes signatures that everybody can forge");

mod arguments;
mod commands;
mod completion;
mod confirmation;
mod context;
mod deeds;
mod environment;
mod failure;
mod home;
mod input;
mod legacy;
mod limits;
mod output;
mod overview;
mod peering;
mod remedies;
mod values;
mod verbosity;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

use clap::{CommandFactory, FromArgMatches};
use clap_complete::CompleteEnv;

use crate::{
    arguments::Arguments,
    failure::Result,
    output::{ColorChoice, Printer, unwritten},
};

fn main() -> ExitCode {
    // A shell that completes a command line calls the program with this variable.
    CompleteEnv::with_factory(|| completion::with_candidates(Arguments::command())).complete();
    let matches = arguments::parser().try_get_matches();
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return refused(&arguments::explained(error)),
    };
    let printer = Printer::new(arguments.global.color);
    ended(commands::run(arguments), printer)
}

fn ended(result: Result<()>, printer: Printer) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.is_told() {
                printer.error(&failure.to_string());
            }
            ExitCode::from(failure.code.number())
        }
    }
}

/// The end of a command line that is wrong, or asks for help. A monitor takes 2 for CRITICAL.
fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| io::stdout().flush());
        return ended(printed.map_err(unwritten), Printer::new(ColorChoice::Auto));
    }
    if !arguments::asks_for_a_plugin(env::args_os().skip(1)) {
        error.exit();
    }
    let text = error.render().to_string();
    let why = text.split("\n\n").next().unwrap_or_default();
    let why = why.strip_prefix("error: ").unwrap_or(why);
    ExitCode::from(commands::wrong_plugin(why).code.number())
}
