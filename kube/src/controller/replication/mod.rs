//! The replication of a consumer's resource slices and Renews to its providers, as
//! Liqo's crd-replicator does it.
//!
//! ```text
//! consumer's cluster          Replication           provider's tenant namespace
//!   slices, Renews ──────────── specs ─────────────▶ replicas
//!   their statuses ◀─────────── statuses ─────────── their statuses
//! ```
//!
//! Each provider has a replication of its own, so that a provider that does not answer
//! delays nothing else. A replication does not keep state: the replicas, which a watch lists,
//! show what is left to do.
//!
//! Source: Liqo `internal/crdReplicator`.

mod originals;
mod remote;

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture, stream::FuturesUnordered};
use liqo_auth::{
    error::Error as LibraryError,
    machine::{
        Step, View,
        drive::{MOST_OVERTAKINGS, SHORTLY},
        replication,
    },
    model::{ClusterId, ObjectRef},
};
use tokio::{sync::Notify, time::sleep};

pub(super) use self::originals::{Held, Originals};

use self::{originals::Identity, remote::Remote};
use super::{failures::Failures, peer::ONE_SECOND, shared::Shared};
use crate::{Error, error::with_sources};

/// The running replications, one for each provider.
pub(super) struct Replications {
    shared: Arc<Shared>,
    /// Wakes the replication of a provider.
    asked: BTreeMap<ClusterId, Arc<Notify>>,
    /// A replication returns its provider at its end.
    pub(super) running: FuturesUnordered<BoxFuture<'static, ClusterId>>,
}

impl Replications {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: shared.clone(),
            asked: BTreeMap::new(),
            running: FuturesUnordered::new(),
        }
    }

    /// Wakes the replication to a peer, whose objects may have changed. Starts it if there
    /// is something to replicate.
    pub(super) fn look(&mut self, peer: &ClusterId) {
        if let Some(asked) = self.asked.get(peer) {
            asked.notify_one();
            return;
        }
        if !self.shared.has_replication(peer) {
            return;
        }
        let asked = Arc::new(Notify::new());
        self.asked.insert(peer.clone(), asked.clone());
        let replication = Replication {
            shared: self.shared.clone(),
            peer: peer.clone(),
            remote: None,
            failures: Failures::default(),
            reported: None,
        };
        self.running.push(replication.run(asked).boxed());
    }

    /// Takes the end of a replication. The objects may have changed since its last look.
    pub(super) fn ended(&mut self, peer: &ClusterId) {
        self.asked.remove(peer);
        self.look(peer);
    }
}

impl Shared {
    /// Whether this controller replicates, and the peer's objects need it.
    fn has_replication(&self, peer: &ClusterId) -> bool {
        if self.connect.is_none() || self.sides().consumer.is_none() {
            return false;
        }
        let mirror = self.mirror();
        let view = mirror.view(peer);
        view.is_ok_and(|view| !Originals::of(&view).is_over())
    }
}

/// The replication to one provider.
struct Replication {
    shared: Arc<Shared>,
    peer: ClusterId,
    /// The provider's cluster, once the consumer has an identity for it.
    remote: Option<Remote>,
    failures: Failures,
    /// The failure that was reported last.
    reported: Option<String>,
}

impl Replication {
    /// Replicates until the consumer has no identity from the provider any more.
    async fn run(mut self, asked: Arc<Notify>) -> ClusterId {
        loop {
            let originals = self.originals();
            let replicated = self.replicate(&originals).await;
            let again = self.report(replicated).await;
            // The identity may be deleted at once after a Renew, so the last look carries
            // the deletion of the Renew.
            let has_tried = again.is_none() || self.failures.in_a_row() >= LAST_ATTEMPTS;
            if originals.is_over() && has_tried {
                return self.peer;
            }
            self.wait(&asked, again).await;
        }
    }

    /// The state of the consumer's objects.
    fn originals(&self) -> Originals {
        let mirror = self.shared.mirror();
        let Ok(view) = mirror.view(&self.peer) else {
            return Originals::default();
        };
        let originals = Originals::of(&view);
        let sides = self.shared.sides();
        let (Some(consumer), Ok(now)) = (sides.consumer, self.shared.clock.now()) else {
            return originals;
        };
        match consumer.look(&view, now) {
            Ok(status) => originals.at(&status),
            Err(_) => originals,
        }
    }

