mod counts;
mod events;
mod failures;
mod gone;
mod guard;
mod handle;
mod offloading;
mod pace;
mod peer;
mod replication;
mod shared;
mod tenants;

use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

use futures::{
    FutureExt, StreamExt,
    channel::mpsc,
    future::BoxFuture,
    pin_mut, select,
    stream::{FuturesUnordered, select as select_streams},
};
use kube::{
    Client, Config,
    runtime::scheduler::{ScheduleRequest, scheduler},
};
use liqo_auth::{
    Consumer, Provider,
    machine::{Message, Mirror},
    model::{ClusterId, Kind},
    policy::Addresses,
};
use tokio::time::Instant;

pub use self::{counts::Counts, handle::Handle};

use self::{
    events::Events,
    replication::Replications,
    shared::{Choices, Shared, Sides},
};
use crate::{Clock, Cluster, LimitsEnforcement, ProviderKeys, Transport, watching};

/// Runs the provider's side of a cluster, the consumer's side, or both, for all peers.
///
/// The controller does not keep state of its own. It looks at a peer when one of the peer's
/// objects changes, when the step's wake-up time has come, and regularly while a
/// backend's answer is missing. A look derives the peer's phase from its objects and
/// applies the next step. The controller handles peers concurrently, with one look at a
/// time for each peer. An error delays only its own peer, with backoff.
///
/// Several controllers may run on one cluster. Each write carries the version of its
/// object, and each request to a signer has a fixed name. So the second writer gets a
/// conflict and looks again.
///
/// # Examples
/// ```no_run
/// use liqo_auth::provider::{Endpoint, Provider};
/// use liqo_auth_kube::{Cluster, Controller};
///
/// # async fn run(endpoint: Endpoint) -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = Cluster::open(kube::Client::try_default().await?).await?;
/// let provider = Provider::builder(cluster.id().clone(), endpoint, cluster.record_key())
///     .key(cluster.key())
///     .principals(cluster.principals())
///     .configure(|config| config.kubernetes_signer = true)
///     .build();
/// let (controller, handle) = Controller::builder(&cluster).provider(provider).build();
/// let running = tokio::spawn(controller.run(std::future::pending()));
/// handle.invite(&"cl-consumer".parse()?).await?;
/// # running.await?;
/// # Ok(())
/// # }
/// ```
pub struct Controller {
    shared: Arc<Shared>,
    asked: mpsc::UnboundedReceiver<ClusterId>,
}

/// Configures a [`Controller`]; made by [`Controller::builder`].
pub struct ControllerBuilder {
    cluster: Cluster,
    sides: Sides,
    choices: Choices,
}

impl Controller {
    /// A controller for this cluster.
    pub fn builder(cluster: &Cluster) -> ControllerBuilder {
        ControllerBuilder {
            cluster: cluster.clone(),
            sides: Sides::default(),
            choices: Choices {
                transport: None,
                clock: Clock::default(),
                poll: TEN_SECONDS,
                events: None,
                connect: None,
                offloading: None,
                account: None,
                watches_all_secrets: false,
                provider_keys: None,
                guards: false,
            },
        }
    }

