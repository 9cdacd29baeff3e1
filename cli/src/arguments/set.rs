//! The command line of `set`.

use std::path::PathBuf;

use clap::Subcommand;
use liqo_auth::model::ApiServerUrl;

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
}
