//! The one thread that uses the home. It handles requests in batches.
//!
//! ```text
//!   inbox ──▶ batch ──▶ lock the home, read it anew if somebody changed it
//!                         look ──▶ claim ──┐
//!                         save ◀───────────┘   one wait for the disk for all
//!                         look ──▶ sign, keep, bind ──┐
//!                         save ◀──────────────────────┘
//!                       unlock ──▶ answers
//! ```
//!
//! A response is sent only when its content is on the disk. The worker handles one
//! request of a cluster ID at a time: from its first effect until its identity was
//! written to the connection, or could not be written. Requests with wrong tokens
//! have no effects, and wait for no other request.

use std::{collections::BTreeMap, mem, sync::Arc, thread, time::Duration};

use liqo_auth::{
    legacy::{IdentityRequest, Reply},
    model::ClusterId,
};
use tokio::sync::{
    mpsc::{UnboundedReceiver, WeakUnboundedSender},
    oneshot,
};

use super::{
    delivery::{Delivery, Outcome},
    log::{Entry, Log},
};
use crate::{
    failure::{Failure, Result},
    home::{Home, Resting, Site, Use},
    legacy::foreign_side::{ForeignSide, Look, apply},
};

/// A message to the worker.
pub(super) enum Message {
    Ask(Ask),
    /// An identity was written to its connection, or could not be.
    Finished {
        peer: ClusterId,
        outcome: Outcome,
    },
    /// The home was changed without the tool.
    ReadAnew,
}

/// A request for an identity.
pub(super) struct Ask {
    request: Box<IdentityRequest>,
    reply: oneshot::Sender<Verdict>,
    /// Whether this request is in progress. Other requests of its cluster ID wait
    /// for it.
    is_first: bool,
}

/// The result of a request.
pub(super) enum Verdict {
    Reply(Box<Reply>, Option<Delivery>),
    /// The request waits for something that this server cannot provide.
    Unavailable,
    /// This side could not handle the request. The log has the reason.
    Failed,
}

pub(super) struct HomeWorker {
    site: Site,
    side: Arc<ForeignSide>,
    /// The home between two batches. None after a failure: then it is opened again.
    resting: Option<Resting>,
    /// The cluster IDs with a request in progress, and the requests that wait for
    /// it.
    busy: BTreeMap<ClusterId, Vec<Ask>>,
    /// Requests that have waited, and can continue now.
    ready: Vec<Ask>,
    sender: WeakUnboundedSender<Message>,
    log: Arc<Log>,
}

/// The progress of a request in one round.
enum Progress {
    Settled(Settlement),
    /// The request continues after the home has been saved.
    Unsaved,
    /// Another request of its cluster ID is in progress.
    Parked,
}

enum Settlement {
    Reply(Box<Reply>),
    Unavailable,
    Failed,
}

#[derive(Default)]
struct Batch {
    asks: Vec<Ask>,
    done: Vec<oneshot::Sender<()>>,
    delivered: Vec<ClusterId>,
    freed: Vec<ClusterId>,
}

impl Ask {
    pub(super) fn new(request: Box<IdentityRequest>, reply: oneshot::Sender<Verdict>) -> Self {
        Self {
            request,
            reply,
            is_first: false,
        }
    }
}

impl HomeWorker {
    pub(super) fn new(
        home: Resting,
        side: Arc<ForeignSide>,
        sender: WeakUnboundedSender<Message>,
        log: Arc<Log>,
    ) -> Self {
        Self {
            site: home.site().clone(),
            side,
            resting: Some(home),
            busy: BTreeMap::new(),
            ready: Vec::new(),
            sender,
            log,
        }
    }

    /// Works until all senders are dropped.
    pub(super) fn run(mut self, mut inbox: UnboundedReceiver<Message>) {
        loop {
            let mut batch = Batch {
                asks: mem::take(&mut self.ready),
                ..Batch::default()
            };
            if batch.asks.is_empty() {
                match inbox.blocking_recv() {
                    None => return,
                    Some(message) => self.sort(message, &mut batch),
                }
            }
            // The pause collects more requests, and lets other processes lock the
            // home.
            thread::sleep(GATHERING);
            while batch.asks.len() < LARGEST_BATCH {
                match inbox.try_recv() {
                    Ok(message) => self.sort(message, &mut batch),
                    Err(_) => break,
                }
            }
            self.work(batch);
        }
    }

    fn sort(&mut self, message: Message, batch: &mut Batch) {
        match message {
            Message::Ask(ask) => batch.asks.push(ask),
            Message::Finished { peer, outcome } => {
                batch.done.extend(outcome.done);
                if outcome.is_delivered {
                    batch.delivered.push(peer.clone());
                }
                batch.freed.push(peer);
            }
            Message::ReadAnew => {
                if let Some(resting) = &mut self.resting {
                    resting.forget();
                }
            }
        }
    }

    fn work(&mut self, mut batch: Batch) {
        let mut settled = Vec::new();
        if let Err(failure) = self.work_with_home(&mut batch, &mut settled) {
            self.log.write(&Entry::Failed {
                peer: None,
                failure: &failure,
            });
            // No response may contain data that is only in memory.
            for (_, outcome) in &mut settled {
                *outcome = Settlement::Failed;
            }
            let others = batch.asks.drain(..).map(|ask| (ask, Settlement::Failed));
            settled.extend(others);
        }
        for (ask, outcome) in settled {
            self.answer(ask, outcome);
        }
        // Only now are the deliveries on the disk, or have failed for good.
        for peer in batch.freed {
            self.free(&peer);
        }
        for done in batch.done {
            let _ = done.send(());
        }
    }

