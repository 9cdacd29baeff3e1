//! The home of a command, and that of the peer.

use liqo_auth::model::ClusterId;

use crate::{
    arguments::Remote,
    context::{Context, load},
    failure::{Failure, Result},
    home::{Home, ProviderAccess, Use},
};

/// The home of a command, and the peer's home if the command names it, or how the command
/// reaches the peer.
pub(super) struct Homes<R = Home> {
    pub(super) local: Home,
    pub(super) remote: Option<R>,
    pub(super) peer: ClusterId,
}

impl Homes {
    /// Opens the home of a command, and the remote home if the command names it.
    /// Both are opened for writing.
    pub(super) fn open(context: &Context, remote: &Remote) -> Result<Self> {
        let Homes {
            local,
            remote,
            peer,
        } = Homes::reach(context, remote)?;
        let remote = remote.map(ProviderAccess::administered).transpose()?;
        Ok(Self {
            local,
            remote,
            peer,
        })
    }
}

impl Homes<ProviderAccess> {
    /// Like [`open`](Homes::open), but a peering user may reach the remote cluster.
    pub(super) fn reach(context: &Context, remote: &Remote) -> Result<Self> {
        let Some(remote_site) = remote.site.named() else {
            let peer = remote.remote_cluster_id.clone();
            return Ok(Self {
                local: context.open(Use::Write)?,
                remote: None,
                peer: peer.ok_or_else(|| {
                    Failure::usage("name the remote cluster with --remote-cluster-id ID")
                })?,
            });
        };
        let local_site = context.site_beside(&remote_site)?;
        let (local, other) = context.open_with_provider(
            &local_site,
            &remote_site,
            |local, _| load(local),
            |other, _| load(other),
        )?;
        let peer = other.cluster_id().clone();
        if let Some(said) = remote.remote_cluster_id.as_ref().filter(|id| **id != peer) {
            return Err(Failure::usage(format!(
                "--remote-cluster-id {said}: {remote_site} is the home of {peer}"
            )));
        }
        Ok(Self {
            local,
            remote: Some(other),
            peer,
        })
    }
}
