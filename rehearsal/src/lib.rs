//! Both sides in memory, one event at a time: for property tests, fuzzers, and the
//! test harnesses of embedders.
//!
//! Every sent message is kept, so that events can deliver it late, twice or out of
//! order. Every event can stop after any number of its effects, as in a crash.

#[cfg(feature = "proptest")]
mod course;
mod embedding;
#[cfg(feature = "proptest")]
mod forgery;
mod ledger;
mod store;

use core::time::Duration;
use std::{collections::BTreeMap, sync::Arc};

#[cfg(feature = "proptest")]
pub use course::{occurrences, occurrences_of_a_life};
use liqo_auth::{
    Consumer, Error, Provider,
    consumer::{self, ConsumerConfig, SliceOptions},
    crypto::{Authority, BoxError, Entropy, KeyPair, OneKey, RecordKey, SigningKey},
    error::Fault,
    machine::{Awaited, Env, Machine, Message, Objects, Side, Step, replication},
    model::{
        ClusterRole, Metadata, Object, Renew, Resource, ResourceSlice, RoleBinding,
        TenantCondition, Timestamp, names,
    },
    provider::{self, AuthoritySigner, Endpoint, NameTable},
};
use sha2::{Digest, Sha256};

pub use embedding::{Embedding, Unfinished};
use ledger::Ledger;
pub use store::{Deviation, Store, check_store};

/// A provider and a consumer with their objects, the sent messages, and the time.
///
/// # Examples
/// ```
/// use liqo_auth_rehearsal::{Occurrence, Rehearsal};
///
/// let mut rehearsal = Rehearsal::new(7)?;
/// // The provider makes its nonce, and crashes before the nonce is stored.
/// rehearsal.play(Occurrence::Provider { effects: 1 })?;
/// rehearsal.settle()?;
/// assert!(rehearsal.is_complete()?);
/// assert_eq!(rehearsal.certificates_signed(), 1);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[non_exhaustive]
#[derive(derive_more::Debug)]
pub struct Rehearsal {
    /// The provider.
    #[debug(skip)]
    pub provider: Provider,
    /// The consumer.
    #[debug(skip)]
    pub consumer: Consumer,
    /// The provider's objects.
    pub at_provider: Objects,
    /// The consumer's objects.
    pub at_consumer: Objects,
    #[debug(skip)]
    signer: Arc<Ledger>,
    /// The consumer's key.
    #[debug(skip)]
    pub consumer_key: Arc<dyn SigningKey>,
    #[cfg(feature = "proptest")]
    #[debug(skip)]
    authority: Authority,
    #[cfg(feature = "proptest")]
    #[debug(skip)]
    authority_key: Arc<dyn SigningKey>,
    /// The sent messages, and the forged messages that the caller added.
    pub messages: Vec<Message>,
    /// The present time.
    pub now: Timestamp,
    #[debug(skip)]
    beginning: Timestamp,
    #[debug(skip)]
    seed: u64,
    drawn: u64,
    changes: Changes,
    rests: bool,
}

/// How many steps have changed the objects of each side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Changes {
    at_provider: usize,
    at_consumer: usize,
}

/// An event. If a step has more effects than the event allows, the other effects are
/// lost, as in a crash. The messages of that step are lost as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// The provider reconciles.
    Provider {
        /// How many effects are carried out.
        effects: usize,
    },
    /// The consumer reconciles.
    Consumer {
        /// How many effects are carried out.
        effects: usize,
    },
    /// A message arrives. Its number is its position in the order of sending, modulo
    /// the number of messages.
    Deliver {
        /// The number of the message.
        message: usize,
        /// How many effects are carried out.
        effects: usize,
    },
    /// From now on, the signer answers with certificates, or answers `Pending`.
    Signer {
        /// Whether the signer answers with certificates.
        answers: bool,
    },
    /// Time passes.
    Wait {
        /// The number of seconds.
        seconds: u32,
    },
    /// The consumer requests the resource slice `mypool`, or deletes it. Nothing
    /// happens before the consumer has an identity.
    Slice {
        /// Whether the slice is requested.
        wanted: bool,
    },
    /// Slices and renewals are replicated to the provider while the consumer has
    /// rights there. The answers are replicated back.
    Replicate {
        /// How many effects are carried out on each side.
        effects: usize,
    },
    /// The provider's administrator sets the Tenant's condition.
    Condition {
        /// The condition.
        condition: TenantCondition,
    },
}

