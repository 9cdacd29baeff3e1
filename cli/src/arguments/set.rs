//! The command line of `set`.

use std::path::PathBuf;

use clap::Subcommand;
use liqo_auth::model::{ApiServerUrl, ClusterId};

use super::aws::{self, SetAwsUser};
use crate::values::renewal_name::RenewalName;

#[derive(Debug, Subcommand)]
pub(crate) enum Set {
    /// The URL of the API server, as peers reach it
    ApiServer {
        /// The URL
        url: ApiServerUrl,
        /// The CA of its certificate (PEM), if it changes, too
        #[arg(long, value_name = "FILE")]
        ca: Option<PathBuf>,
    },
    /// The CA of the API server's certificate
    Ca {
        /// The file with the CA certificates (PEM)
        #[arg(required_unless_present = "default")]
        file: Option<PathBuf>,
        /// The CA that signs for peers (of a home), or the kubeconfig's
        #[arg(long, conflicts_with = "file")]
        default: bool,
    },
    /// The AWS user of a consumer, in place of a certificate (on a provider with `signer: aws`)
    #[command(after_help = aws::EXAMPLES)]
    AwsUser(Box<SetAwsUser>),
    /// Who renews the certificates that a provider gives to this cluster (on the consumer)
    Renewal {
        /// The scheme
        #[arg(value_enum)]
        scheme: RenewalName,
        /// The cluster ID of the provider
        #[arg(long, value_name = "ID")]
        remote_cluster_id: ClusterId,
    },
}
