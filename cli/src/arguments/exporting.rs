//! The command line of what a person carries to real clusters.

use clap::Args;
use liqo_auth::model::ClusterId;

use super::Format;

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Only what the peering with this cluster needs
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// Also print the kubeconfigs for providers, which contain the private key, and the Identities with AWS keys
    #[arg(long)]
    pub(crate) secrets: bool,
    /// The format of the manifests
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateCarried {
    /// The object's name
    pub(crate) name: String,
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The format of the manifest
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  liqo-auth export --home ./cl-provider | kubectl apply -f -
  liqo-auth export --home ./cl-consumer --remote-cluster-id cl-provider --secrets | kubectl apply -f -

The manifests have nothing of the home's own: no UID, version, owner, finalizer or status.
They can be applied again and again. Secrets other than kubeconfigs stay in the home.";
