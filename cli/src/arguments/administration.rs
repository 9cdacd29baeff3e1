//! The command line of what follows once two clusters are authenticated.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use liqo_auth::model::ClusterId;

/// The other cluster: by its ID, or by its home where that is at hand.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID", required_unless_present = "remote_home")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// The home of the remote cluster, to go on there at once
    #[arg(long, value_name = "DIR", env = "LIQO_AUTH_REMOTE_HOME")]
    pub(crate) remote_home: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteHome {
    /// The home of the remote cluster
    #[arg(long, value_name = "DIR", env = "LIQO_AUTH_REMOTE_HOME")]
    pub(crate) remote_home: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print all of it for a program, instead of tables
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<StatusFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFormat {
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// Only with this cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// The home of the remote cluster, to go on there too
    #[arg(long, value_name = "DIR", env = "LIQO_AUTH_REMOTE_HOME")]
    pub(crate) remote_home: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Cordon {
    /// What the tenant has stays, and it gets no new slices
    #[command(visible_alias = "tenants")]
    Tenant(NamedTenant),
    /// What the slice has stays, and it gets nothing new
    #[command(name = "resourceslice", visible_aliases = ["rs", "resourceslices"])]
    ResourceSlice(NamedSlice),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Uncordon {
    /// The tenant gets what it asks for again, also after it was drained
    #[command(visible_alias = "tenants")]
    Tenant(NamedTenant),
    /// The slice gets what it asks for again
    #[command(name = "resourceslice", visible_aliases = ["rs", "resourceslices"])]
    ResourceSlice(NamedSlice),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Drain {
    /// The tenant's rights and slices go; its certificate and its Tenant stay
    #[command(visible_alias = "tenants")]
    Tenant(NamedTenant),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approve {
    /// Let the tenant's request be signed
    #[command(visible_alias = "tenants")]
    Tenant(NamedTenant),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Deny {
    /// Do not let the tenant's request be signed
    #[command(visible_alias = "tenants")]
    Tenant {
        #[command(flatten)]
        tenant: NamedTenant,
        /// Why, in a sentence
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SignAgain {
    /// Have the tenant's request signed
    #[command(visible_alias = "tenants")]
    Tenant(NamedTenant),
    /// Have the slice's request signed
    #[command(name = "resourceslice", visible_aliases = ["rs", "resourceslices"])]
    ResourceSlice(NamedSlice),
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
}
