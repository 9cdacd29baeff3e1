//! Peers that an administrator has declared gone for good.

use std::time::Duration;

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use liqo_auth::{
    machine::{Step, drive::SHORTLY},
    model::ClusterId,
};

use super::{
    peer::{ONE_SECOND, failed},
    replication::{Held, Originals},
    shared::{Reports, Shared},
};
use crate::{
    foreign_clusters::{Declaration, follow},
    watching::Change,
};

impl Shared {
    /// The changes of what is declared. Only a consumer has objects that wait for a peer, and a
    /// guard leaves them to Liqo.
    pub(super) fn follow_declarations(&self) -> BoxStream<'static, Change<Declaration>> {
        match self.sides().consumer.filter(|_| !self.guards) {
            Some(_) => follow(&self.client),
            None => stream::pending().boxed(),
        }
    }

    /// Takes a watch's change. Returns the peers to look at.
    pub(super) fn take_declaration(&self, change: Change<Declaration>) -> Vec<ClusterId> {
        let gone = self.gone().take(change);
        self.others(gone)
    }

    /// Removes the finalizers of Liqo's replicator from the objects that are being deleted and
    /// wait for a peer that is gone for good. Returns the delay before the next attempt.
    pub(super) async fn let_go(&self, peer: &ClusterId, reports: &mut Reports) -> Option<Duration> {
        let step = self.releases(peer);
        match self.carry_out(peer, step).await {
            Ok(overtaken) => overtaken.map(|_| SHORTLY),
            Err(error) => {
                self.counters.failures.add_one();
                let (message, report) = failed(&error);
                reports.insert(message, report);
                Some(ONE_SECOND)
            }
        }
    }

    fn releases(&self, peer: &ClusterId) -> Step {
        let mut step = Step::default();
        if self.gone().contains(peer)
            && let Ok(view) = self.mirror().view(peer)
        {
            step.effects = Originals::of(&view)
                .held
                .iter()
                .map(Held::release)
                .collect();
        }
        step
    }
}
