//! The state that the loop of a controller shares with its handles.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::channel::{mpsc, oneshot};
use kube::{Client, Config};
use liqo_auth::{
    Consumer, Provider,
    error::Error as LibraryError,
    machine::{
        Concerns, Env, Machine, Mirror, MirrorError, Side, Step, View, Watch, drive::Deliveries,
    },
    model::{ClusterId, ObjectRef},
    policy::Addresses,
};
use tokio::sync::watch;

use super::{counts::Counters, events::Events, failures::Failures, pace::Pace};
use crate::{
    Clock, Cluster, Error, LimitsEnforcement, ProviderKeys, Transport,
    foreign_clusters::Gone,
    offloading::{MadeKind, Offloading},
    tenant_namespaces::Account,
    watching::Change,
};

/// The sides that a controller runs.
#[derive(Clone, Default)]
pub(super) struct Sides {
    pub(super) provider: Option<Provider>,
    pub(super) consumer: Option<Consumer>,
}

/// The content of an order: a call of the library that returns a step.
pub(super) type Call =
    Arc<dyn Fn(&View<'_>, Env) -> Result<Step, LibraryError> + Send + Sync + 'static>;

pub(super) struct Order {
    pub(super) call: Call,
    pub(super) answer: oneshot::Sender<Result<Step, Error>>,
}

/// The embedder's settings.
pub(super) struct Choices {
    pub(super) transport: Option<Arc<dyn Transport>>,
    pub(super) clock: Clock,
    pub(super) poll: Duration,
    pub(super) events: Option<Events>,
    pub(super) connect: Option<Connect>,
    pub(super) offloading: Option<LimitsEnforcement>,
    /// The name of the ServiceAccount that is bound in tenant namespaces.
    pub(super) account: Option<String>,
    pub(super) watches_all_secrets: bool,
    pub(super) provider_keys: Option<ProviderKeys>,
    /// Whether only orders are carried out.
    pub(super) guards: bool,
}

/// Makes the client of a provider from the configuration of a kubeconfig. It connects to these
/// addresses only.
pub(super) type Connect =
    Arc<dyn Fn(Config, &Addresses) -> Result<Client, kube::Error> + Send + Sync>;

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(super) own: ClusterId,
    sides: Mutex<Sides>,
    pub(super) transport: Option<Arc<dyn Transport>>,
    pub(super) clock: Clock,
    pub(super) poll: Duration,
    pub(super) events: Option<Events>,
    /// Set if slices and renewals are replicated to the providers.
    pub(super) connect: Option<Connect>,
    pub(super) offloading: Option<Offloading>,
    /// Set if the controller's rights on Secrets are those of RoleBindings in tenant
    /// namespaces.
    pub(super) account: Option<Arc<Account>>,
    pub(super) watches_all_secrets: bool,
    pub(super) provider_keys: Option<ProviderKeys>,
    pub(super) guards: bool,
    /// The tenant namespaces whose Secrets are not listed yet, with their peers.
    unlisted: Mutex<BTreeMap<String, ClusterId>>,
    mirror: Mutex<Mirror>,
    /// The peers that an administrator has declared gone for good.
    gone: Mutex<Gone>,
    orders: Mutex<BTreeMap<ClusterId, VecDeque<Order>>>,
    records: Mutex<BTreeMap<ClusterId, Record>>,
    wake: mpsc::UnboundedSender<ClusterId>,
    pub(super) synchronized: watch::Sender<bool>,
    pub(super) counters: Counters,
    stopping: AtomicBool,
}

/// The log messages about a peer, each with what its Kubernetes event says besides.
pub(super) type Reports = BTreeMap<String, Report>;

/// The reason of an event, and the object that it speaks of.
#[derive(Clone)]
pub(super) struct Report {
    pub(super) reason: &'static str,
    pub(super) object: Option<ObjectRef>,
}

/// The memory of a controller about a peer. It prevents repeated messages and log
/// lines, and determines the delays after failures. The exchange does not depend on it.
#[derive(Default)]
pub(super) struct Record {
    /// The messages that are delivered or are being delivered.
    pub(super) delivered: Deliveries,
    /// Held during a delivery, so that messages arrive in their order.
    pub(super) delivering: Arc<tokio::sync::Mutex<()>>,
    pub(super) pace: Pace,
    pub(super) looks: Failures,
    pub(super) deliveries: Failures,
    /// The messages of the last complete look, and of the looks after it.
    logged: Reports,
}

impl Record {
    /// Notes the messages of a look. Returns those that are not logged yet. A look that
    /// was not completed does not show all refusals, so the earlier messages stay
    /// noted.
    pub(super) fn note(&mut self, mut reports: Reports, is_complete: bool) -> Reports {
        let before = core::mem::take(&mut self.logged);
        self.logged = reports.clone();
        reports.retain(|message, _| !before.contains_key(message));
        if !is_complete {
            self.logged.extend(before);
        }
        reports
    }
}

impl Sides {
    /// Each side that runs, with its machine.
    pub(super) fn machines(&self) -> impl Iterator<Item = (Side, &dyn Machine)> {
        let provider = self.provider.iter();
        let provider = provider.map(|side| -> (Side, &dyn Machine) { (Side::Provider, side) });
        let consumer = self.consumer.iter();
        let consumer = consumer.map(|side| -> (Side, &dyn Machine) { (Side::Consumer, side) });
        provider.chain(consumer)
    }
}

