//! `transcript`.

use clap::Args;
use liqo_auth::{assurance::transcript::Code, model::ClusterId};

use super::output_format::{DocumentFormat, Output};

#[derive(Debug, Args)]
pub(crate) struct TranscriptOf {
    /// The ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The code that the other administrator reads; the exit code is 3 if the codes differ
    #[arg(long, value_name = "CODE")]
    pub(crate) expect: Option<Code>,
    /// Also print the lines that the code covers
    #[arg(long)]
    pub(crate) text: bool,
    /// Print the codes in a format for programs
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<DocumentFormat>::parser())]
    pub(crate) output: Option<Output<DocumentFormat>>,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  liqo-auth transcript --home ./cl-consumer --remote-cluster-id cl-provider
  liqo-auth transcript --home ./cl-provider --remote-cluster-id cl-consumer --expect 12345-...

Both sides print the same line, unless a file was changed in transit. If the other
side runs Liqo, a shell script prints the code: it is in the repository, in
docs/explanation/comparing-transcripts.md.";
