//! The command line of `run`.

use clap::{Args, ValueEnum};
use liqo_auth_kube::LimitsEnforcement;
use tracing_subscriber::filter::EnvFilter;

use super::listening::ListenOptions;

/// Runs the controllers of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) sides: Sides,
    /// Replicate slices and renewals to the providers, as Liqo's crd-replicator does;
    /// for clusters without it
    #[arg(long)]
    pub(crate) replicate: bool,
    #[command(flatten)]
    pub(crate) rights: RightsOptions,
    #[command(flatten)]
    pub(crate) offloading: OffloadingOptions,
    #[command(flatten)]
    pub(crate) guard: GuardOptions,
    #[command(flatten)]
    pub(crate) listeners: ListenOptions,
    /// What to log: a level, or one for each target, as RUST_LOG has it
    #[arg(long, value_name = "FILTER", default_value = "info", env = "RUST_LOG")]
    pub(crate) log: EnvFilter,
}

/// The controllers' rights on Secrets.
#[derive(Debug, Args)]
pub(crate) struct RightsOptions {
    /// The ServiceAccount of these controllers, in Liqo's namespace: they bind it in each
    /// tenant namespace, and read no other Secrets
    #[arg(long, value_name = "NAME")]
    pub(crate) service_account: Option<String>,
    /// Watch the Secrets of all namespaces at once, for thousands of peers
    #[arg(long, requires = "service_account")]
    pub(crate) watch_all_secrets: bool,
}

/// The guard in front of Liqo's own authentication module.
#[derive(Debug, Args)]
pub(crate) struct GuardOptions {
    /// Answer the API server's reviews in front of Liqo's own authentication module, and do
    /// nothing else
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "enforce",
        requires = "webhook",
        conflicts_with_all = ["replicate", "offloading"]
    )]
    pub(crate) guard: Option<GuardMode>,
    /// Take the consumers that Liqo has let in before as they are
    #[arg(long, requires = "guard")]
    pub(crate) adopt: bool,
}

/// What the guard does with what it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GuardMode {
    /// The API server refuses it, too
    Enforce,
    /// It passes with a warning, and nothing is recorded
    Audit,
}

/// The objects that Liqo's offloading needs.
#[derive(Debug, Args)]
pub(crate) struct OffloadingOptions {
    /// Make VirtualNodes and Quotas from accepted slices, where Liqo's own authentication
    /// module is switched off
    #[arg(long)]
    offloading: bool,
    /// How strictly the Quotas are enforced on the pods that peers offload
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        default_value_t,
        requires = "offloading"
    )]
    default_limits_enforcement: EnforcementName,
}

impl OffloadingOptions {
    /// The enforcement of the Quotas; `None` without offloading.
    pub(crate) fn enforcement(&self) -> Option<LimitsEnforcement> {
        self.offloading
            .then(|| self.default_limits_enforcement.into())
    }
}

/// The enforcements by Liqo's names.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum EnforcementName {
    /// The pods need neither limits nor requests
    #[default]
    #[value(name = "None")]
    None,
    /// The pods need requests
    #[value(name = "Soft")]
    Soft,
    /// The pods need limits and equal requests
    #[value(name = "Hard")]
    Hard,
}

impl From<EnforcementName> for LimitsEnforcement {
    fn from(name: EnforcementName) -> Self {
        match name {
            EnforcementName::None => Self::None,
            EnforcementName::Soft => Self::Soft,
            EnforcementName::Hard => Self::Hard,
        }
    }
}

/// The sides whose rights are printed, and what else they do.
#[derive(Debug, Args)]
pub(crate) struct Rbac {
    #[command(flatten)]
    pub(crate) sides: Sides,
    /// Include the rights that `run --offloading` needs
    #[arg(long)]
    pub(crate) offloading: bool,
    /// Include the rights that `run --replicate` needs
    #[arg(long)]
    pub(crate) replicate: bool,
    /// Include the rights that `run --watch-all-secrets` needs
    #[arg(long)]
    pub(crate) watch_all_secrets: bool,
    /// Print the rights that `run --guard` needs, in place of the controllers'
    #[arg(long, conflicts_with_all = ["offloading", "replicate"])]
    pub(crate) guard: bool,
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
  liqo-auth run --in-cluster --service-account liqo-auth --probes 0.0.0.0:8080
  liqo-auth run --in-cluster --metrics 0.0.0.0:8081 --metrics-token-file /token/token
  liqo-auth run --kubeconfig consumer.kubeconfig --consumer --replicate
  liqo-auth run --in-cluster --offloading --default-limits-enforcement Hard
  liqo-auth run --in-cluster --webhook 0.0.0.0:8443 \\
      --webhook-tls-cert /tls/tls.crt --webhook-tls-key /tls/tls.key
  liqo-auth run --in-cluster --guard --webhook 0.0.0.0:8443 \\
      --webhook-tls-cert /tls/tls.crt --webhook-tls-key /tls/tls.key

Stop it with SIGTERM or SIGINT. The requests that are under way are finished.";
