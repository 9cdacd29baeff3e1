//! The consumer's side: who wants to use another cluster.
//!
//! ```text
//!               no Identity                                   Identity
//!      ┌────────────────────────────────────────────┐   ┌──────────────────────────────────┐
//!
//!      AwaitsNonce ──▶ NeedsSignature ──▶ AwaitsIdentity ──▶ NeedsKubeconfig ──▶ Authenticated
//!           │   receive(Nonce)                ▲   receive(Identity)   │
//!           └─────────────────────────────────┘                       └──▶ Refused
//!      NeedsKey: at any point, while the key store has none or has not answered
//!      NeedsIdentity: the stored Identity is of no use any more, and a Renew
//!                     brought one that is
//!      Ending: after unauthenticate, until all of it is gone
//! ```
//!
//! The resource slices stand beside the phase, each with one of its own: see
//! [`SlicePhase`]. Renewal happens inside `Authenticated`: see
//! [`StoredIdentity::renewal`].
//!
//! The phase is derived from the objects that are there, each time anew.
//! [`Consumer::look`] tells which one it is; [`Consumer::reconcile`] makes the
//! step that leads on; [`Consumer::receive`] takes a message of the peer. A key
//! that answers later is asked at each look; each answer is stored when it
//! comes, and the Tenant waits for all of them.

mod administration;
mod config;
mod configuration;
mod credentials;
mod driving;
mod handshake;
mod interests;
mod look;
mod observed;
mod phase;
mod record;
mod slice;

use std::sync::Arc;

pub use config::ConsumerConfig;
pub use configuration::{ConsumerBuilder, PeerSettings, RenewalScheme};
pub use credentials::{renewal::Renewal, stored_identity::StoredIdentity, taking::OfferedIdentity};
pub use handshake::accepted::AcceptedIdentity;
pub use phase::{Phase, Status};
pub use slice::{ResourcesDecision, SliceOptions, SlicePhase, SliceStatus};

use self::{
    administration::ending,
    configuration::Configuration,
    look::Look,
    observed::Observed,
    record::{Plan, Records},
};
use crate::{
    audit::{Decision, Event},
    crypto::KeyStore,
    error::{ApiMisuse, Error, Precondition},
    machine::{Env, Message, MessageBody, Step, View},
    model::{ClusterId, Timestamp, names},
};

/// The consumer's side, for all its peers: configuration only, cheap to clone
/// and to share.
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
    /// A consumer of that name, with its keys.
    pub fn builder(cluster_id: ClusterId, keys: Arc<dyn KeyStore>) -> ConsumerBuilder {
        ConsumerBuilder::new(cluster_id, keys)
    }

    /// This cluster's name.
    pub fn cluster_id(&self) -> &ClusterId {
        &self.0.cluster_id
    }

    /// Where the peering stands: the phase that the objects are in, and that of
    /// each resource slice.
    ///
    /// # Errors
    /// What is wrong on this side:
    /// [`LocalFault`](crate::error::LocalFault), [`ApiMisuse`]. What is wrong
    /// with what the peer sent is [`Phase::Refused`].
    pub fn look(&self, view: &View<'_>, now: Timestamp) -> Result<Status, Error> {
        self.with_look(view, now, |look| look.status())
    }

    /// The step that leads on from the phase that the objects are in, and from
    /// that of each resource slice.
    ///
    /// # Errors
    /// As [`look`](Self::look); what the peer did wrong, and what is wrong
    /// with a slice, is in [`Step::refused`].
    pub fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        self.with_look(view, env.now, |look| {
            let mut plan = look.plan();
            let phase = look.phase()?;
            look.go_on(&phase, &mut plan)?;
            look.go_on_with_slices(phase.accepted(), &mut plan);
            Ok(plan.finish())
        })
    }

    /// Takes what the peer sent: its nonce, or its Identity. It is verified as
    /// a whole before anything is signed or stored.
    ///
    /// # Errors
    /// Why it is not taken; nothing is to be stored then.
    pub fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.with_look(view, env.now, |look| {
            message.check_delivery(self.cluster_id(), view.peer())?;
            if ending::is_ending(look.observed) {
                return Err(Error::new(Precondition::StillEnding, None, ""));
            }
            let mut plan = look.plan();
            match message.body {
                MessageBody::Nonce(nonce) => look.receive_nonce(&nonce, &mut plan)?,
                MessageBody::Identity(identity) => look.receive_identity(&identity, &mut plan)?,
                MessageBody::Tenant(_) => {
                    let fault = ApiMisuse::UnexpectedMessage { message: "Tenant" };
                    return Err(Error::new(fault, None, ""));
                }
            }
            Ok(plan.finish())
        })
    }

    /// Forgets API server, CA and key of a provider, because its administrator
    /// says, by another way, that they were changed. The next Identity is
    /// believed as the first was.
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
                record.released = true;
            });
            plan.tell(Event::new(view.peer(), Decision::PinsReleased));
        }
        Ok(plan.finish())
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
