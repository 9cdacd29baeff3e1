//! Peers whose last message was refused for another key, address or CA, as after a backup was restored
//! or a home was made anew. Nothing that is stored says so, but the log of a home.

use std::collections::BTreeMap;

use liqo_auth::{
    audit::EntryContent,
    model::{ClusterId, Timestamp, names},
};

use crate::{
    home::Home,
    output::program,
    remedies::{authenticate_again, release_command},
};

/// When each of them was refused, and why, if nothing was decided about it since.
#[derive(Default)]
pub(super) struct OtherKeys(BTreeMap<ClusterId, (Timestamp, Differs)>);

/// What differs in the message of a peer.
enum Differs {
    /// The key of a consumer, from the pinned one.
    ConsumersKey,
    /// The key that a provider's Identity is for, from this cluster's.
    OwnKey,
    /// What a provider's Identity says of the provider, from what is pinned.
    Provider,
}

impl OtherKeys {
    /// Takes the next entry of the log.
    pub(super) fn follow(&mut self, entry: &EntryContent) {
        let peer = entry.peer.clone();
        match refused_as(entry) {
            Some(differs) => self.0.insert(peer, (entry.time, differs)),
            None => self.0.remove(&peer),
        };
    }

    /// What to do about each of them.
    pub(super) fn notes(&self, home: &Home) -> impl Iterator<Item = String> {
        self.0.iter().map(move |(peer, (time, differs))| match differs {
            Differs::ConsumersKey => format!(
                "{peer} came with another key than the pinned one at {time}, and was refused. If {peer} was made anew, or restored from a backup, ask its administrator over another channel whether this key is right. Then release the pinned one. {}",
                release_command(home, peer)
            ),
            Differs::OwnKey => of_own_key(home, peer, *time),
            Differs::Provider => format!(
                "{peer} answered with another address, CA or key than the pinned one at {time}, and was refused. If {peer} was made anew, restored from a backup or has moved, ask its administrator over another channel whether this is right. Then release what is pinned. {} {}",
                release_command(home, peer),
                authenticate_again(home, peer)
            ),
        })
    }
}

fn of_own_key(home: &Home, peer: &ClusterId, time: Timestamp) -> String {
    let (program, own) = (program(), home.cluster_id());
    format!(
        "{peer} answered for another key of this cluster at {time}, and was refused. If one of the two was restored from a backup, an earlier key is back. Then the administrator of {peer} runs `{program} release --remote-cluster-id {own}`. {}",
        authenticate_again(home, peer)
    )
}

/// What differs in the message that is refused.
fn refused_as(entry: &EntryContent) -> Option<Differs> {
    if entry.decision != "Refused" {
        return None;
    }
    let reason = entry.details.get("reason").map(String::as_str);
    let reason = reason.unwrap_or_default();
    let identity = format!("Identity {}", names::identity_name(&entry.peer));
    let is_answer = entry.object == Some(identity);
    if reason.starts_with("changed: the cluster ID is pinned to the key ") {
        Some(Differs::ConsumersKey)
    } else if is_answer && reason.starts_with("for another key: ") {
        Some(Differs::OwnKey)
    } else if is_answer && reason.starts_with("changed: ") {
        Some(Differs::Provider)
    } else {
        None
    }
}
