//! The command line of `version`.

use clap::Args;

use super::output_format::{DocumentFormat, Output};

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// The version of this program alone, as liqoctl has it: it is all that is printed
    #[arg(long)]
    pub(crate) client: bool,
    /// Print the version in a format for programs
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<DocumentFormat>::parser())]
    pub(crate) output: Option<Output<DocumentFormat>>,
}
