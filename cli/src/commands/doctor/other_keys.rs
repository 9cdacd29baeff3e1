//! Peers whose last message was refused for another key, as after a backup was restored. Nothing that
//! is stored says so, but the log of a home.

use std::collections::BTreeMap;

use liqo_auth::{
    audit::EntryContent,
    model::{ClusterId, Timestamp, names},
};

use crate::{
    home::Home,
    output::program,
    overview::Role,
    remedies::{authenticate_again, release_command},
};

/// When each of them was refused, and as what, if nothing was decided about it since.
#[derive(Default)]
pub(super) struct OtherKeys(BTreeMap<ClusterId, (Timestamp, Role)>);

impl OtherKeys {
    /// Takes the next entry of the log.
    pub(super) fn follow(&mut self, entry: &EntryContent) {
        let peer = entry.peer.clone();
        match refused_as(entry) {
            Some(role) => self.0.insert(peer, (entry.time, role)),
            None => self.0.remove(&peer),
        };
    }

    /// What to do about each of them.
    pub(super) fn notes(&self, home: &Home) -> impl Iterator<Item = String> {
        self.0.iter().map(move |(peer, (time, role))| match role {
            Role::Consumer => format!(
                "{peer} came with another key than the pinned one at {time}, and was refused. If {peer} was made anew, or restored from a backup, ask its administrator over another channel whether this key is right. Then release the pinned one. {}",
                release_command(home, peer)
            ),
            Role::Provider => of_provider(home, peer, *time),
        })
    }
}

fn of_provider(home: &Home, peer: &ClusterId, time: Timestamp) -> String {
    let (program, own) = (program(), home.cluster_id());
    format!(
        "{peer} answered for another key of this cluster at {time}, and was refused. If one of the two was restored from a backup, an earlier key is back. Then the administrator of {peer} runs `{program} release --remote-cluster-id {own}`. {}",
        authenticate_again(home, peer)
    )
}

/// What the peer was that is refused for a key: a consumer that is pinned to another one, or a
/// provider whose Identity is for another one.
fn refused_as(entry: &EntryContent) -> Option<Role> {
    if entry.decision != "Refused" {
        return None;
    }
    let reason = entry.details.get("reason").map(String::as_str);
    let reason = reason.unwrap_or_default();
    let identity = format!("Identity {}", names::identity_name(&entry.peer));
    if reason.starts_with("changed: the cluster ID is pinned to the key ") {
        Some(Role::Consumer)
    } else if reason.starts_with("for another key: ") && entry.object == Some(identity) {
        Some(Role::Provider)
    } else {
        None
    }
}
