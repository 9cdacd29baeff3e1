//! The command line of `rotate`.

use clap::{Args, Subcommand};
use liqo_auth::model::ClusterId;

use crate::values::key_algorithm::KeyAlgorithm;

#[derive(Debug, Subcommand)]
pub(crate) enum Rotate {
    /// Make a new key for one provider; the earlier key signs it and stays in use until the
    /// provider has accepted it
    Key(RotateKey),
}

#[derive(Debug, Args)]
pub(crate) struct RotateKey {
    /// The cluster ID of the provider
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The algorithm of the new key; by default, that of the earlier key
    #[arg(long, value_enum, value_name = "ALGORITHM")]
    pub(crate) key_algorithm: Option<KeyAlgorithm>,
}
