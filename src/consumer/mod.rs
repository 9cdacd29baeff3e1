//! The consumer's side. A consumer is a cluster that uses another cluster.
//!
//! ```text
//!               no Identity                                   Identity
//!      ┌────────────────────────────────────────────┐   ┌──────────────────────────────────┐
//!
//!      AwaitsNonce ──▶ NeedsSignature ──▶ AwaitsIdentity ──▶ NeedsKubeconfig ──▶ Authenticated
//!           │   receive(Nonce)                ▲   receive(Identity)   │
//!           └─────────────────────────────────┘                       └──▶ Refused
//!      NeedsKey: at any point, while the key store has no key or has not answered
//!      NeedsIdentity: the stored Identity cannot be used any more, and a Renew
//!                     contains one that can
//!      Ending: after unauthenticate, until all objects of the peering are gone
//! ```
//!
//! Each resource slice has a phase of its own: see [`SlicePhase`]. Renewal happens
//! inside `Authenticated`: see [`StoredIdentity::renewal`].
//!
//! Each look derives the phase from the stored objects. [`Consumer::look`] returns
//! the phase, [`Consumer::reconcile`] makes the next step, and [`Consumer::receive`]
//! takes a message of the peer. If a key answers later, each look asks it again.
//! Each answer is stored when it comes, and the Tenant waits for all answers.

mod administration;
mod config;
mod configuration;
mod course;
mod credentials;
mod driving;
mod handshake;
mod interests;
mod keys;
mod look;
mod observed;
mod phase;
mod record;
mod records;
mod slice;

use std::sync::Arc;

pub use config::ConsumerConfig;
pub use configuration::{ConsumerBuilder, PeerSettings, RenewalScheme};
pub use credentials::{
    offered::OfferedIdentity, renewal::Renewal, stored_identity::StoredIdentity,
};
pub use handshake::accepted::AcceptedIdentity;
pub use phase::{Phase, Status};
pub use slice::{ResourcesDecision, SliceOptions, SlicePhase, SliceStatus};

use self::{
    administration::ending,
    configuration::Configuration,
    look::Look,
    observed::Observed,
    records::{Plan, Records},
};
use crate::{
    audit::{Decision, Event},
    crypto::KeyStore,
    error::{ApiMisuse, Error, Precondition},
    machine::{Env, Message, MessageBody, Step, View},
    model::{ClusterId, Timestamp, names},
};

