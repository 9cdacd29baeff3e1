//! Making VirtualNodes and Quotas from the accepted slices of a peer.

use std::time::Duration;

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::api::PostParams;
use liqo_auth::{
    machine::{Concerns, drive::SHORTLY},
    model::{ClusterId, ObjectRef},
};

use super::{
    peer::{ONE_SECOND, failed},
    shared::{Reports, Shared},
};
use crate::{
    Error,
    error::{in_time, succeeds_in_time},
    offloading::{
        Affected, Listing, MadeChange, MadeKind, Offloading, Wanted, follow, quotas, virtual_nodes,
    },
};

/// The result of making one object.
enum Outcome {
    /// The API server has the object, or its watch is about to show it.
    Done,
    /// Another writer has changed the object first.
    Overtaken,
}

impl Shared {
    /// The changes of the objects that are made; none without offloading.
    pub(super) fn follow_made(&self) -> BoxStream<'static, (MadeKind, MadeChange)> {
        match &self.offloading {
            Some(offloading) => follow(&self.client, &offloading.kinds),
            None => stream::pending().boxed(),
        }
    }

    /// Takes a watch's change. Returns the peers to look at.
    pub(super) fn take_made(&self, kind: MadeKind, change: MadeChange) -> Vec<ClusterId> {
        let Some(offloading) = &self.offloading else {
            return Vec::new();
        };
        let affected = offloading.known().take(kind, change);
        let mirror = self.mirror();
        // Once all objects are listed, each peer is looked at.
        if !self.is_synchronized() {
            return Vec::new();
        }
        let concerns = |slice: &ObjectRef| match mirror.get(slice) {
            Some(slice) => mirror.concerns(slice),
            None => Concerns::Nobody,
        };
        let mut peers = Vec::new();
        match affected {
            Affected::All => peers.extend(mirror.peers().cloned()),
            Affected::Slices(slices) => {
                for slice in &slices {
                    match concerns(slice) {
                        Concerns::Peer(peer) => peers.push(peer),
                        Concerns::Peers(several) => peers.extend(several),
                        Concerns::Nobody | Concerns::Everybody => {}
                    }
                }
            }
        }
        self.others(peers)
    }

    /// Makes what is wanted for the slices of a peer. Returns the delay before the next
    /// attempt if one object could not be made.
    pub(super) async fn offload(
        &self,
        peer: &ClusterId,
        reports: &mut Reports,
    ) -> Option<Duration> {
        let offloading = self.offloading.as_ref()?;
        let mut wanted = Vec::new();
        for of_side in self.wanted(offloading, peer) {
            match of_side {
                Ok(objects) => wanted.extend(objects),
                // The side's look reports the same, and is tried again.
                Err(error) => {
                    reports.extend([failed(&error)]);
                }
            }
        }
        let mut retry = None;
        for object in &wanted {
            let kind = object.id().kind;
            let listing = offloading.known().listing(kind);
            match listing {
                Listing::Awaited => continue,
                Listing::NotServed => {
                    let error = Error::NoOffloading(kind.plural());
                    reports.extend([failed(&error)]);
                    continue;
                }
                Listing::Complete => {}
            }
            match self.make(offloading, object).await {
                Ok(Outcome::Done) => {}
                Ok(Outcome::Overtaken) => {
                    self.counters.conflicts.add_one();
                    retry = retry.or(Some(SHORTLY));
                }
                Err(error) => {
                    self.counters.failures.add_one();
                    reports.extend([failed(&error)]);
                    retry = Some(ONE_SECOND);
                }
            }
        }
        retry
    }

    /// What is wanted for the slices of a peer. If one side fails, the other side's objects
    /// are wanted nevertheless.
    fn wanted(&self, offloading: &Offloading, peer: &ClusterId) -> Vec<Result<Vec<Wanted>, Error>> {
        let sides = self.sides();
        let mirror = self.mirror();
        let Ok(view) = mirror.view(peer) else {
            return Vec::new();
        };
        let of_provider = sides
            .provider
            .iter()
            .map(|provider| Ok(quotas(provider, &view, offloading.enforcement)?));
        let of_consumer = sides
            .consumer
            .iter()
            .map(|consumer| Ok(virtual_nodes(consumer, &view, self.clock.now()?)?));
        of_provider.chain(of_consumer).collect()
    }

    /// Makes one object as it is wanted, unless the API server has it already.
    async fn make(&self, offloading: &Offloading, wanted: &Wanted) -> Result<Outcome, Error> {
        let id = wanted.id();
        let neighbours = id.neighbours(&self.client);
        let known = offloading.known().get(&id).cloned();
        let is_watched = known.is_some();
        let present = match known {
            None if id.kind.may_be_unwatched() => {
                let found = neighbours.get_opt(&id.name);
                succeeds_in_time(format!("get {id}"), found).await?
            }
            known => known,
        };
        let present = present.as_ref();
        if present.is_none() && !wanted.is_made() {
            return Ok(Outcome::Done);
        }
        if present.is_some_and(|present| present.metadata.deletion_timestamp.is_some()) {
            // It is made anew when it is gone. The watch tells when, if it shows the object.
            return Ok(match is_watched {
                true => Outcome::Done,
                false => Outcome::Overtaken,
            });
        }
        let object = wanted.object(present)?;
        if present == Some(&object) || !offloading.known().note(&id, present, &object) {
            return Ok(Outcome::Done);
        }
        let plain = PostParams::default();
        let answer = match present {
            None => {
                let created = neighbours.create(&plain, &object);
                in_time(format!("create {id}"), created).await
            }
            Some(_) => {
                let replaced = neighbours.replace(&id.name, &plain, &object);
                in_time(format!("replace {id}"), replaced).await
            }
        };
        let answer = answer.inspect_err(|_| offloading.known().not_written(&id))?;
        let Err(error) = answer else {
            self.counters.effects.add_one();
            tracing::info!(object = %id, "made from an accepted slice");
            return Ok(Outcome::Done);
        };
        offloading.known().not_written(&id);
        match error {
            kube::Error::Api(status) if [CONFLICT, NOT_FOUND].contains(&status.code) => {
                Ok(Outcome::Overtaken)
            }
            error => Err(Error::request(format!("write {id}"), error)),
        }
    }
}

/// Another writer was faster, or the name is taken.
const CONFLICT: u16 = 409;
/// The object or its namespace is gone.
const NOT_FOUND: u16 = 404;