impl Rehearsal {
    /// Two clusters, `cl-consumer` and `cl-provider`, with Ed25519 keys. The seed
    /// determines all random values.
    ///
    /// # Errors
    /// The keys or the authority cannot be made.
    pub fn new(seed: u64) -> Result<Self, BoxError> {
        let key = KeyPair::from_entropy(&entropy(seed, u64::MAX));
        Self::with_consumer_key(seed, Arc::new(key))
    }

    /// As [`new`](Self::new), with the caller's own key for the consumer.
    ///
    /// # Errors
    /// The keys or the authority cannot be made.
    pub fn with_consumer_key(
        seed: u64,
        consumer_key: Arc<dyn SigningKey>,
    ) -> Result<Self, BoxError> {
        let now = Timestamp::from_unix(1_795_179_600)?;
        let drawn = |number: u64| entropy(seed, u64::MAX - number);
        let authority_key: Arc<dyn SigningKey> = Arc::new(KeyPair::from_entropy(&drawn(1)));
        let authority = Authority::with_key(
            "cl-provider-ca",
            Arc::clone(&authority_key),
            now,
            TEN_YEARS,
            &drawn(1),
        )?;
        let endpoint = Endpoint::new(API_SERVER.parse()?, Some(authority.ca_bundle()));
        let signer = Arc::new(Ledger::new(AuthoritySigner::new(
            authority.clone(),
            drawn(2),
        )));
        let provider_key = KeyPair::from_entropy(&drawn(3));
        let provider =
            Provider::builder("cl-provider".parse()?, endpoint, RecordKey::new([1; 32])?)
                .principals(Arc::new(NameTable::default()))
                .key(Arc::new(provider_key))
                .signer(signer.clone())
                .build();
        let keys = Arc::new(OneKey(Arc::clone(&consumer_key)));
        let consumer = Consumer::new(ConsumerConfig::new("cl-consumer".parse()?), keys);
        Ok(Self {
            provider,
            consumer,
            at_provider: roles(seed),
            at_consumer: Objects::new(&entropy(seed, AT_CONSUMER)),
            signer,
            consumer_key,
            #[cfg(feature = "proptest")]
            authority,
            #[cfg(feature = "proptest")]
            authority_key,
            messages: Vec::new(),
            now,
            beginning: now,
            seed,
            drawn: 0,
            changes: Changes::default(),
            rests: false,
        })
    }

    /// Goes back to the time before the first event, with the same clusters and keys. A
    /// rehearsal that begins again takes the same course as a new one of its seed.
    pub fn begin_again(&mut self) {
        self.at_provider = roles(self.seed);
        self.at_consumer = Objects::new(&entropy(self.seed, AT_CONSUMER));
        self.signer.begin_again();
        self.messages.clear();
        self.now = self.beginning;
        self.drawn = 0;
        self.changes = Changes::default();
        self.rests = false;
    }

