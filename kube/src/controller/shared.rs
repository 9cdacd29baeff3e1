//! What the loop of a controller and its handles have in common.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::channel::{mpsc, oneshot};
use kube::Client;
use liqo_auth::{
    Consumer, Provider,
    error::Error as LibraryError,
    machine::{Concerns, Env, Machine, Mirror, Step, View, Watch},
    model::ClusterId,
};
use tokio::sync::watch;

use crate::{Clock, Cluster, Error, Transport, watching::Change};

/// The sides that a controller runs.
#[derive(Clone, Default)]
pub(super) struct Sides {
    pub(super) provider: Option<Provider>,
    pub(super) consumer: Option<Consumer>,
}

/// An order: a call of the library that gives a step.
pub(super) type Call =
    Arc<dyn Fn(&View<'_>, Env) -> Result<Step, LibraryError> + Send + Sync + 'static>;

pub(super) struct Order {
    pub(super) call: Call,
    pub(super) answer: oneshot::Sender<Result<Step, Error>>,
}

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(super) own: ClusterId,
    pub(super) sides: Sides,
    pub(super) transport: Option<Arc<dyn Transport>>,
    pub(super) clock: Clock,
    pub(super) poll: Duration,
    mirror: Mutex<Mirror>,
    orders: Mutex<BTreeMap<ClusterId, VecDeque<Order>>>,
    records: Mutex<BTreeMap<ClusterId, Record>>,
    wake: mpsc::UnboundedSender<ClusterId>,
    pub(super) synchronized: watch::Sender<bool>,
}

/// What a controller remembers of a peer. None of it is needed: it keeps messages
/// and log lines from being repeated.
#[derive(Default)]
pub(super) struct Record {
    /// The digests of the messages that were delivered, or are on their way.
    pub(super) delivered: BTreeSet<[u8; 32]>,
    /// How many attempts in a row have failed.
    pub(super) failures: u32,
    /// What was logged last.
    pub(super) logged: BTreeSet<String>,
}

impl Record {
    /// Counts an attempt, and returns how many have failed in a row.
    pub(super) fn count(&mut self, has_failed: bool) -> u32 {
        self.failures = if has_failed {
            self.failures.saturating_add(1)
        } else {
            0
        };
        self.failures
    }
}

impl Sides {
    pub(super) fn machines(&self) -> impl Iterator<Item = &dyn Machine> {
        let provider = self.provider.iter().map(|side| -> &dyn Machine { side });
        let consumer = self.consumer.iter().map(|side| -> &dyn Machine { side });
        provider.chain(consumer)
    }
}

impl Shared {
    pub(super) fn new(
        cluster: Cluster,
        sides: Sides,
        mirror: Mirror,
        transport: Option<Arc<dyn Transport>>,
        clock: Clock,
        poll: Duration,
        wake: mpsc::UnboundedSender<ClusterId>,
    ) -> Self {
        Self {
            client: cluster.client,
            own: cluster.id,
            sides,
            transport,
            clock,
            poll,
            mirror: Mutex::new(mirror),
            orders: Mutex::default(),
            records: Mutex::default(),
            wake,
            synchronized: watch::Sender::new(false),
        }
    }

    pub(super) fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of a peer.
    pub(super) fn record<T>(&self, peer: &ClusterId, with: impl FnOnce(&mut Record) -> T) -> T {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        with(records.entry(peer.clone()).or_default())
    }

    /// Takes what a watch tells. Returns the peers to look at.
    pub(super) fn take(&self, watch: &Watch, change: Change) -> Vec<ClusterId> {
        let mut mirror = self.mirror();
        let concerns = match change {
            Change::Listed(objects) => mirror.relist(watch, objects),
            Change::Seen(object) => mirror.observe(watch, *object),
            Change::Left(id) => mirror.forget(watch, &id),
        };
        let concerns = concerns.unwrap_or_else(|error| {
            tracing::error!(%watch, %error, "the watch shows an object that it does not select");
            Concerns::Nobody
        });
        if mirror.view(&self.own).is_err() {
            return Vec::new();
        }
        let is_first = self
            .synchronized
            .send_if_modified(|seen| !core::mem::replace(seen, true));
        let peers: Vec<ClusterId> = match concerns {
            Concerns::Everybody => mirror.peers().cloned().collect(),
            _ if is_first => mirror.peers().cloned().collect(),
            Concerns::Nobody => Vec::new(),
            Concerns::Peer(peer) => vec![peer],
            Concerns::Peers(peers) => peers,
        };
        peers.into_iter().filter(|peer| *peer != self.own).collect()
    }

    /// Looks at a peer soon.
    pub(super) fn wake(&self, peer: &ClusterId) -> Result<(), Error> {
        let sent = self.wake.unbounded_send(peer.clone());
        sent.map_err(|_| Error::Stopped)
    }

    /// Gives an order, and waits for what came of it.
    pub(super) async fn order(&self, peer: &ClusterId, call: Call) -> Result<Step, Error> {
        let (answer, answered) = oneshot::channel();
        let order = Order { call, answer };
        self.queue(peer, order);
        self.wake(peer)?;
        answered.await.map_err(|_| Error::Stopped)?
    }

    fn queue(&self, peer: &ClusterId, order: Order) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.entry(peer.clone()).or_default().push_back(order);
    }

    /// Drops all orders that wait: nobody carries them out any more.
    pub(super) fn drop_orders(&self) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.clear();
    }

    pub(super) fn next_order(&self, peer: &ClusterId) -> Option<Order> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = orders.get_mut(peer)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            orders.remove(peer);
        }
        next
    }
}
