//! The command line of `run`.

use std::net::SocketAddr;

use clap::Args;
use tracing_subscriber::filter::EnvFilter;

/// Runs the controllers of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) sides: Sides,
    /// Where to answer /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// What to log: a level, or one for each target, as RUST_LOG has it
    #[arg(long, value_name = "FILTER", default_value = "info", env = "RUST_LOG")]
    pub(crate) log: EnvFilter,
}

/// The sides that a controller runs.
#[derive(Debug, Args)]
pub(crate) struct Sides {
    /// The provider's side; by default, both sides
    #[arg(long)]
    provider: bool,
    /// The consumer's side; by default, both sides
    #[arg(long)]
    consumer: bool,
}

impl Sides {
    pub(crate) fn has_provider(&self) -> bool {
        self.provider || !self.consumer
    }

    pub(crate) fn has_consumer(&self) -> bool {
        self.consumer || !self.provider
    }
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  liqo-auth run --kubeconfig provider.kubeconfig --provider
  liqo-auth run --in-cluster --listen 0.0.0.0:8080

Stop it with SIGTERM or SIGINT. The requests that are under way are finished.";
