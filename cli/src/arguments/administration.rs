//! The command line of the commands for clusters that are authenticated.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use liqo_auth::model::ClusterId;

use super::{
    Answering, kinds,
    output_format::{DocumentFormat, Output},
    sites::{LiqoNamespace, RemoteSite},
    switches::truth,
};

/// The remote cluster: its ID, or access to it.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID", required_unless_present_any = RemoteSite::NAMES)]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    #[command(flatten)]
    pub(crate) site: RemoteSite,
}

#[derive(Debug, Args)]
pub(crate) struct Replicate {
    #[command(flatten)]
    pub(crate) site: RemoteSite,
    #[command(flatten)]
    pub(crate) answering: Answering,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Only the peering with this cluster; a picture then shows its phases
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// Fail with exit code 4 if one of these is there, such as refused,expired
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    fail_if: Vec<FailIf>,
    /// The same as --fail-if with all that it knows
    #[arg(long, conflicts_with = "fail_if")]
    exit_code: bool,
    /// Fail with exit code 4 if a certificate ends within this time, such as 30d
    #[arg(long, value_name = "DURATION", value_parser = crate::values::durations::whole_seconds)]
    pub(crate) fail_if_expiring: Option<Duration>,
    /// Draw a tree: the peers on each side, their certificates and slices, what is wrong, and the
    /// remedies
    #[arg(long, conflicts_with = "output")]
    pub(crate) tree: bool,
    /// Show the state again whenever it changes, until the program is stopped
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print everything for programs, names, wider tables, a picture, or a monitor's line
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<StatusFormat>::parser())]
    pub(crate) output: Option<Output<StatusFormat>>,
}

impl Status {
    /// What ends it with a failure.
    pub(crate) fn fail_if(&self) -> &[FailIf] {
        match self.exit_code {
            true => FailIf::value_variants(),
            false => &self.fail_if,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFormat {
    Json,
    Yaml,
    /// The names of the peers, one a line
    Name,
    /// Tables with all columns, and with more of them
    Wide,
    /// A picture for Graphviz
    Dot,
    /// A picture for Mermaid, which Markdown pages show
    Mermaid,
    /// The line and the exit code of a Nagios plugin
    Nagios,
}

/// What a monitor is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailIf {
    /// An object of a peering is refused, or a slice is denied
    Refused,
    /// A certificate has ended
    Expired,
    /// A peering waits for something
    Waiting,
}

/// The language of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Picture {
    Dot,
    Mermaid,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print the findings in a format for programs
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<DocumentFormat>::parser())]
    pub(crate) output: Option<Output<DocumentFormat>>,
}

#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// Renew only the certificates of the peering with this cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    #[command(flatten)]
    pub(crate) site: RemoteSite,
    #[command(flatten)]
    pub(crate) answering: Answering,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Cordon {
    /// The tenant keeps what it has, and gets no new slices
    #[command(visible_aliases = kinds::TENANT)]
    Tenant(NamedTenants),
    /// The slice keeps what it has, and gets nothing new
    #[command(name = "resourceslice", visible_aliases = kinds::RESOURCE_SLICE)]
    ResourceSlice(NamedSlice),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Uncordon {
    /// Lift a cordon or a drain: the tenant gets what it requests
    #[command(visible_aliases = kinds::TENANT)]
    Tenant(NamedTenants),
    /// Lift the cordon: the slice gets what it requests
    #[command(name = "resourceslice", visible_aliases = kinds::RESOURCE_SLICE)]
    ResourceSlice(NamedSlice),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Activate {
    /// Lift a cordon or a drain: the tenant gets what it requests
    #[command(visible_aliases = kinds::TENANT)]
    Tenant(NamedTenants),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Drain {
    /// The tenant loses its rights and slices, and keeps its certificate and its Tenant
    #[command(visible_aliases = kinds::TENANT)]
    Tenant(NamedTenants),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approve {
    /// Allow the signature of the tenant's request
    #[command(visible_aliases = kinds::TENANT)]
    Tenant(NamedTenants),
    /// Grant the slice again what Liqo granted it, and what this cluster has not kept
    #[command(name = "resourceslice", visible_aliases = kinds::RESOURCE_SLICE)]
    ResourceSlice(NamedSlice),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Deny {
    /// Forbid the signature of the tenant's request
    #[command(visible_aliases = kinds::TENANT)]
    Tenant {
        #[command(flatten)]
        tenants: NamedTenants,
        /// The reason, in a sentence
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NamedTenants {
    /// The tenants' names: the cluster IDs of the consumers
    #[arg(id = "name", value_name = "NAME", required = true)]
    pub(crate) names: Vec<ClusterId>,
}

#[derive(Debug, Args)]
pub(crate) struct NamedTenant {
    /// The tenant's name: the cluster ID of the consumer
    pub(crate) name: ClusterId,
}

#[derive(Debug, Args)]
pub(crate) struct NamedSlice {
    /// The slice's name
    pub(crate) name: String,
    /// The cluster ID of the consumer that asked for it
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
}

#[derive(Debug, Args)]
pub(crate) struct Release {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
}

#[derive(Debug, Args)]
pub(crate) struct Unauthenticate {
    #[command(flatten)]
    pub(crate) remote: Remote,
    #[command(flatten)]
    pub(crate) liqo: LiqoNamespace,
    /// Wait until what was deleted is gone, for at most --timeout. On a cluster, this is the
    /// default; --wait=false does not wait
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = truth
    )]
    pub(crate) wait: Option<bool>,
    /// On the provider: the consumer's nonce does not serve again, as it does for `liqoctl
    /// authenticate` after an end
    #[arg(long = "final")]
    pub(crate) for_good: bool,
    /// Let Liqo also delete the namespaces that the consumer has offloaded to the provider
    #[arg(long)]
    pub(crate) delete_offloaded: bool,
}