/// The consumer's side, for all its peers. A `Consumer` holds configuration only, so
/// it is cheap to clone and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     consumer::{Consumer, Phase},
///     crypto::{Entropy, KeyPair, Nonce, OneKey},
///     machine::{Env, Message, MessageBody, Objects},
/// };
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let key = KeyPair::from_pkcs8_pem(
/// #     b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKte7lqt2Lc5L4nnP1ZWh1EKA5UxLBuaQWHD2jOjiefl\n-----END PRIVATE KEY-----\n",
/// #     &Default::default(),
/// # )?;
/// let keys = Arc::new(OneKey(Arc::new(key)));
/// let consumer = Consumer::builder("cl-consumer".parse()?, keys).build();
/// let provider = "cl-provider".parse()?;
/// let mut objects = Objects::new();
///
/// let nonce = Nonce::random(&Entropy::from_bytes([7; 32]));
/// let env = Env { now, entropy: Entropy::from_bytes([8; 32]) };
/// let message = Message::new(&provider, consumer.cluster_id(), nonce);
/// let step = consumer.receive(&objects.view(&provider), message, env)?;
/// for effect in &step.effects {
///     objects.apply(effect)?;
/// }
/// assert!(matches!(step.outbox[0].body, MessageBody::Tenant(_)));
///
/// let status = consumer.look(&objects.view(&provider), now)?;
/// assert!(matches!(status.phase, Phase::AwaitsIdentity(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Consumer(Arc<Configuration>);

impl Consumer {
    /// A builder for the consumer with this name and these keys.
    pub fn builder(cluster_id: ClusterId, keys: Arc<dyn KeyStore>) -> ConsumerBuilder {
        ConsumerBuilder::new(cluster_id, keys)
    }

    /// This cluster's name.
    pub fn cluster_id(&self) -> &ClusterId {
        &self.0.cluster_id
    }

    /// The state of the peering: the phase of the control plane and of each resource
    /// slice, derived from the stored objects.
    ///
    /// # Errors
    /// A fault on this side: [`LocalFault`](crate::error::LocalFault),
    /// [`ApiMisuse`]. A fault in what the peer sent is no error, but
    /// [`Phase::Refused`].
    pub fn look(&self, view: &View<'_>, now: Timestamp) -> Result<Status, Error> {
        self.with_look(view, now, |look| look.status())
    }

    /// The next step for the control plane and for each resource slice.
    ///
    /// # Errors
    /// As [`look`](Self::look). A fault of the peer or of a slice is no error, but
    /// part of [`Step::refused`].
    pub fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        self.plan_with(view, env.now, |look, plan| {
            let phase = look.phase()?;
            look.go_on(&phase, plan)?;
            look.go_on_with_slices(phase.accepted(), plan);
            Ok(())
        })
    }

    /// Takes a message of the peer: its nonce or its Identity. The whole message is
    /// verified before anything is signed or stored.
    ///
    /// # Errors
    /// The reason why the message is refused. The caller then stores nothing.
    pub fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.plan_with(view, env.now, |look, plan| {
            message.check_delivery(self.cluster_id(), view.peer())?;
            if ending::is_ending(look.observed) {
                return Err(Error::new(Precondition::StillEnding, None, ""));
            }
            match message.body {
                MessageBody::Nonce(nonce) => look.receive_nonce(&nonce, plan),
                MessageBody::Identity(identity) => look.receive_identity(&identity, plan),
                MessageBody::Tenant(_) => {
                    let fault = ApiMisuse::UnexpectedMessage { message: "Tenant" };
                    Err(Error::new(fault, None, ""))
                }
            }
        })
    }

    /// Forgets the pinned API server, CA and key of a provider. Call this if the
    /// provider's administrator confirms by another channel that they changed. The
    /// next Identity is trusted like the first one.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn release_pins(&self, view: &View<'_>) -> Result<Step, Error> {
        let observed = Observed::of(&self.0, view)?;
        let mut plan = Plan::new(Records::of(&self.0, &observed));
        if observed.record.is_some() {
            plan.records.change(|record| {
                record.endpoint = None;
                record.provider_key = None;
                record.proven_nonce = None;
                record.signed_before.clear();
                record.released = true;
            });
            plan.tell(Event::new(view.peer(), Decision::PinsReleased));
        }
        Ok(plan.finish())
    }

    /// The step of one call, whose changes `act` plans.
    fn plan_with(
        &self,
        view: &View<'_>,
        now: Timestamp,
        act: impl FnOnce(&Look<'_>, &mut Plan<'_>) -> Result<(), Error>,
    ) -> Result<Step, Error> {
        self.with_look(view, now, |look| {
            let mut plan = look.plan();
            act(look, &mut plan)?;
            Ok(plan.finish())
        })
    }

    fn with_look<T>(
        &self,
        view: &View<'_>,
        now: Timestamp,
        act: impl FnOnce(&Look<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let configuration = &*self.0;
        configuration.check_peer(view.peer())?;
        let observed = Observed::of(configuration, view)?;
        let keys = configuration.find_keys(view.peer())?;
        act(&Look {
            configuration,
            view,
            observed: &observed,
            keys: keys.as_ref(),
            now,
        })
    }
}

impl core::fmt::Debug for Consumer {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Consumer")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}

/// The labels by which an object is replicated to a provider.
fn replication_labels(provider: &ClusterId) -> [(String, String); 3] {
    [
        (names::REPLICATION_LABEL, names::TRUE),
        (names::REPLICATION_DESTINATION_LABEL, provider.as_str()),
        (names::REMOTE_CLUSTER_ID_LABEL, provider.as_str()),
    ]
    .map(|(label, value)| (label.to_owned(), value.to_owned()))
}
