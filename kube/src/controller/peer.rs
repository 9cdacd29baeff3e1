//! Handling one peer: first its orders, then looks until no look has effects.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use liqo_auth::{
    machine::{Awaited, Machine, Message, Step},
    model::{ClusterId, ObjectRef, names},
};

use super::{
    Done, events,
    shared::{Order, Reports, Shared},
};
use crate::{Applied, Error, error::with_sources, object};

/// The result of carrying out the effects of a step.
pub(super) enum Carried {
    /// All effects are applied, and the mirror shows them.
    Shown,
    /// All effects are applied. A watch will show them.
    Unshown,
    /// Another writer has changed this object first.
    Overtaken(ObjectRef),
}

/// Why one side of a peer stopped looking.
enum Pause {
    /// Nothing is left to do until an object changes, or until this time has passed.
    Until(Option<Duration>),
    /// All effects are applied. A watch will show them soon.
    Unshown,
    /// Another writer has changed this object first. A watch will show the change
    /// soon.
    Overtaken(ObjectRef),
    /// Every look had effects, up to the maximum number of looks.
    Unsettled,
}

impl Shared {
    /// Carries out the orders for a peer, and then the steps of each side. Returns the
    /// delay after which to look again, and the messages to deliver.
    pub(super) async fn handle_peer(self: Arc<Self>, peer: ClusterId) -> Done {
        let mut outbox = Vec::new();
        if !self.is_synchronized() || self.awaits_secrets(&peer) {
            // The peer is returned again once all its objects are listed.
            return Done {
                peer,
                again: None,
                outbox: Some(outbox),
            };
        }
        self.record(&peer, |record| record.pace.count());
        while let Some(order) = self.next_order(&peer) {
            let outcome = self.execute(&peer, &order).await;
            // The caller may have stopped waiting.
            let _ = order.answer.send(outcome);
        }
        let mut again: Option<Duration> = None;
        let mut reports = Reports::new();
        let mut retry = None;
        let mut overtaken = None;
        let mut is_complete = true;
        let sides = self.sides();
        for side in sides.machines() {
            let pause = self.advance(&peer, side, &mut reports, &mut outbox).await;
            is_complete &= matches!(pause, Ok(Pause::Until(_)));
            match pause {
                Ok(Pause::Until(delay)) => again = again.into_iter().chain(delay).min(),
                Ok(Pause::Unshown) => again = again.into_iter().chain([ONE_SECOND]).min(),
                Ok(Pause::Overtaken(id)) => {
                    retry = retry.or(Some(SHORTLY));
                    overtaken = Some(id);
                }
                Ok(Pause::Unsettled) => {
                    let message = format!("{MOST_LOOKS} looks in a row had effects to apply");
                    reports.insert(message, UNSETTLED);
                    retry = Some(ONE_SECOND);
                }
                Err(error) => {
                    self.counters.failures.add_one();
                    reports.insert(with_sources(&error), FAILED);
                    retry = Some(ONE_SECOND);
                }
            }
        }
        let offloading = self.offload(&peer, &mut reports).await;
        retry = retry.into_iter().chain(offloading).min();
        let (retry, in_a_row) = self.record(&peer, |record| {
            (record.looks.count(retry), record.looks.in_a_row())
        });
        if let Some(id) = overtaken.filter(|_| in_a_row >= MOST_ATTEMPTS) {
            let message = format!("{id} cannot be written: it is missing or keeps changing");
            reports.insert(message, FAILED);
        }
        again = again.into_iter().chain(retry).min();
        self.report(&peer, reports, is_complete).await;
        Done {
            outbox: Some(self.undelivered(&peer, outbox)),
            peer,
            again,
        }
    }

    /// Looks at a peer for one side and applies the effects, until a look has no
    /// effects.
    async fn advance(
        &self,
        peer: &ClusterId,
        side: &dyn Machine,
        reports: &mut Reports,
        outbox: &mut Vec<Message>,
    ) -> Result<Pause, Error> {
        for _ in 0..MOST_LOOKS {
            self.fetch_unwatched(peer).await?;
            let step = {
                let mirror = self.mirror();
                let Ok(view) = mirror.view(peer) else {
                    return Ok(Pause::Until(None));
                };
                self.counters.looks.add_one();
                side.reconcile(&view, self.clock.env()?)?
            };
            if self.chooses_key(peer, &step).await? {
                continue;
            }
            // A notice is reported even if the step removes its cause.
            let notices = step.notices.iter();
            reports
                .extend(notices.filter_map(|notice| Some((events::note(notice, peer)?, NOTICE))));
            match self.carry_out(peer, &step).await? {
                Carried::Shown => {}
                Carried::Unshown => return Ok(Pause::Unshown),
                Carried::Overtaken(id) => return Ok(Pause::Overtaken(id)),
            }
            if step.is_settled() {
                let refusals = step.refused.iter().map(|refused| refused.error.to_string());
                reports.extend(refusals.map(|refusal| (refusal, REFUSED)));
                let delay = self.next_look(&step)?;
                outbox.extend(step.outbox);
                return Ok(Pause::Until(delay));
            }
        }
        Ok(Pause::Unsettled)
    }