    /// Runs until `stop` is ready. Then the present looks and deliveries are completed,
    /// and no new ones begin. A replication stops at once: another run continues from the
    /// objects that exist.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { shared, asked } = self;
        let _orders = Orders(shared.clone());
        let (watches, mut secrets) = shared.watches();
        let mut changes = watching::follow(&shared.client, watches).fuse();
        let mut made = shared.follow_made().fuse();
        let mut declared = shared.follow_declarations().fuse();
        let (later, scheduled) = mpsc::unbounded();
        let requests = select_streams(asked.map(|peer| request(peer, Duration::ZERO)), scheduled);
        let queue = scheduler(requests);
        let stop = stop.fuse();
        pin_mut!(queue, stop);
        let mut busy: BTreeSet<ClusterId> = BTreeSet::new();
        let mut working: FuturesUnordered<BoxFuture<'static, Done>> = FuturesUnordered::new();
        let mut replications = Replications::new(&shared);
        loop {
            let has_room = busy.len() < MOST_AT_ONCE;
            let mut next = queue
                .as_mut()
                .hold_unless(|peer| has_room && !busy.contains(peer))
                .fuse();
            // No branch comes first: a peer that writes all the time does not delay orders.
            select! {
                () = stop => break,
                change = changes.next() => {
                    let Some((watch, change)) = change else { break };
                    if watch.kind == Kind::Namespace {
                        shared.follow_tenants(&mut secrets, &change);
                    }
                    for peer in shared.take(&watch, change) {
                        let delay = shared.record(&peer, |record| record.pace.delay());
                        let _ = later.unbounded_send(request(peer, delay));
                    }
                }
                shown = secrets.next() => {
                    let Some((namespace, shown)) = shown else { continue };
                    for peer in shared.take_secrets(&secrets, &namespace, shown) {
                        let delay = shared.record(&peer, |record| record.pace.delay());
                        let _ = later.unbounded_send(request(peer, delay));
                    }
                }
                change = made.next() => {
                    let Some((kind, change)) = change else { continue };
                    for peer in shared.take_made(kind, change) {
                        let delay = shared.record(&peer, |record| record.pace.delay());
                        let _ = later.unbounded_send(request(peer, delay));
                    }
                }
                change = declared.next() => {
                    let Some(change) = change else { continue };
                    for peer in shared.take_declaration(change) {
                        let _ = later.unbounded_send(request(peer, Duration::ZERO));
                    }
                }
                done = working.next() => {
                    let Some(Done { peer, again, outbox }) = done else { continue };
                    if let Some(delay) = again {
                        let _ = later.unbounded_send(request(peer.clone(), delay));
                    }
                    // The peer may answer a message before its delivery returns.
                    // So a delivery does not keep its peer busy.
                    if let Some(outbox) = outbox {
                        busy.remove(&peer);
                        replications.look(&peer);
                        if !outbox.is_empty() {
                            working.push(shared.clone().deliver(peer, outbox).boxed());
                        }
                    }
                }
                ended = replications.running.next() => {
                    let Some(peer) = ended else { continue };
                    replications.ended(&peer);
                }
                peer = next.next() => {
                    let Some(peer) = peer else { break };
                    busy.insert(peer.clone());
                    working.push(shared.clone().handle_peer(peer).boxed());
                }
            }
        }
        // A delivery may wait for another controller that waits for an order of this
        // one. So the orders are dropped first.
        shared.stop();
        while working.next().await.is_some() {}
    }
}

impl ControllerBuilder {
    /// Runs the provider's side.
    #[must_use]
    pub fn provider(mut self, provider: Provider) -> Self {
        self.sides.provider = Some(provider);
        self
    }

    /// Runs the consumer's side.
    #[must_use]
    pub fn consumer(mut self, consumer: Consumer) -> Self {
        self.sides.consumer = Some(consumer);
        self
    }