    /// Carries specs and deletions to the provider, and then the statuses back. Returns an
    /// object that another writer has changed first.
    async fn replicate(&mut self, originals: &Originals) -> Result<Option<ObjectRef>, Error> {
        let connected = self.remote.as_ref().map(Remote::identity);
        if let Some(identity) = &originals.verified
            && connected != Some(identity)
        {
            self.remote = Some(connect(&self.shared, identity)?);
        }
        let mut forth = Ok(None);
        let mut back = Step::default();
        if let Some(remote) = &mut self.remote {
            let step = between(&self.shared, &self.peer, remote, replication::to_provider)?;
            forth = remote.carry_out(step, &self.shared.counters).await;
            back = between(&self.shared, &self.peer, remote, replication::to_consumer)?;
        }
        // What the provider refuses delays nothing else.
        let held = originals.held.iter();
        let released = held.filter(|held| self.may_go(held));
        back.effects.extend(released.map(Held::release));
        if back.is_settled() {
            return forth;
        }
        let overtaken = self.shared.carry_out(&self.peer, back).await?;
        // The consumer's side looks at the new statuses.
        let _ = self.shared.wake(&self.peer);
        forth.map(|at_provider| at_provider.or(overtaken))
    }

    /// Whether an object that is being deleted need not wait for the provider.
    fn may_go(&self, held: &Held) -> bool {
        let remote = self.remote.as_ref();
        remote.is_none_or(|remote| remote.has_let_go(&held.id))
    }

    /// Reports a new failure. Returns the delay before the next attempt.
    async fn report(&mut self, replicated: Result<Option<ObjectRef>, Error>) -> Option<Duration> {
        let (first, failure) = match replicated {
            Ok(None) => {
                let failure = self.remote.as_ref().and_then(Remote::failure);
                if failure.is_none() {
                    self.reported = None;
                }
                (None, failure)
            }
            Ok(Some(id)) => (Some(SHORTLY), Some(format!("{id} {CANNOT_BE_WRITTEN}"))),
            Err(error) => {
                self.shared.counters.failures.add_one();
                (Some(ONE_SECOND), Some(with_sources(&error)))
            }
        };
        let again = self.failures.count(first);
        // A conflict with another writer is over soon.
        let is_conflict = first == Some(SHORTLY);
        let is_lasting = !is_conflict || self.failures.in_a_row() >= MOST_OVERTAKINGS;
        if failure.is_some() && is_lasting && self.reported != failure {
            let note = failure.clone().unwrap_or_default();
            tracing::warn!(peer = %self.peer, reason = NOT_REPLICATED, "{note}");
            let regarding = self.shared.regarding(&self.peer, None);
            if let Some(events) = &self.shared.events {
                events.warned(&regarding, NOT_REPLICATED, &note).await;
            }
            self.reported = failure;
        }
        again
    }

    /// Waits for a change at the consumer or at the provider, or for the next attempt.
    async fn wait(&mut self, asked: &Notify, again: Option<Duration>) {
        let attempt = async {
            match again {
                Some(delay) => sleep(delay).await,
                None => pending().await,
            }
        };
        let remote = self.remote.as_mut();
        let changed = async {
            match remote {
                Some(remote) => remote.changed().await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = asked.notified() => {}
            () = changed => {}
            () = attempt => {}
        }
    }
}

/// The step between the two clusters in one direction. It is empty until all replicas are
/// listed.
fn between(
    shared: &Shared,
    peer: &ClusterId,
    remote: &Remote,
    direction: fn(&View<'_>, &View<'_>) -> Result<Step, LibraryError>,
) -> Result<Step, Error> {
    let mirror = shared.mirror();
    let (Ok(at_consumer), Some(at_provider)) = (mirror.view(peer), remote.view()) else {
        return Ok(Step::default());
    };
    Ok(direction(&at_consumer, &at_provider)?)
}

fn connect(shared: &Shared, identity: &Identity) -> Result<Remote, Error> {
    let config = identity
        .config()
        .map_err(|error| identity.unusable(with_sources(&error)))?;
    let Some(connect) = &shared.connect else {
        return Err(identity.unusable("this controller does not replicate"));
    };
    let client = connect(config, &identity.addresses)
        .map_err(|error| identity.unusable(with_sources(&error)))?;
    Remote::new(client, &shared.own, identity)
}

/// The reason of log messages and of Kubernetes events.
const NOT_REPLICATED: &str = "NotReplicated";
const CANNOT_BE_WRITTEN: &str = "cannot be written: it is missing or keeps changing, or its name is taken by an object that is no replica";
/// After the end of the peering, nothing waits for a provider that refuses.
const LAST_ATTEMPTS: u32 = 4;
