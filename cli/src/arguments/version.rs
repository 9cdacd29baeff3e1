//! The command line of `version`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// The version of this program alone, as liqoctl has it: it is all that is printed
    #[arg(long)]
    pub(crate) client: bool,
    /// Print the version in a format for programs
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<VersionFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VersionFormat {
    Json,
}