    /// The transport of messages to the peers. Without a transport, the controller
    /// does not deliver messages: another tool fetches them from the objects of this
    /// cluster.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.choices.transport = Some(Arc::new(transport));
        self
    }

    /// The clock; by default, the system's clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.choices.clock = clock;
        self
    }

    /// The interval at which a backend that has not answered is asked again; by
    /// default, ten seconds. Such a look reads only those objects from the API server
    /// that no watch shows ([`Mirror::unwatched`]).
    #[must_use]
    pub fn poll_backends_every(mut self, interval: Duration) -> Self {
        self.choices.poll = interval;
        self
    }

    /// Publishes Kubernetes events in the tenant namespaces: the decisions, refusals and
    /// failures, each at the object that it speaks of, if that is in the namespace. Equal events
    /// become one event with a count. A peer causes 25 events of each
    /// reason at once, and then one a minute; the next one is followed by the event
    /// `EventsLeftOut` with the number of those that were left out, which
    /// [`Counts::events_left_out`] counts. The controller needs the
    /// rights to `create` and `patch` events of the group `events.k8s.io`. Without this
    /// call, the controller does not publish events.
    #[must_use]
    pub fn publish_events(mut self) -> Self {
        self.choices.events = Some(Events::new(self.cluster.client.clone()));
        self
    }

    /// Replicates the consumer's resource slices and Renews to the providers, and their
    /// statuses back, as Liqo's crd-replicator does. Use it where Liqo's does not run. Both
    /// at once do no harm: they write the same.
    ///
    /// The replication uses the kubeconfig that the consumer's side has verified and
    /// stored. `connect` makes a client from it that connects to allowed addresses only, such
    /// as [`client_within`](crate::client_within). With `connect`, a program can set headers
    /// or timeouts. The proxy of an identity is used, and
    /// an AWS access key is not supported. Without a consumer's side, this call changes
    /// nothing.
    ///
    /// # Rights
    /// At the provider, those of Liqo's ClusterRole `liqo-remote-controlplane` in the tenant
    /// namespace. At the consumer, to patch the statuses of slices and Renews.
    ///
    /// # Examples
    /// ```no_run
    /// use liqo_auth::Consumer;
    /// use liqo_auth_kube::{Cluster, Controller, Handle};
    ///
    /// fn replicating(cluster: &Cluster, consumer: Consumer) -> (Controller, Handle) {
    ///     Controller::builder(cluster)
    ///         .consumer(consumer)
    ///         .replicate(liqo_auth_kube::client_within)
    ///         .build()
    /// }
    /// ```
    #[must_use]
    pub fn replicate(
        mut self,
        connect: impl Fn(Config, &Addresses) -> Result<Client, kube::Error> + Send + Sync + 'static,
    ) -> Self {
        self.choices.connect = Some(Arc::new(connect));
        self
    }

    /// Makes the objects that Liqo's offloading needs from accepted slices: a VirtualNode
    /// at the consumer, and a Quota at the provider, with this enforcement of its limits. A
    /// Quota follows the provider's records, and a VirtualNode what the consumer has verified.
    /// Liqo makes them itself while its own authentication module runs. Without this call,
    /// the controller makes none.
    ///
    /// The controller needs the rights to `create`, `get`, `list`, `update` and `watch`
    /// these objects. If the cluster does not serve them, the authentication goes on, and a
    /// warning says what is missing.
    #[must_use]
    pub fn offloading(mut self, enforcement: LimitsEnforcement) -> Self {
        self.choices.offloading = Some(enforcement);
        self
    }

    /// Runs with the rights of this ServiceAccount in Liqo's namespace, which has no right
    /// on the Secrets of the whole cluster. In each tenant namespace, the controller makes a
    /// RoleBinding of the account to the ClusterRole `liqo-auth-tenant`, and watches the
    /// Secrets there. A peer is looked at when its Secrets are listed. Without this call, the
    /// controller watches the Secrets of all namespaces, and does not make a RoleBinding.
    ///
    /// # Rights
    /// To create and delete RoleBindings, and to `bind` this ClusterRole. The
    /// ValidatingAdmissionPolicy of `deploy/` confines the RoleBindings that it creates.
    #[must_use]
    pub fn service_account(mut self, name: &str) -> Self {
        self.choices.account = Some(name.to_owned());
        self
    }

    /// Watches the Secrets of all namespaces by one watch, although a
    /// [`service_account`](Self::service_account) writes by its RoleBindings. The account then
    /// needs the rights to `list` and `watch` them. One watch for each of many thousand peers
    /// costs more connections.
    #[must_use]
    pub fn watch_all_secrets(mut self) -> Self {
        self.choices.watches_all_secrets = true;
        self
    }

    /// Judges changes in front of Liqo's own authentication module ([`Handle::guard`]), and
    /// does nothing else: Liqo carries out the exchanges. The controller writes its records
    /// alone.
    #[must_use]
    pub fn guard(mut self) -> Self {
        self.choices.guards = true;
        self
    }

    /// Chooses the keys towards providers in this key store of the consumer. Without this
    /// call, the store must know the keys itself.
    #[must_use]
    pub fn provider_keys(mut self, keys: ProviderKeys) -> Self {
        self.choices.provider_keys = Some(keys);
        self
    }

    /// The controller, and the handle that gives orders to it.
    pub fn build(self) -> (Controller, Handle) {
        let watches = self
            .sides
            .machines()
            .flat_map(|(_, machine)| machine.watches());
        let mut mirror = Mirror::new(watches);
        if self.sides.provider.is_some() {
            mirror = mirror.with_follower(self.cluster.principals());
        }
        let (wake, asked) = mpsc::unbounded();
        let shared = Arc::new(Shared::new(
            self.cluster,
            self.sides,
            mirror,
            self.choices,
            wake,
        ));
        let handle = Handle(shared.clone());
        (Controller { shared, asked }, handle)
    }
}

/// Drops the waiting orders when the controller stops, also when its task is aborted.
/// The callers get [`Error::Stopped`](crate::Error::Stopped).
struct Orders(Arc<Shared>);

impl Drop for Orders {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The result of one task of the loop.
struct Done {
    peer: ClusterId,
    /// The delay after which to look again, unless an object changes earlier.
    again: Option<Duration>,
    /// After a look: the messages to deliver. After a delivery: `None`.
    outbox: Option<Vec<Message>>,
}

fn request(peer: ClusterId, delay: Duration) -> ScheduleRequest<ClusterId> {
    ScheduleRequest {
        message: peer,
        run_at: Instant::now() + delay,
    }
}

/// The maximum number of peers that are handled at the same time.
const MOST_AT_ONCE: usize = 64;
const TEN_SECONDS: Duration = Duration::from_secs(10);
