//! The arguments of `create nonce` and `delete nonce`.

use clap::Args;
use liqo_auth::model::ClusterId;

use super::Format;

#[derive(Debug, Args)]
pub(crate) struct CreateNonce {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// Let this cluster in without a handshake, if its Tenant asks for that
    #[arg(long)]
    pub(crate) tolerate_no_handshake: bool,
    /// Replace the existing nonce with a new one
    #[arg(long)]
    pub(crate) replace: bool,
    /// Output the resulting namespace and nonce secret, with no additional output
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteNonce {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
}