    /// Finds or makes the key towards a provider if the step awaits it. Returns true if the
    /// step has to be made again with this key.
    async fn chooses_key(&self, peer: &ClusterId, step: &Step) -> Result<bool, Error> {
        if !step.wait.awaiting.contains(&Awaited::OwnKey) {
            return Ok(false);
        }
        let (Some(keys), Some(consumer)) = (&self.provider_keys, self.sides().consumer) else {
            return Ok(false);
        };
        keys.choose(peer, |of_cluster, setting| {
            let now = self.clock.now()?;
            let mirror = self.mirror();
            let view = mirror.view(peer).map_err(|_| Error::NotSynchronized)?;
            Ok(consumer.takes_own_key(&view, of_cluster, setting, now)?)
        })
        .await
    }

    async fn execute(&self, peer: &ClusterId, order: &Order) -> Result<Step, Error> {
        let mut overtaken = None;
        for attempt in 0..MOST_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(SHORTLY * attempt).await;
            }
            self.fetch_unwatched(peer).await?;
            let step = {
                let mirror = self.mirror();
                let view = mirror.view(peer).map_err(|_| Error::NotSynchronized)?;
                (order.call)(&view, self.clock.env()?)?
            };
            if self.chooses_key(peer, &step).await? {
                continue;
            }
            match self.carry_out(peer, &step).await? {
                Carried::Overtaken(id) => {
                    overtaken = Some(id);
                    // The records are written before the objects that a peer may write. What
                    // follows from them does not wait for a peer that writes all the time.
                    self.offload(peer, &mut Reports::new()).await;
                }
                Carried::Shown | Carried::Unshown => return Ok(step),
            }
        }
        Err(overtaken.map_or(Error::Stopped, Error::Conflict))
    }

    /// Applies the effects of a step in their order, up to the first conflict with
    /// another writer. The decisions of the step are logged once all effects are
    /// applied.
    pub(super) async fn carry_out(&self, peer: &ClusterId, step: &Step) -> Result<Carried, Error> {
        let mut carried = Carried::Shown;
        for effect in &step.effects {
            tracing::debug!(%peer, object = %effect.id(), "applies an effect");
            let applied = self.apply(effect).await?;
            match applied {
                Applied::Written(_) | Applied::Deleted => self.counters.effects.add_one(),
                _ => self.counters.conflicts.add_one(),
            }
            match applied {
                Applied::Written(object) => {
                    if !self.mirror().written(effect, *object) {
                        carried = Carried::Unshown;
                    }
                }
                Applied::Deleted => carried = Carried::Unshown,
                Applied::NameTaken => {
                    self.fetch(peer, &effect.id()).await?;
                    return Ok(Carried::Overtaken(effect.id()));
                }
                Applied::Conflict | Applied::Missing => {
                    return Ok(Carried::Overtaken(effect.id()));
                }
            }
        }
        for event in &step.events {
            if let Ok(event) = serde_json::to_string(event) {
                tracing::info!(target: "liqo_auth::audit", %peer, "{event}");
            }
        }
        if let Some(events) = self.events.as_ref().filter(|_| !step.events.is_empty()) {
            let namespace = self.tenant_namespace(peer);
            let decided = step.events.iter();
            join_all(decided.map(|event| events.decided(&namespace, event))).await;
        }
        Ok(carried)
    }

    /// Fetches again the objects that no watch shows.
    async fn fetch_unwatched(&self, peer: &ClusterId) -> Result<(), Error> {
        let unwatched: Vec<ObjectRef> = self.mirror().unwatched(peer).cloned().collect();
        for id in unwatched {
            self.fetch(peer, &id).await?;
        }
        Ok(())
    }

    async fn fetch(&self, peer: &ClusterId, id: &ObjectRef) -> Result<(), Error> {
        let found = match self.may_read(id) {
            true => object::get(&self.client, id).await?,
            false => None,
        };
        let mut mirror = self.mirror();
        match found {
            Some(object) => {
                if let Err(error) = mirror.fetched(peer, object) {
                    tracing::error!(%peer, object = %id, %error, "the API server sent an object without a name");
                }
            }
            None => {
                mirror.gone(id);
            }
        }
        Ok(())
    }

    /// Delivers messages. If a delivery fails, the result contains a delay. The next
    /// look then has the message in its outbox again.
    pub(super) async fn deliver(self: Arc<Self>, peer: ClusterId, outbox: Vec<Message>) -> Done {
        let delivering = self.record(&peer, |record| record.delivering.clone());
        let _delivering = delivering.lock().await;
        let mut failed = None;
        for message in &outbox {
            let Some(transport) = &self.transport else {
                break;
            };
            let name = message.body.name();
            match transport.deliver(message).await {
                Ok(()) => {
                    self.counters.deliveries.add_one();
                    tracing::info!(%peer, message = name, "delivered");
                }
                Err(source) => {
                    let error = Error::Delivery {
                        message: name,
                        source,
                    };
                    tracing::warn!(%peer, error = %with_sources(&error), "not delivered");
                    self.counters.failed_deliveries.add_one();
                    let digest = message.digest();
                    self.record(&peer, |record| record.delivered.remove(&digest));
                    failed = Some(ONE_SECOND);
                }
            }
        }
        let again = self.record(&peer, |record| record.deliveries.count(failed));
        Done {
            peer,
            again,
            outbox: None,
        }
    }

    /// The messages that are not delivered yet. They count as delivered from now on,
    /// unless the delivery fails.
    fn undelivered(&self, peer: &ClusterId, outbox: Vec<Message>) -> Vec<Message> {
        if self.transport.is_none() {
            return Vec::new();
        }
        self.record(peer, |record| {
            let present = outbox.iter().map(Message::digest).collect();
            let before = core::mem::replace(&mut record.delivered, present);
            let is_fresh = |message: &Message| !before.contains(&message.digest());
            outbox.into_iter().filter(is_fresh).collect()
        })
    }

    /// The delay before the next look: until the step's wake-up time, and at most the
    /// polling interval if a backend has not answered.
    fn next_look(&self, step: &Step) -> Result<Option<Duration>, Error> {
        let mut delay = None;
        if let Some(wake_at) = step.wait.wake_at {
            let seconds = wake_at.unix().saturating_sub(self.clock.now()?.unix());
            delay = Some(Duration::from_secs(seconds.max(1).unsigned_abs()));
        }
        if step.wait.awaiting.iter().any(is_answered_outside) {
            delay = Some(delay.map_or(self.poll, |delay| delay.min(self.poll)));
        }
        Ok(delay)
    }

    /// Logs and publishes the messages that are not logged yet.
    async fn report(&self, peer: &ClusterId, reports: Reports, is_complete: bool) {
        let fresh = self.record(peer, |record| record.note(reports, is_complete));
        if fresh.is_empty() {
            return;
        }
        let namespace = self.tenant_namespace(peer);
        for (message, reason) in &fresh {
            tracing::warn!(%peer, reason, "{message}");
        }
        if let Some(events) = &self.events {
            let warned = fresh.iter();
            let warned = warned.map(|(message, reason)| events.warned(&namespace, reason, message));
            join_all(warned).await;
        }
    }

    /// The name of the peer's tenant namespace, which contains the peer's events.
    pub(super) fn tenant_namespace(&self, peer: &ClusterId) -> String {
        let mirror = self.mirror();
        match mirror.view(peer) {
            Ok(view) => events::tenant_namespace(&view),
            Err(_) => names::tenant_namespace(peer),
        }
    }
}

/// Whether a backend gives the answer. No watch reports such an answer.
fn is_answered_outside(awaited: &Awaited) -> bool {
    matches!(
        awaited,
        Awaited::Names
            | Awaited::Approval
            | Awaited::Credential(_)
            | Awaited::OwnKey
            | Awaited::Signature(_)
            | Awaited::Resources(_)
    )
}

// The reasons of log messages and of Kubernetes events.
const REFUSED: &str = "Refused";
const NOTICE: &str = "Notice";
pub(super) const FAILED: &str = "Failed";
const UNSETTLED: &str = "Unsettled";
/// More looks in a row than any exchange needs.
const MOST_LOOKS: usize = 32;
pub(super) const MOST_ATTEMPTS: u32 = 8;
/// Usually long enough for a watch to show another writer's change.
pub(super) const SHORTLY: Duration = Duration::from_millis(50);
pub(super) const ONE_SECOND: Duration = Duration::from_secs(1);
