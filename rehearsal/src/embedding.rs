//! An exchange between an embedder's own two sides.

use liqo_auth::{
    Consumer, Error, Provider,
    machine::{
        ApplyError, Env, Machine, Message, Stage, Step, View,
        drive::{Applied, Next, Run},
    },
    model::ClusterId,
};

use crate::Store;

/// An embedder's provider and consumer, with the embedder's keys, signer, approver and stores.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use liqo_auth::{
///     Consumer, Env, Provider,
///     consumer::ConsumerConfig,
///     crypto::{Authority, Entropy, KeyPair, OneKey, RecordKey},
///     machine::Objects,
///     provider::{AuthoritySigner, Endpoint, NameTable},
/// };
/// use liqo_auth_rehearsal::Embedding;
///
/// # use core::time::Duration;
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let entropy = |byte| Entropy::from_bytes([byte; 32]);
/// let authority = Authority::new("milan-ca", now, Duration::from_secs(86_400), &entropy(1))?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(authority.ca_bundle()));
/// let provider = Provider::builder("milan".parse()?, endpoint, RecordKey::new([1; 32])?)
///     .principals(Arc::new(NameTable::default()))
///     .signer(Arc::new(AuthoritySigner::new(authority, entropy(2))))
///     .build();
/// let keys = Arc::new(OneKey(Arc::new(KeyPair::from_entropy(&entropy(3)))));
/// let consumer = Consumer::new(ConsumerConfig::new("rome".parse()?), keys);
///
/// let mut drawn = 8;
/// let mut env = || {
///     drawn += 1;
///     Env { now, entropy: entropy(drawn) }
/// };
/// Embedding {
///     provider: &provider,
///     consumer: &consumer,
///     at_provider: &mut Objects::new(&entropy(4)),
///     at_consumer: &mut Objects::new(&entropy(5)),
///     env: &mut env,
/// }
/// .rehearse()?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct Embedding<'e> {
    /// The provider.
    pub provider: &'e Provider,
    /// The consumer.
    pub consumer: &'e Consumer,
    /// The store of the provider's cluster.
    pub at_provider: &'e mut dyn Store,
    /// The store of the consumer's cluster.
    pub at_consumer: &'e mut dyn Store,
    /// The time and the randomness of the next look. What answers later can answer here.
    pub env: &'e mut dyn FnMut() -> Env,
}

/// Why an exchange did not come to its end.
#[derive(Debug)]
pub enum Unfinished {
    /// A side cannot make a step, or refuses what the other side sent.
    Refused(Error),
    /// A store refused an effect, although nobody else writes.
    NotApplied(ApplyError),
    /// More looks than any exchange takes did not lead to its end: something never answers,
    /// or a store does not keep what was written.
    Endless,
}

impl Embedding<'_> {
    /// Invites the consumer, and plays the exchange until both sides are authenticated. After
    /// each effect, the side begins anew from its store, as after a crash. Each message is
    /// sent in each round, and so arrives more than once.
    ///
    /// # Errors
    /// [`Unfinished`].
    pub fn rehearse(&mut self) -> Result<(), Unfinished> {
        let (provider, consumer) = (self.provider, self.consumer);
        // A second invitation would make another nonce.
        let invite = |view: &View<'_>, env: Env| provider.invite(view, env);
        self.at_provider()
            .drive(provider, Run::of_one_step(), invite, false)?;
        let mut to_provider = Vec::new();
        for _ in 0..MOST_ROUNDS {
            let (is_done, to_consumer) = self.at_provider().round(provider, to_provider)?;
            let (is_done_too, answers) = self.at_consumer().round(consumer, to_consumer)?;
            if is_done && is_done_too {
                return Ok(());
            }
            to_provider = answers;
        }
        Err(Unfinished::Endless)
    }

    fn at_provider(&mut self) -> Place<'_> {
        Place {
            store: self.at_provider,
            peer: self.consumer.cluster_id(),
            env: self.env,
        }
    }

    fn at_consumer(&mut self) -> Place<'_> {
        Place {
            store: self.at_consumer,
            peer: self.provider.cluster_id(),
            env: self.env,
        }
    }
}

/// One side's cluster.
struct Place<'e> {
    store: &'e mut dyn Store,
    peer: &'e ClusterId,
    env: &'e mut dyn FnMut() -> Env,
}

impl Place<'_> {
    /// Receives messages and goes on until nothing is left to do. Returns whether the side is
    /// authenticated, and its messages.
    fn round(
        &mut self,
        machine: &dyn Machine,
        received: Vec<Message>,
    ) -> Result<(bool, Vec<Message>), Unfinished> {
        for message in received {
            self.settle(machine, |view, env| {
                machine.receive(view, message.clone(), env)
            })?;
        }
        let step = self.settle(machine, |view, env| machine.reconcile(view, env))?;
        if let Some(refused) = step.refused.into_iter().next() {
            return Err(Unfinished::Refused(refused.error));
        }
        let objects = self.store.look_up(&machine.interests(self.peer));
        let now = (self.env)().now;
        let status = machine.look(&View::of(self.peer, &objects), now);
        let stage = status.map_err(Unfinished::Refused)?.control_plane.stage;
        Ok((stage == Stage::Authenticated, step.outbox))
    }

    /// Drives the side until nothing is left to do. After each effect, the run is given up.
    fn settle(
        &mut self,
        machine: &dyn Machine,
        next: impl Fn(&View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Step, Unfinished> {
        for _ in 0..MOST_RUNS {
            if let Some(step) = self.drive(machine, Run::to_rest(), &next, true)? {
                return Ok(step);
            }
        }
        Err(Unfinished::Endless)
    }

    /// Drives a run, to its end or to its first effect. None if it is given up.
    fn drive(
        &mut self,
        machine: &dyn Machine,
        mut run: Run,
        next: impl Fn(&View<'_>, Env) -> Result<Step, Error>,
        is_given_up: bool,
    ) -> Result<Option<Step>, Unfinished> {
        loop {
            match run.next().map_err(|_| Unfinished::Endless)? {
                Next::Look { .. } => {
                    let objects = self.store.look_up(&machine.interests(self.peer));
                    let step = next(&View::of(self.peer, &objects), (self.env)());
                    run.looked(step.map_err(Unfinished::Refused)?);
                }
                // Each look reads all objects at one time.
                Next::Confirm(_) => run.confirmed(true),
                Next::Apply(effect) => {
                    self.store.apply(effect).map_err(Unfinished::NotApplied)?;
                    if is_given_up {
                        return Ok(None);
                    }
                    run.applied(Applied::Shown);
                }
                Next::Rest => return Ok(Some(run.into_step())),
            }
        }
    }
}

impl std::fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(formatter),
            Self::NotApplied(error) => write!(formatter, "the store: {error}"),
            Self::Endless => formatter.write_str(
                "the exchange does not end: something never answers, or a store loses objects",
            ),
        }
    }
}

impl std::error::Error for Unfinished {}

/// More rounds than any exchange takes, with answers that come later.
const MOST_ROUNDS: usize = 32;
/// More effects of one side than any round takes.
const MOST_RUNS: usize = 64;
