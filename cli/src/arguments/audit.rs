//! `audit`.

use clap::{Args, Subcommand, ValueEnum};
use liqo_auth::audit::EntryHash;

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Verify that nobody changed the log, and print its head
    Verify(VerifyAudit),
    /// Verify the log, and print its entries
    Show {
        /// Print the entries as the log has them, with nothing cut off
        #[arg(short, long, value_enum, value_name = "FORMAT")]
        output: Option<AuditFormat>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyAudit {
    /// A head that was printed before; if the log does not contain it, its end is missing
    #[arg(long, value_name = "HEX")]
    pub(crate) head: Option<EntryHash>,
    /// Print the result in a format for programs
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<AuditFormat>,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  liqo-auth audit verify --home ./cl-provider
  liqo-auth audit verify --home ./cl-provider --head 71d4faaac4a39e1370d3d32152ad4c9bf5f7bff8519bd2f43d74f1c11263f1af

Store the head in another place. Without it, a missing end of the log is not noticed.";
