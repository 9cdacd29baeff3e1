//! The command line of `get`.

use clap::{Args, Subcommand, ValueEnum};
use liqo_auth::model::{ClusterId, NamespaceName};

use super::{
    aws::{self, GetAwsKeys},
    kinds,
    output_format::Output,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Get {
    /// The Tenants of this home (a provider's)
    #[command(visible_aliases = kinds::TENANTS)]
    Tenants(List),
    /// The Identities of this home (a consumer's)
    #[command(visible_aliases = kinds::IDENTITIES)]
    Identities(List),
    /// The ResourceSlices of this home: its own requests, and those of its peers
    #[command(name = "resourceslices", visible_aliases = kinds::RESOURCE_SLICES)]
    ResourceSlices(List),
    /// The Renews of this home: the objects that renew certificates
    #[command(visible_alias = "renew")]
    Renews(List),
    /// Only the text of a consumer's nonce; without --remote-cluster-id, a table of all nonces;
    /// with -o, their Secrets
    #[command(visible_alias = "nonces")]
    Nonce(GetNonce),
    /// The access keys that have to be deleted at AWS (on a provider that gives AWS users)
    #[command(name = "aws-keys", visible_alias = "aws-key", after_help = aws::EXAMPLES)]
    AwsKeys(GetAwsKeys),
    /// The kubeconfig for a provider; it contains the private key. Without a name and
    /// --remote-cluster-id, a table of all; with -o, their Secrets
    #[command(visible_aliases = ["kubeconfigs", "kc"])]
    Kubeconfig(GetKubeconfig),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only the object with this name
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// Which objects are shown, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shown {
    /// Only the objects in this namespace
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        conflicts_with = "all_namespaces"
    )]
    pub(crate) namespace: Option<NamespaceName>,
    /// Also show the namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Print manifests, only names, or a wider table
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<ListFormat>::parser())]
    pub(crate) output: Option<Output<ListFormat>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    Yaml,
    Json,
    /// Kind and name, one object a line
    Name,
    /// A table with more columns
    Wide,
}

/// With an output, the nonce is shown as its Secret.
#[derive(Debug, Args)]
pub(crate) struct GetNonce {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// With an output, the kubeconfig is shown as its Secret.
#[derive(Debug, Args)]
pub(crate) struct GetKubeconfig {
    /// The name of the Identity whose kubeconfig to print, such as
    /// controlplane-cl-provider
    #[arg(conflicts_with = "resourceslice")]
    pub(crate) name: Option<String>,
    /// The cluster ID of the remote cluster; its control plane's kubeconfig, unless a name
    /// is given
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// The kubeconfig of this resource slice, instead of the control plane's
    #[arg(long, value_name = "NAME", requires = "remote_cluster_id")]
    pub(crate) resourceslice: Option<String>,
    #[command(flatten)]
    pub(crate) shown: Shown,
}
