//! `transcript`.

use clap::Args;
use liqo_auth::{assurance::transcript::Code, model::ClusterId};

#[derive(Debug, Args)]
pub(crate) struct TranscriptOf {
    /// The ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// What the other administrator reads: the exit code is 3 if it differs
    #[arg(long, value_name = "CODE")]
    pub(crate) expect: Option<Code>,
    /// Print the lines too that the code is over
    #[arg(long)]
    pub(crate) text: bool,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  liqo-auth transcript --home ./cl-consumer --remote-cluster-id cl-provider
  liqo-auth transcript --home ./cl-provider --remote-cluster-id cl-consumer --expect 12345-...

Both sides print the same line, unless somebody changed a file on its way. Where
the other side runs Liqo, SECURITY.md has a recipe for its shell.";
