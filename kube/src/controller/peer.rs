//! Handling one peer: first its orders, then looks until no look has effects.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use liqo_auth::{
    machine::{
        Awaited, Effect, Machine, Message, Side, Step, View,
        drive::{self, MOST_OVERTAKINGS, Next, Run, SHORTLY, Stopped},
    },
    model::{ClusterId, Object, ObjectError, ObjectRef, names},
};

use super::{
    Done,
    events::{self, Regarding},
    shared::{Call, Report, Reports, Shared},
};
use crate::{Applied, Error, error::with_sources, object};

/// Why one side of a peer stopped looking.
enum Pause {
    /// Nothing is left to do until an object changes, or until this time has passed.
    Until(Option<Duration>),
    /// All effects are applied. A watch will show them before this time has passed.
    Unshown(Duration),
    /// Another writer has changed this object first. A watch will show the change
    /// soon.
    Overtaken(ObjectRef),
    /// Every look had effects, up to the maximum number of looks.
    Restless(Stopped),
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
            let outcome = self.execute(&peer, &order.call).await;
            // The caller may have stopped waiting.
            let _ = order.answer.send(outcome);
        }
        if self.guards {
            return Done {
                again: self.confirm(&peer).await,
                peer,
                outbox: Some(outbox),
            };
        }
        let mut again: Option<Duration> = None;
        let mut reports = Reports::new();
        let mut retry = None;
        let mut overtaken = None;
        let mut is_complete = true;
        let sides = self.sides();
        for machine in sides.machines() {
            let pause = self
                .advance(&peer, machine, &mut reports, &mut outbox)
                .await;
            is_complete &= matches!(pause, Ok(Pause::Until(_)));
            match pause {
                Ok(Pause::Until(delay)) => again = again.into_iter().chain(delay).min(),
                Ok(Pause::Unshown(delay)) => again = again.into_iter().chain([delay]).min(),
                Ok(Pause::Overtaken(id)) => {
                    retry = retry.or(Some(SHORTLY));
                    overtaken = Some(id);
                }
                Ok(Pause::Restless(stopped)) => {
                    reports.insert(stopped.to_string(), report(UNSETTLED, None));
                    retry = Some(ONE_SECOND);
                }
                Err(error) => {
                    self.counters.failures.add_one();
                    reports.extend([failed(&error)]);
                    retry = Some(ONE_SECOND);
                }
            }
        }
        let offloading = self.offload(&peer, &mut reports).await;
        let released = self.let_go(&peer, &mut reports).await;
        retry = retry.into_iter().chain(offloading).chain(released).min();
        let (retry, in_a_row) = self.record(&peer, |record| {
            (record.looks.count(retry), record.looks.in_a_row())
        });
        if let Some(id) = overtaken.filter(|_| in_a_row >= MOST_OVERTAKINGS) {
            let message = format!("{id} cannot be written: it is missing or keeps changing");
            reports.insert(message, report(FAILED, Some(id)));
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
        (side, machine): (Side, &dyn Machine),
        reports: &mut Reports,
        outbox: &mut Vec<Message>,
    ) -> Result<Pause, Error> {
        let (mut run, mut has_chosen) = (Run::to_rest(), false);
        loop {
            match run.next() {
                Err(stopped) => return Ok(Pause::Restless(stopped)),
                // The loop of the controller waits, and begins another run.
                Ok(Next::Look { after }) if !after.is_zero() => {
                    return Ok(match run.overtaken() {
                        Some(id) => Pause::Overtaken(id.clone()),
                        None => Pause::Unshown(after),
                    });
                }
                Ok(Next::Look { .. }) => {
                    self.fetch_unwatched(peer).await?;
                    let step = {
                        let mirror = self.mirror();
                        let Ok(view) = mirror.view(peer) else {
                            return Ok(Pause::Until(None));
                        };
                        self.counters.looks.add_one();
                        machine.reconcile(&view, self.clock.env()?)?
                    };
                    // Once: a key that is still awaited is asked for at the next run.
                    if !has_chosen && self.chooses_key(peer, &step).await? {
                        has_chosen = true;
                        continue;
                    }
                    // A notice is reported even if the step removes its cause.
                    reports.extend(self.noticed(peer, side, &step));
                    run.looked(step);
                    self.publish(peer, run.carried_out()).await;
                }
                Ok(Next::Confirm(id)) => {
                    let is_absent = self.is_absent(peer, id).await?;
                    run.confirmed(is_absent);
                }
                Ok(Next::Apply(_)) => self.apply_all(peer, &mut run).await?,
                Ok(Next::Rest) => break,
            }
        }
        let step = run.into_step();
        reports.extend(step.refused.iter().map(|refused| {
            let object = refused.object.clone();
            (
                events::refusal(&refused.error, peer, side),
                report(REFUSED, object),
            )
        }));
        reports.extend(self.awaited(peer, side, &step));
        outbox.extend(step.outbox);
        Ok(Pause::Until(
            step.wait.next_run(self.clock.now()?, self.poll),
        ))
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

    pub(super) async fn execute(&self, peer: &ClusterId, call: &Call) -> Result<Step, Error> {
        let (mut run, mut has_chosen) = (Run::of_one_step(), false);
        loop {
            match run.next() {
                Err(Stopped::Overtaken(id)) => return Err(Error::Conflict(id)),
                Err(_) => return Err(Error::Stopped),
                Ok(Next::Look { after }) => {
                    if !after.is_zero() {
                        // The records are written before the objects that a peer may write.
                        // What follows from them does not wait for a peer that writes all the
                        // time.
                        self.offload(peer, &mut Reports::new()).await;
                        tokio::time::sleep(after).await;
                    }
                    self.fetch_unwatched(peer).await?;
                    let step = {
                        let mirror = self.mirror();
                        let view = mirror.view(peer).map_err(|_| Error::NotSynchronized)?;
                        call(&view, self.clock.env()?)?
                    };
                    if !has_chosen && self.chooses_key(peer, &step).await? {
                        has_chosen = true;
                        continue;
                    }
                    run.looked(step);
                    self.publish(peer, run.carried_out()).await;
                }
                Ok(Next::Confirm(id)) => {
                    let is_absent = self.is_absent(peer, id).await?;
                    run.confirmed(is_absent);
                }
                Ok(Next::Apply(_)) => self.apply_all(peer, &mut run).await?,
                Ok(Next::Rest) => return Ok(run.into_step()),
            }
        }
    }

    /// Applies the effects of a step that is made of the objects of two clusters, up to the
    /// first conflict. Returns the object that another writer has changed first.
    pub(super) async fn carry_out(
        &self,
        peer: &ClusterId,
        step: Step,
    ) -> Result<Option<ObjectRef>, Error> {
        let mut run = Run::of_one_step();
        run.looked(step);
        self.apply_all(peer, &mut run).await?;
        Ok(run.overtaken().cloned())
    }

    /// Applies what is left of a step, up to the first conflict, and publishes its decisions
    /// then.
    async fn apply_all(&self, peer: &ClusterId, run: &mut Run) -> Result<(), Error> {
        while let Ok(Next::Apply(effect)) = run.next() {
            let applied = self.apply_for(peer, effect).await?;
            run.applied(applied);
        }
        self.publish(peer, run.carried_out()).await;
        Ok(())
    }

    /// Applies one effect, and shows the answer to the mirror.
    async fn apply_for(&self, peer: &ClusterId, effect: &Effect) -> Result<drive::Applied, Error> {
        tracing::debug!(%peer, object = %effect.id(), "applies an effect");
        let applied = self.apply(effect).await?;
        match applied {
            Applied::Written(_) | Applied::Deleted => self.counters.effects.add_one(),
            _ => self.counters.conflicts.add_one(),
        }
        Ok(match applied {
            Applied::Written(object) => match self.mirror().written(effect, *object) {
                true => drive::Applied::Shown,
                false => drive::Applied::Unshown,
            },
            Applied::Deleted => drive::Applied::Unshown,
            Applied::NameTaken => {
                self.fetch(peer, &effect.id()).await?;
                drive::Applied::Overtaken
            }
            Applied::Conflict | Applied::Missing => drive::Applied::Overtaken,
        })
    }

    /// Logs and publishes the decisions of a step whose effects are all applied.
    async fn publish(&self, peer: &ClusterId, step: Option<&Step>) {
        let decided = step.map(|step| step.events.as_slice()).unwrap_or_default();
        for event in decided {
            if let Ok(event) = serde_json::to_string(event) {
                tracing::info!(target: "liqo_auth::audit", %peer, "{event}");
            }
        }
        if let Some(events) = self.events.as_ref().filter(|_| !decided.is_empty()) {
            let decided = decided.iter();
            let decided = decided.map(|event| (event, self.regarding(peer, event.object.as_ref())));
            let decided: Vec<_> = decided.collect();
            let published = decided.iter();
            let published = published.map(|(event, regarding)| events.decided(regarding, event));
            join_all(published).await;
        }
    }

    /// Fetches again the objects that no watch shows, and those whose content has a place again.
    async fn fetch_unwatched(&self, peer: &ClusterId) -> Result<(), Error> {
        let unwatched: Vec<ObjectRef> = self.mirror().unwatched(peer).collect();
        for id in unwatched {
            // A watch shows the object, and its content or all of it had no room in the mirror.
            // The rights to list suffice to find it.
            let is_watched = self.mirror().get(&id).is_none_or(|found| {
                let unreadable = found.as_unreadable();
                unreadable.is_some_and(|it| matches!(it.reason, ObjectError::OverBudget { .. }))
            });
            if is_watched {
                self.is_absent(peer, &id).await?;
            } else {
                self.fetch(peer, &id).await?;
            }
        }
        Ok(())
    }

    async fn fetch(&self, peer: &ClusterId, id: &ObjectRef) -> Result<(), Error> {
        let found = match self.may_read(id) {
            true => object::get(&self.client, id).await?,
            false => None,
        };
        self.show(peer, id, found);
        Ok(())
    }

    /// Whether the API server has no object of that ID. If it has one, the mirror shows it.
    async fn is_absent(&self, peer: &ClusterId, id: &ObjectRef) -> Result<bool, Error> {
        let found = object::find(&self.client, id).await?;
        let is_absent = found.is_none();
        self.show(peer, id, found);
        Ok(is_absent)
    }

    /// Shows the mirror an object as the API server has it now.
    fn show(&self, peer: &ClusterId, id: &ObjectRef, found: Option<Object>) {
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
                    self.record(&peer, |record| record.delivered.failed(message));
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
        self.record(peer, |record| record.delivered.take(outbox))
    }

    /// Logs and publishes the messages that are not logged yet.
    async fn report(&self, peer: &ClusterId, reports: Reports, is_complete: bool) {
        let fresh = self.record(peer, |record| record.note(reports, is_complete));
        if fresh.is_empty() {
            return;
        }
        for (message, report) in &fresh {
            tracing::warn!(%peer, reason = report.reason, "{message}");
        }
        if let Some(events) = &self.events {
            let warned = fresh.iter().map(|(message, report)| async {
                let regarding = self.regarding(peer, report.object.as_ref());
                events.warned(&regarding, report.reason, message).await;
            });
            join_all(warned).await;
        }
    }

    /// The notices of a step, each with the object that it speaks of.
    fn noticed(&self, peer: &ClusterId, side: Side, step: &Step) -> Reports {
        let mirror = self.mirror();
        let view = mirror.view(peer).ok();
        let namespace = tenant_namespace(view.as_ref(), peer);
        let noticed = step.notices.iter().map(|notice| {
            let object = view.as_ref();
            let object = object.and_then(|view| events::object_of(notice, view, &namespace));
            (events::note(notice, peer, side), report(NOTICE, object))
        });
        noticed.collect()
    }

    /// What an administrator has to do next, each with the object to decide on.
    fn awaited(&self, peer: &ClusterId, side: Side, step: &Step) -> Reports {
        let mirror = self.mirror();
        let view = mirror.view(peer).ok();
        let namespace = tenant_namespace(view.as_ref(), peer);
        let awaited = step.wait.awaiting.iter().filter_map(|awaited| {
            let order = events::order(awaited, peer, side)?;
            let object = view.as_ref();
            let object = object.and_then(|view| events::object_awaited(awaited, view, &namespace));
            Some((order, report(AWAITED, object)))
        });
        awaited.collect()
    }

    /// What an event about an object of a peer regards. The peer's tenant namespace contains
    /// the peer's events.
    pub(super) fn regarding(&self, peer: &ClusterId, object: Option<&ObjectRef>) -> Regarding {
        let mirror = self.mirror();
        let view = mirror.view(peer).ok();
        Regarding::of(
            &tenant_namespace(view.as_ref(), peer),
            object,
            view.as_ref(),
        )
    }
}

fn tenant_namespace(view: Option<&View<'_>>, peer: &ClusterId) -> String {
    view.map_or_else(|| names::tenant_namespace(peer), events::tenant_namespace)
}

pub(super) fn report(reason: &'static str, object: Option<ObjectRef>) -> Report {
    Report { reason, object }
}

/// The report of a failure.
pub(super) fn failed(error: &Error) -> (String, Report) {
    (with_sources(error), report(FAILED, error.object().cloned()))
}

// The reasons of log messages and of Kubernetes events.
const REFUSED: &str = "Refused";
const NOTICE: &str = "Notice";
const AWAITED: &str = "Awaited";
const FAILED: &str = "Failed";
const UNSETTLED: &str = "Unsettled";
pub(super) const ONE_SECOND: Duration = Duration::from_secs(1);