impl Shared {
    pub(super) fn new(
        cluster: Cluster,
        sides: Sides,
        mirror: Mirror,
        choices: Choices,
        wake: mpsc::UnboundedSender<ClusterId>,
    ) -> Self {
        let Choices {
            transport,
            clock,
            poll,
            events,
            connect,
            offloading,
            account,
            watches_all_secrets,
            provider_keys,
            guards,
        } = choices;
        let account = account.map(|name| {
            Arc::new(Account::new(
                cluster.client.clone(),
                cluster.namespace.clone(),
                name,
            ))
        });
        let offloading = offloading.map(|enforcement| {
            let at_consumer = sides.consumer.iter().map(|_| MadeKind::VirtualNode);
            let at_provider = sides.provider.iter().map(|_| MadeKind::Quota);
            Offloading::new(at_consumer.chain(at_provider), enforcement)
        });
        Self {
            client: cluster.client,
            own: cluster.id,
            sides: Mutex::new(sides),
            transport,
            clock,
            poll,
            events,
            connect,
            offloading,
            account,
            watches_all_secrets,
            provider_keys,
            guards,
            unlisted: Mutex::default(),
            mirror: Mutex::new(mirror),
            gone: Mutex::default(),
            orders: Mutex::default(),
            records: Mutex::default(),
            wake,
            synchronized: watch::Sender::new(false),
            counters: Counters::default(),
            stopping: AtomicBool::new(false),
        }
    }

    /// The sides as they are configured now.
    pub(super) fn sides(&self) -> Sides {
        let sides = self.sides.lock().unwrap_or_else(PoisonError::into_inner);
        sides.clone()
    }

    /// Configures the sides anew, and looks at every peer.
    pub(super) fn configure(&self, change: impl FnOnce(&mut Sides)) -> Result<(), Error> {
        {
            let mut sides = self.sides.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut sides);
        }
        let peers = self.others(self.mirror().peers().cloned());
        peers.iter().try_for_each(|peer| self.wake(peer))
    }

    pub(super) fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn gone(&self) -> MutexGuard<'_, Gone> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads or changes the memory about a peer.
    pub(super) fn record<T>(&self, peer: &ClusterId, with: impl FnOnce(&mut Record) -> T) -> T {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        with(records.entry(peer.clone()).or_default())
    }

    pub(super) fn unlisted(&self) -> MutexGuard<'_, BTreeMap<String, ClusterId>> {
        self.unlisted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a watch's change into the mirror. Returns the peers to look at.
    pub(super) fn take(&self, watch: &Watch, change: Change) -> Vec<ClusterId> {
        self.feed(watch, |mirror| match change {
            Change::Listed(objects) => mirror.relist(watch, objects),
            Change::Seen(object) => mirror.observe(watch, *object),
            Change::Left(object) => mirror.forget(watch, &object.id()),
        })
    }

    /// Changes the mirror by what a watch shows. Returns the peers to look at.
    pub(super) fn feed(
        &self,
        watch: &Watch,
        change: impl FnOnce(&mut Mirror) -> Result<Concerns, MirrorError>,
    ) -> Vec<ClusterId> {
        let mut mirror = self.mirror();
        let concerns = change(&mut mirror);
        let concerns = concerns.unwrap_or_else(|error| {
            tracing::error!(%watch, %error, "the watch shows an object that it does not select");
            Concerns::Nobody
        });
        if !self.is_synchronized() {
            if mirror.view(&self.own).is_err() {
                return Vec::new();
            }
            self.synchronized.send_replace(true);
            let mut peers = self.others(mirror.peers().cloned());
            peers.extend(self.ordered());
            return peers;
        }
        match concerns {
            Concerns::Everybody => self.others(mirror.peers().cloned()),
            Concerns::Nobody => Vec::new(),
            Concerns::Peer(peer) => self.others([peer]),
            Concerns::Peers(peers) => self.others(peers),
        }
    }

    /// Whether every watch has listed its objects once.
    pub(super) fn is_synchronized(&self) -> bool {
        *self.synchronized.borrow()
    }

    pub(super) fn others(&self, peers: impl IntoIterator<Item = ClusterId>) -> Vec<ClusterId> {
        let peers = peers.into_iter();
        peers.filter(|peer| *peer != self.own).collect()
    }

    /// Makes the controller look at a peer soon.
    pub(super) fn wake(&self, peer: &ClusterId) -> Result<(), Error> {
        let sent = self.wake.unbounded_send(peer.clone());
        sent.map_err(|_| Error::Stopped)
    }

    /// Gives an order, and waits for its result.
    pub(super) async fn order(&self, peer: &ClusterId, call: Call) -> Result<Step, Error> {
        let (answer, answered) = oneshot::channel();
        let order = Order { call, answer };
        self.queue(peer, order);
        self.wake(peer)?;
        if self.stopping.load(Ordering::Acquire) {
            self.drop_orders();
        }
        answered.await.map_err(|_| Error::Stopped)?
    }

    fn queue(&self, peer: &ClusterId, order: Order) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.entry(peer.clone()).or_default().push_back(order);
    }

    /// The peers that have waiting orders.
    fn ordered(&self) -> Vec<ClusterId> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.keys().cloned().collect()
    }

    /// Refuses further orders, and drops the waiting ones.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.drop_orders();
    }

    fn drop_orders(&self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_logged_again_only_after_a_complete_look_without_it() {
        let mut record = Record::default();
        let mut fresh = |message: &str, is_complete| {
            let reports = message.split_terminator(',');
            let report = Report {
                reason: "Refused",
                object: None,
            };
            let reports = reports.map(|message| (message.to_owned(), report.clone()));
            let fresh = record.note(reports.collect(), is_complete);
            fresh.into_keys().collect::<Vec<_>>().join(",")
        };
        assert_eq!(fresh("a", true), "a");
        assert_eq!(fresh("", false), "");
        assert_eq!(fresh("b", false), "b");
        assert_eq!(fresh("a,b", true), "");
        assert_eq!(fresh("b", true), "");
        assert_eq!(fresh("a,b", true), "a");
    }
}
