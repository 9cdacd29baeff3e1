//! `export`: what the cluster of a home takes by `kubectl apply`.

use super::listing;
use crate::{
    arguments::Export,
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
};

pub(super) fn run(context: &Context, arguments: &Export) -> Result<()> {
    let home = Home::open_folder(&context.folder()?, Use::Read)?;
    listing::warn(context, &home);
    let peer = arguments.remote_cluster_id.as_ref();
    let values = home.exported(peer, arguments.secrets);
    if values.is_empty() {
        let whose = peer.map(|peer| format!(" of {peer}")).unwrap_or_default();
        return Err(Failure::waiting(format!(
            "{} has nothing{whose} for its cluster",
            home.site()
        )));
    }
    listing::print_all(context, &values, arguments.output)
}
