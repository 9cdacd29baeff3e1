//! `legacy`: the shared-token protocol of Liqo 0.2 to 0.10.

mod authenticate;
mod get;
mod peer;
mod release;
mod serve;
mod set_remote_token;
pub(crate) mod status;

use crate::{
    arguments::{Legacy, LegacyGet, LegacySet},
    context::Context,
    failure::Result,
};

pub(super) fn run(context: &Context, command: Legacy) -> Result<()> {
    match command {
        Legacy::Authenticate(arguments) => authenticate::run(context, &arguments),
        Legacy::Serve(arguments) => serve::run(context, &arguments),
        Legacy::Peer(arguments) => peer::run(context, &arguments),
        Legacy::Get(LegacyGet::Token) => get::token(context),
        Legacy::Get(LegacyGet::Certificate) => get::certificate(context),
        Legacy::Set(LegacySet::RemoteToken {
            remote_cluster_id,
            token_file,
        }) => set_remote_token::run(context, &remote_cluster_id, &token_file),
        Legacy::Release { remote_cluster_id } => release::run(context, &remote_cluster_id),
        Legacy::Status => status::run(context),
    }
}
