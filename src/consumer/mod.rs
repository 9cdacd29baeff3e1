//! The consumer's side. A consumer is a cluster that uses the resources of another
//! cluster.
//!
//! ```text
//!               no Identity                                   Identity
//!      ┌────────────────────────────────────────────┐   ┌──────────────────────────────────┐
//!
//!      AwaitsNonce ──▶ NeedsSignature ──▶ AwaitsIdentity ──▶ NeedsKubeconfig ──▶ Authenticated
//!           │   receive(Nonce)                ▲   receive(Identity)   │
//!           └─────────────────────────────────┘                       └──▶ Refused
//!      NeedsKey: once a nonce or an Identity is stored, while the key store has no key
//!                or has not answered
//!      NeedsIdentity: the stored Identity cannot be used any more, and a Renew
//!                     contains parameters for a usable Identity
//!      KubeconfigByHand: no Identity, and an administrator has made the kubeconfig
//!      Ending: after unauthenticate, until all objects of the peering are gone
//! ```
//!
//! Each resource slice has a phase of its own: see [`SlicePhase`]. Renewal happens
//! inside `Authenticated`: see [`StoredIdentity::renewal`].
//!
//! Each call derives the phase from the stored objects. [`Consumer::look`] returns
//! the phase, [`reconcile`](crate::Machine::reconcile) makes the next step, and
//! [`receive`](crate::Machine::receive) takes a message from the peer. If a key answers
//! later, each step asks the key again. Each answer is stored when it comes. The Tenant
//! is sent when all answers are stored.

mod administration;
mod configuration;
mod course;
mod credentials;
mod driving;
mod guard;
mod handshake;
mod key_choice;
mod keys;
mod look;
mod observed;
mod phase;
mod record;
mod slice;

use std::sync::Arc;

pub use configuration::{ConsumerConfig, PeerSettings, RenewalScheme};
pub use credentials::{
    by_hand::KubeconfigByHand, offered::OfferedIdentity, renewal::Renewal,
    stored_identity::StoredIdentity,
};
pub use handshake::accepted::AcceptedIdentity;
pub use phase::{Phase, Status};
pub use slice::{ResourcesDecision, SliceOptions, SlicePhase, SliceStatus};

use self::{
    administration::ending::is_ending, configuration::Configuration, look::Look,
    observed::Observed, record::Plan,
};
use crate::{
    audit::{Decision, Event},
    crypto::KeyStore,
    error::Error,
    machine::{Step, View},
    model::{ClusterId, Timestamp, names},
};

/// The consumer's side, for all its peers. A `Consumer` holds configuration only, so
/// it is cheap to clone and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     Machine,
///     consumer::{Consumer, ConsumerConfig, Phase},
///     crypto::{Entropy, KeyPair, Nonce, OneKey},
///     machine::{Env, Message, MessageBody, Objects},
/// };
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let key = KeyPair::from_pkcs8_pem(
/// #     b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKte7lqt2Lc5L4nnP1ZWh1EKA5UxLBuaQWHD2jOjiefl\n-----END PRIVATE KEY-----\n",
/// #     &Default::default(),
/// # )?;
/// let keys = Arc::new(OneKey(Arc::new(key)));
/// let consumer = Consumer::new(ConsumerConfig::new("cl-consumer".parse()?), keys);
/// let provider = "cl-provider".parse()?;
/// let mut objects = Objects::new(&Entropy::from_bytes([6; 32]));
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
#[derive(Clone, derive_more::Debug)]
#[debug("Consumer {{ cluster_id: {:?}, .. }}", _0.cluster_id())]
pub struct Consumer(Arc<Configuration>);

impl Consumer {
    /// The consumer with this configuration and these keys. The keys must include the
    /// one that [`ConsumerConfig::key`] names.
    pub fn new(settings: ConsumerConfig, keys: Arc<dyn KeyStore>) -> Self {
        Self(Arc::new(Configuration {
            settings,
            keys,
            default_settings: PeerSettings::default(),
        }))
    }

    /// The state of the peering: the phase of the control plane and of each resource
    /// slice, derived from the stored objects.
    ///
    /// # Errors
    /// A fault on this side: [`LocalFault`](crate::error::LocalFault),
    /// [`ApiMisuse`](crate::error::ApiMisuse). A fault in an object from the peer is
    /// no error. The phase is then [`Phase::Refused`].
    pub fn look(&self, view: &View<'_>, now: Timestamp) -> Result<Status, Error> {
        self.with_look(view, now, |look| look.status())
    }

    /// Forgets the pinned API server, CA and key of a provider. Call this if the
    /// provider's administrator confirms by another channel that they changed. The
    /// next Identity is trusted like the first one.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn release_pins(&self, view: &View<'_>) -> Result<Step, Error> {
        self.0.check_peer(view.peer())?;
        let observed = Observed::of(&self.0, view)?;
        let mut plan = observed.plan(&self.0);
        if observed.record.is_some() {
            plan.records.change(|record| {
                record.endpoint = None;
                record.provider_key = None;
                record.proven_nonce = None;
                record.signed_before.clear();
                record.reserved = None;
                record.released = true;
            });
            plan.tell(Event::new(view.peer(), Decision::PinsReleased));
        }
        Ok(plan.finish())
    }

    /// The step of one call. `act` plans its changes.
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
        self.0.check_peer(view.peer())?;
        let observed = Observed::to_end(&self.0, view)?;
        if !is_ending(&observed) {
            observed.check_namespace()?;
        }
        self.with_observed(view, &observed, now, act)
    }

    fn with_observed<T>(
        &self,
        view: &View<'_>,
        observed: &Observed<'_>,
        now: Timestamp,
        act: impl FnOnce(&Look<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let configuration = &*self.0;
        let keys = configuration.find_keys(view.peer())?;
        act(&Look {
            configuration,
            view,
            observed,
            keys: keys.as_ref(),
            now,
        })
    }
}

/// The labels by which an object is replicated to a provider.
fn replication_labels(provider: &ClusterId) -> [(&'static str, &str); 3] {
    [
        (names::REPLICATION_LABEL, names::TRUE),
        (names::REPLICATION_DESTINATION_LABEL, provider.as_str()),
        (names::REMOTE_CLUSTER_ID_LABEL, provider.as_str()),
    ]
}
