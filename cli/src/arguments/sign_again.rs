//! The command line of `sign-again`.

use clap::{Args, Subcommand};

use super::{
    administration::{NamedSlice, NamedTenant},
    kinds,
};

#[derive(Debug, Subcommand)]
pub(crate) enum SignAgain {
    /// Request a certificate for the tenant again
    #[command(visible_aliases = kinds::TENANT)]
    Tenant {
        #[command(flatten)]
        tenant: NamedTenant,
        #[command(flatten)]
        force: Force,
    },
    /// Request a certificate for the slice again
    #[command(name = "resourceslice", visible_aliases = kinds::RESOURCE_SLICE)]
    ResourceSlice {
        #[command(flatten)]
        slice: NamedSlice,
        #[command(flatten)]
        force: Force,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Force {
    /// Also sign a certificate that is in force again, by the recorded request: after a change
    /// of the CA that signs
    #[arg(long)]
    pub(crate) force: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  liqo-auth sign-again tenant cl-consumer --home ./cl-provider
  liqo-auth sign-again resourceslice mypool --home ./cl-provider --remote-cluster-id cl-consumer
  liqo-auth sign-again tenant cl-consumer --home ./cl-provider --force";