    /// Plays one event.
    ///
    /// # Errors
    /// A fault on a side that reconciles or replicates, and a
    /// [local fault](Fault::Local) or a [misuse](Fault::ApiMisuse) on a side that gets
    /// a message or a request of its administrator. If the side refuses the message or
    /// the request for another reason, no error is returned, and nothing is stored.
    pub fn play(&mut self, event: Occurrence) -> Result<(), Error> {
        match event {
            Occurrence::Provider { effects } => {
                let (to_reconcile, to_invite) = (self.env(), self.env());
                let view = self.at_provider.view(self.consumer.cluster_id());
                let mut step = self.provider.reconcile(&view, to_reconcile)?;
                // The administrator invites the peer as often as necessary.
                if step.wait.awaiting.contains(&Awaited::Invitation)
                    && let provider::Phase::Uninvited = self.provider.look(&view, self.now)?.phase
                {
                    step = self.provider.invite(&view, to_invite)?;
                }
                self.carry_out(Side::Provider, step, effects);
            }
            Occurrence::Consumer { effects } => {
                let env = self.env();
                let step = self
                    .consumer
                    .reconcile(&self.at_consumer.view(self.provider.cluster_id()), env)?;
                self.carry_out(Side::Consumer, step, effects);
            }
            Occurrence::Deliver { message, effects } => {
                let number = message.checked_rem(self.messages.len());
                let message = number.and_then(|number| self.messages.get(number)).cloned();
                if let Some(message) = message {
                    self.deliver(message, effects)?;
                }
            }
            Occurrence::Signer { answers } => self.signer.set_answering(answers),
            Occurrence::Wait { seconds } => {
                self.now = self.now + Duration::from_secs(seconds.into())
            }
            Occurrence::Slice { wanted } => {
                let env = self.env();
                let view = self.at_consumer.view(self.provider.cluster_id());
                let step = if wanted {
                    let options = SliceOptions::named(SLICE);
                    self.consumer.request_slice(&view, &options, env)
                } else {
                    self.consumer.delete_slice(&view, SLICE)
                };
                self.carry_out_if_taken(Side::Consumer, step, ALL)?;
            }
            Occurrence::Replicate { effects } => self.replicate(effects)?,
            Occurrence::Condition { condition } => {
                let view = self.at_provider.view(self.consumer.cluster_id());
                let step = self.provider.set_condition(&view, condition);
                self.carry_out_if_taken(Side::Provider, step, ALL)?;
            }
        }
        Ok(())
    }

