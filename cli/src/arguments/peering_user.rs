//! `generate peering-user` and `delete peering-user`.

use clap::{Args, ValueEnum};
use liqo_auth::model::ClusterId;

#[derive(Debug, Args)]
pub(crate) struct GeneratePeeringUser {
    /// The cluster ID of the cluster from which peering will be performed
    #[arg(long, value_name = "ID")]
    pub(crate) consumer_cluster_id: ClusterId,
    /// TLS compatibility mode of the user's key: RSA instead of Ed25519; auto: RSA if this
    /// cluster's key is RSA
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        default_value_t,
        value_name = "MODE"
    )]
    pub(crate) tls_compatibility_mode: TlsCompatibility,
}

#[derive(Debug, Args)]
pub(crate) struct DeletePeeringUser {
    /// The cluster ID of the cluster from which peering has been performed
    #[arg(long, value_name = "ID")]
    pub(crate) consumer_cluster_id: ClusterId,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsCompatibility {
    #[default]
    Auto,
    True,
    False,
}