    fn work_with_home(
        &mut self,
        batch: &mut Batch,
        settled: &mut Vec<(Ask, Settlement)>,
    ) -> Result<()> {
        let (mut home, is_read_anew) = match self.resting.take() {
            Some(resting) => resting.wake()?,
            None => (Home::open(&self.site, Use::Write)?, true),
        };
        if is_read_anew {
            self.side.collect_garbage(&mut home)?;
        }
        self.side.ensure_token(&mut home)?;
        for peer in &batch.delivered {
            self.side.delivered(&mut home, peer)?;
        }
        for _ in 0..MOST_ROUNDS {
            let mut unsaved = Vec::new();
            for mut ask in mem::take(&mut batch.asks) {
                match self.advance(&mut home, &mut ask) {
                    Progress::Settled(outcome) => settled.push((ask, outcome)),
                    Progress::Unsaved => unsaved.push(ask),
                    Progress::Parked => {
                        let peer = ask.request.peer.clone();
                        self.busy.entry(peer).or_default().push(ask);
                    }
                }
            }
            batch.asks = unsaved;
            home.save()?;
            if batch.asks.is_empty() {
                break;
            }
        }
        // The requests that are not settled continue in the next batch.
        self.ready.append(&mut batch.asks);
        self.resting = Some(home.rest()?);
        Ok(())
    }

    /// Handles a request as far as possible before the home is saved.
    fn advance(&mut self, home: &mut Home, ask: &mut Ask) -> Progress {
        let mut reason = None;
        if ask.reply.is_closed() {
            // The client has disconnected, or its time is over.
            return Progress::Settled(Settlement::Unavailable);
        }
        if !ask.is_first {
            match self.side.glance(home, &ask.request) {
                Ok(Some(reply)) if !reply.was_issued() => {
                    return Progress::Settled(Settlement::Reply(reply));
                }
                // `look` below has the same result.
                Ok(_) | Err(_) => {}
            }
        }
        for _ in 0..MOST_LOOKS {
            let look = match self.side.look(home, &ask.request) {
                Ok(look) => look,
                Err(failure) => {
                    reason = Some(failure);
                    break;
                }
            };
            match look {
                Look::Reply(reply) => {
                    if reply.was_issued() && !self.is_first(ask) {
                        return Progress::Parked;
                    }
                    return Progress::Settled(Settlement::Reply(reply));
                }
                Look::Effects(effects) => {
                    if !self.is_first(ask) {
                        return Progress::Parked;
                    }
                    // If an effect cannot be applied, the next look decides again.
                    reason = apply(home, &effects, self.side.clock()).err();
                }
                Look::Save => return Progress::Unsaved,
                Look::Waits => return Progress::Settled(Settlement::Unavailable),
            }
        }
        let failure = reason.unwrap_or_else(|| {
            Failure::at_odds(format!("{}: the request does not end", self.site))
        });
        self.log.write(&Entry::Failed {
            peer: Some(&ask.request.peer),
            failure: &failure,
        });
        Progress::Settled(Settlement::Failed)
    }

    /// Whether this is the request in progress of its cluster ID. If there is none,
    /// this request becomes it.
    fn is_first(&mut self, ask: &mut Ask) -> bool {
        if !ask.is_first && !self.busy.contains_key(&ask.request.peer) {
            self.busy.insert(ask.request.peer.clone(), Vec::new());
            ask.is_first = true;
        }
        ask.is_first
    }

    fn answer(&mut self, ask: Ask, outcome: Settlement) {
        let peer = ask.request.peer.clone();
        let (verdict, is_underway) = match outcome {
            Settlement::Reply(reply) if reply.was_issued() => {
                let worker = self.sender.upgrade();
                let delivery = worker.map(|worker| {
                    let peer = peer.clone();
                    Delivery::new(move |outcome| {
                        let _ = worker.send(Message::Finished { peer, outcome });
                    })
                });
                let is_underway = delivery.is_some();
                (Verdict::Reply(reply, delivery), is_underway)
            }
            Settlement::Reply(reply) => (Verdict::Reply(reply, None), false),
            Settlement::Unavailable => (Verdict::Unavailable, false),
            Settlement::Failed => (Verdict::Failed, false),
        };
        if ask.is_first && !is_underway {
            self.free(&peer);
        }
        // If the client has disconnected, the delivery is dropped, which tells the
        // worker.
        let _ = ask.reply.send(verdict);
    }

    fn free(&mut self, peer: &ClusterId) {
        let waiting = self.busy.remove(peer).into_iter().flatten();
        // Requests of clients that have disconnected are dropped.
        self.ready
            .extend(waiting.filter(|ask| !ask.reply.is_closed()));
    }
}

/// The pause in which more requests for a batch may arrive.
const GATHERING: Duration = Duration::from_millis(2);
/// The maximum number of requests in a batch. Each request has some files open while
/// the batch is written.
const LARGEST_BATCH: usize = 64;
const MOST_ROUNDS: usize = 4;
const MOST_LOOKS: usize = 12;