    /// Runs both sides without crashes until nothing changes. If this takes more
    /// rounds than any exchange needs, the sides are in a loop, and
    /// [`is_complete`](Self::is_complete) returns false.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    pub fn settle(&mut self) -> Result<(), Error> {
        self.signer.set_answering(true);
        self.rests = false;
        let mut delivered = Vec::new();
        // The changes after which each event of a round was last played. The outcome of
        // such an event depends on nothing else, so it is not played again until more
        // has changed.
        let (mut provider, mut consumer, mut replication) = (None, None, None);
        // An exchange takes a few rounds. More rounds mean a loop.
        for _ in 0..16 {
            let before = self.changes;
            if provider.replace(self.changes.at_provider) != Some(self.changes.at_provider) {
                self.play(Occurrence::Provider { effects: ALL })?;
            }
            if consumer.replace(self.changes.at_consumer) != Some(self.changes.at_consumer) {
                self.play(Occurrence::Consumer { effects: ALL })?;
            }
            for message in self.last_of_each_kind() {
                if !delivered.contains(&message) {
                    self.deliver(message.clone(), ALL)?;
                    delivered.push(message);
                }
            }
            if replication.replace(self.changes) != Some(self.changes) {
                self.replicate(ALL)?;
            }
            if self.changes != before {
                continue;
            }
            // A side may take a message that it did not take earlier.
            for message in self.last_of_each_kind() {
                self.deliver(message, ALL)?;
            }
            if self.changes == before {
                self.rests = true;
                break;
            }
        }
        Ok(())
    }

    /// Whether both sides are authenticated and have nothing left to do.
    ///
    /// # Errors
    /// A fault on one of the two sides.
    pub fn is_complete(&self) -> Result<bool, Error> {
        let at_provider = self.at_provider.view(self.consumer.cluster_id());
        let at_consumer = self.at_consumer.view(self.provider.cluster_id());
        let provider = self.provider.look(&at_provider, self.now)?.phase;
        let consumer = self.consumer.look(&at_consumer, self.now)?.phase;
        Ok(self.rests
            && matches!(provider, provider::Phase::Authenticated(_))
            && matches!(consumer, consumer::Phase::Authenticated(_)))
    }

    /// The number of requests that the signer has signed.
    pub fn certificates_signed(&self) -> usize {
        self.signer.certificates_signed()
    }

    fn deliver(&mut self, message: Message, effects: usize) -> Result<(), Error> {
        let env = self.env();
        let (side, step) = if message.to == *self.provider.cluster_id() {
            let view = self.at_provider.view(self.consumer.cluster_id());
            (Side::Provider, self.provider.receive(&view, message, env))
        } else {
            let view = self.at_consumer.view(self.provider.cluster_id());
            (Side::Consumer, self.consumer.receive(&view, message, env))
        };
        self.carry_out_if_taken(side, step, effects)
    }

    fn replicate(&mut self, effects: usize) -> Result<(), Error> {
        let may_be_replicated = |object: &Object| {
            ResourceSlice::from_object(object).is_some()
                || Renew::from_object(object).is_some()
                || object.as_unreadable().is_some()
        };
        if !self.at_consumer.iter().any(may_be_replicated)
            && !self.at_provider.iter().any(may_be_replicated)
        {
            return Ok(());
        }
        let at_consumer = self.at_consumer.view(self.provider.cluster_id());
        let at_provider = self.at_provider.view(self.consumer.cluster_id());
        let back = replication::to_consumer(&at_consumer, &at_provider)?;
        let forth = replication::to_provider(&at_consumer, &at_provider)?;
        let is_binding = |object: &Object| RoleBinding::from_object(object).is_some();
        let has_rights = self.at_provider.iter().any(is_binding);
        self.carry_out(Side::Consumer, back, effects);
        if has_rights {
            self.carry_out(Side::Provider, forth, effects);
        }
        Ok(())
    }

    /// Carries out the step for a message or an administrator's request, unless the
    /// side refuses it.
    fn carry_out_if_taken(
        &mut self,
        side: Side,
        step: Result<Step, Error>,
        effects: usize,
    ) -> Result<(), Error> {
        match step {
            Ok(step) => self.carry_out(side, step, effects),
            Err(error) if matches!(error.fault(), Fault::Local(_) | Fault::ApiMisuse(_)) => {
                return Err(error);
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn carry_out(&mut self, side: Side, step: Step, effects: usize) {
        let (objects, changes) = match side {
            Side::Provider => (&mut self.at_provider, &mut self.changes.at_provider),
            Side::Consumer => (&mut self.at_consumer, &mut self.changes.at_consumer),
        };
        let applied = step
            .effects
            .iter()
            .take(effects)
            .take_while(|effect| objects.apply(effect).is_ok())
            .count();
        *changes += usize::from(applied > 0);
        if applied == step.effects.len() {
            for message in step.outbox {
                if !self.messages.contains(&message) {
                    self.messages.push(message);
                }
            }
        }
    }

    fn last_of_each_kind(&self) -> Vec<Message> {
        let last: BTreeMap<_, _> = self
            .messages
            .iter()
            .map(|message| (message.body.name(), message))
            .collect();
        last.into_values().cloned().collect()
    }

    fn env(&mut self) -> Env {
        self.drawn += 1;
        Env {
            now: self.now,
            entropy: entropy(self.seed, self.drawn),
        }
    }
}

/// All effects of a step.
pub const ALL: usize = usize::MAX;

/// 32 bytes that are not random: a seed and a number determine them.
fn entropy(seed: u64, number: u64) -> Entropy {
    let digest = Sha256::new()
        .chain_update(seed.to_be_bytes())
        .chain_update(number.to_be_bytes())
        .finalize();
    Entropy::from_bytes(digest.into())
}

/// The ClusterRoles that Liqo installs at a provider.
fn roles(seed: u64) -> Objects {
    let roles = [
        ("liqo-remote-controlplane", names::CONTROL_PLANE_ROLE),
        (
            "liqo-virtual-kubelet-remote-clusterwide",
            names::CLUSTER_WIDE_ROLE,
        ),
    ];
    let roles = roles.map(|(name, label)| Object::from(cluster_role(name, label)));
    let mut objects = Objects::new(&entropy(seed, AT_PROVIDER));
    objects.extend(roles);
    objects
}

fn cluster_role(name: &str, label_value: &str) -> ClusterRole {
    ClusterRole {
        metadata: Metadata {
            name: name.to_owned(),
            labels: [(names::APP_NAME_LABEL.to_owned(), label_value.to_owned())].into(),
            ..Metadata::default()
        },
        ..ClusterRole::default()
    }
}

// The numbers of the entropies of both stores. Keys and the authority have the last four.
const AT_PROVIDER: u64 = u64::MAX - 4;
const AT_CONSUMER: u64 = u64::MAX - 5;
const SLICE: &str = "mypool";
const API_SERVER: &str = "https://172.19.0.3:6443";
const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);
