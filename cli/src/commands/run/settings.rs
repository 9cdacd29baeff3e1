//! Follows the settings in the cluster's ConfigMap and Secret while the controllers run: each
//! change counts at once, and declared peers are invited.

use std::{collections::BTreeSet, time::Duration};

use futures::{FutureExt, StreamExt, future::FusedFuture};
use liqo_auth::{
    machine::{Env, Step, View},
    model::ClusterId,
    provider::{Phase, Provider},
};
use liqo_auth_kube::Handle;
use tokio::time::sleep;

use super::machines::Machines;
use crate::{
    failure::{Failure, Result},
    home::Settings,
};

/// Takes over the settings for as long as it is polled. Settings that cannot be used are
/// logged, and those before them stay in force.
pub(super) async fn follow(machines: Machines<'_>, handle: Handle) {
    let home = machines.home();
    let mut states = home.settings_over_time(handle.has_provider() && machines.grants());
    let mut in_force = home.settings.clone();
    // Settings count while an API server is slow to answer an invitation.
    let mut inviting = async {}.boxed_local().fuse();
    loop {
        tokio::select! {
            state = states.next() => {
                let Some(state) = state else { return };
                let taken = state.and_then(|settings| {
                    if settings != in_force {
                        take(&machines, &handle, &settings)?;
                        tracing::info!("the settings have changed, and are in force");
                        in_force = settings;
                    }
                    Ok(())
                });
                if let Err(failure) = taken {
                    tracing::error!(%failure, "the settings cannot be used: those before stay in force");
                    continue;
                }
                let declared = in_force.peers.iter();
                let declared = declared.filter(|(_, peer)| machines.grants() && peer.invite);
                let declared = declared.map(|(peer, _)| peer.clone()).collect();
                inviting = invite_all(&handle, declared).boxed_local().fuse();
            }
            () = &mut inviting, if !inviting.is_terminated() => {}
        }
    }
}

/// Invites the peers that were never invited, and tries again until no invitation fails.
async fn invite_all(handle: &Handle, mut peers: BTreeSet<ClusterId>) {
    loop {
        peers = invite(handle, peers).await;
        if peers.is_empty() {
            return;
        }
        sleep(AGAIN).await;
    }
}

fn take(machines: &Machines<'_>, handle: &Handle, settings: &Settings) -> Result<()> {
    let failed = |error: liqo_auth_kube::Error| Failure::at_odds(error.to_string());
    if handle.has_provider() {
        let provider = machines.provider(settings)?;
        handle.set_provider(provider).map_err(failed)?;
    }
    if handle.has_consumer() {
        let consumer = machines.consumer(settings);
        handle.set_consumer(consumer).map_err(failed)?;
    }
    Ok(())
}

/// Invites the peers that were never invited. Returns those that are to be tried again. A
/// peer whose peering has ended waits for a person.
async fn invite(handle: &Handle, peers: BTreeSet<ClusterId>) -> BTreeSet<ClusterId> {
    if !handle.has_provider() {
        return BTreeSet::new();
    }
    let invitations = futures::stream::iter(peers).map(|peer| async move {
        let invitation = handle.order_provider(&peer, first_invitation).await;
        let error = invitation.err()?;
        tracing::warn!(%peer, %error, "not invited; tried again in a minute");
        Some(peer)
    });
    let failed = invitations.buffer_unordered(AT_ONCE);
    failed.filter_map(std::future::ready).collect().await
}

fn first_invitation(
    provider: &Provider,
    view: &View<'_>,
    env: Env,
) -> Result<Step, liqo_auth::error::Error> {
    match provider.look(view, env.now)?.phase {
        Phase::Uninvited => provider.invite(view, env),
        _ => Ok(Step::default()),
    }
}

const AT_ONCE: usize = 16;
const AGAIN: Duration = Duration::from_secs(60);
