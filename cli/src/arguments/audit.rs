//! `audit`.

use clap::{Args, Subcommand, ValueEnum};
use liqo_auth::audit::EntryHash;

use super::output_format::{DocumentFormat, Output};

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Verify that nobody changed the log, and print its head
    Verify(VerifyAudit),
    /// Verify the log, and print its entries
    Show {
        /// Print the entries as the log has them, with nothing cut off, or a wider table
        #[arg(short, long, value_name = "FORMAT", value_parser = Output::<LogFormat>::parser())]
        output: Option<Output<LogFormat>>,
    },
}

/// The formats of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Json,
    Yaml,
    /// A table with all columns
    Wide,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyAudit {
    /// A head that was printed before; if the log does not contain it, its end is missing
    #[arg(long, value_name = "HEX")]
    pub(crate) head: Option<EntryHash>,
    /// Print the result in a format for programs
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<DocumentFormat>::parser())]
    pub(crate) output: Option<Output<DocumentFormat>>,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  liqo-auth audit verify --home ./cl-provider
  liqo-auth audit verify --home ./cl-provider --head 71d4faaac4a39e1370d3d32152ad4c9bf5f7bff8519bd2f43d74f1c11263f1af

The tool keeps the head in the home's audit.head. By this file, it notices that
the end of the log is missing. Store the head in another place, too: --head then
notices an earlier state of the log and of audit.head.";
