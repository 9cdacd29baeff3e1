//! The consumer's side: who wants to use another cluster.
//!
//! ```text
//!               no Identity                                   Identity
//!      ┌────────────────────────────────────────────┐   ┌──────────────────────────────────┐
//!
//!      AwaitsNonce ──▶ NeedsSignature ──▶ AwaitsIdentity ──▶ NeedsKubeconfig ──▶ Authenticated
//!           │   receive(Nonce)                ▲   receive(Identity)   │
//!           └─────────────────────────────────┘                       └──▶ Refused
//!      NeedsKey: at any point, while the key store has none
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
//! [`Consumer::resume`] says which one it is; [`Consumer::reconcile`] makes the
//! step that leads on; [`Consumer::receive`] takes a message of the peer.

mod administration;
mod configuration;
mod credentials;
mod handshake;
mod interests;
mod observed;
mod phase;
mod record;
mod slice;

use std::sync::Arc;

pub use administration::ending::Ending;
pub use configuration::{ConsumerBuilder, PeerSettings, RenewalScheme};
pub use credentials::kubeconfig::NeedsKubeconfig;
pub use credentials::renewal::Renewal;
pub use credentials::stored_identity::StoredIdentity;
pub use credentials::taking::NeedsIdentity;
pub use handshake::signature::{AwaitsIdentity, NeedsSignature};
pub use phase::{Peering, Phase};
pub use slice::{Denied, NeedsRequest, ResourcesDecision, SliceOptions, SlicePeering, SlicePhase};

use self::{
    configuration::Configuration, credentials::taking::Status, handshake::keys::Keys,
    observed::Observed, record::Record, slice::Surroundings,
};
use crate::{
    audit::{Decision, Event},
    crypto::{KeyStore, Nonce},
    error::{ApiMisuse, Error, Fault, Precondition},
    machine::{Awaited, Env, Message, Notice, Step, View},
    model::{AuthParams, ClusterId, Kind, ObjectRef, Resource, Timestamp, names},
    policy::Policy,
    verify::{self, NonceExpectation},
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
///     machine::{Env, Message, Objects},
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
/// let step = consumer.receive(&objects.view(&provider), Message::Nonce(nonce), env)?;
/// for effect in &step.effects {
///     objects.apply(effect)?;
/// }
/// assert!(matches!(step.outbox[0], Message::Tenant(_)));
///
/// let peering = consumer.resume(&objects.view(&provider), now)?;
/// assert!(matches!(peering.phase, Phase::AwaitsIdentity(_)));
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

    /// The phase that the objects are in.
    ///
    /// # Errors
    /// What is wrong on this side:
    /// [`LocalFault`](crate::error::LocalFault), [`ApiMisuse`]. What is wrong
    /// with what the peer sent is [`Phase::Refused`].
    pub fn resume<'o>(&self, view: &View<'o>, now: Timestamp) -> Result<Peering<'o>, Error> {
        self.look(view, now).map(|(_, peering)| peering)
    }

    /// The step that leads on from the phase that the objects are in, and from
    /// that of each resource slice.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); what the peer did wrong, and what is wrong
    /// with a slice, is in [`Step::refused`].
    pub fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        let (observed, Peering { phase, slices }) = self.look(view, env.now)?;
        let mut record = observed.record();
        let mut step = match phase {
            Phase::NeedsKey => Step::awaiting(Awaited::OwnKey),
            Phase::AwaitsNonce => Step::awaiting(Awaited::Nonce),
            Phase::NeedsSignature(phase) => phase.plan(&mut record)?,
            Phase::AwaitsIdentity(phase) => phase.wait(),
            Phase::NeedsIdentity(phase) => phase.take()?,
            Phase::NeedsKubeconfig(phase) => phase.plan(&mut record)?,
            Phase::Ending(phase) => phase.go_on(),
            Phase::Authenticated(held) => held.plan(&mut record)?,
            Phase::Refused(error) => {
                let mut step = Step::refuse(error);
                // What mends an Identity that cannot be used is another one.
                step.outbox.extend(self.sent_tenant(&observed)?);
                step
            }
        };
        step.append(self.plan_slices(view, &observed, &slices, &mut record));
        Ok(observed.with_record(self, step, &record))
    }

    fn look<'o>(
        &self,
        view: &View<'o>,
        now: Timestamp,
    ) -> Result<(Observed<'o>, Peering<'o>), Error> {
        self.check_peer(view.peer())?;
        let observed = Observed::select(self, view)?;
        let keys = self.find_keys(view.peer())?;
        let phase = match self.phase(observed.clone(), keys.as_ref(), now) {
            Err(error)
                if matches!(
                    error.fault(),
                    Fault::Precondition(_) | Fault::Local(_) | Fault::ApiMisuse(_)
                ) =>
            {
                return Err(error);
            }
            Err(error) => Phase::Refused(error),
            Ok(phase) => phase,
        };
        let around = Surroundings {
            observed: &observed,
            keys: keys.as_ref(),
            control_plane: phase.accepted(),
            now,
        };
        let slices = self.slices(view, &around);
        Ok((observed, Peering { phase, slices }))
    }

    /// Takes what the peer sent: its nonce, or its Identity. It is verified as
    /// a whole before anything is signed or stored.
    ///
    /// # Errors
    /// Why it is not taken; nothing is to be stored then.
    pub fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        let observed = Observed::select(self, view)?;
        let Some(keys) = self.find_keys(view.peer())? else {
            return Ok(Step::awaiting(Awaited::OwnKey));
        };
        if Ending::of(self, &observed).is_some() {
            return Err(Error::new(Precondition::StillEnding, None, ""));
        }
        match message {
            Message::Nonce(nonce) => {
                // What was signed once is sent on as often as it is asked for.
                let again = NeedsSignature::new(self, observed.clone(), &keys, nonce.clone());
                if let Some(sent) = again.already_sent() {
                    return Ok(sent.wait());
                }
                if again.was_signed_by(keys.predecessor.as_deref()) {
                    // The provider took it from the key before; the present key
                    // needs another one.
                    let mut step = Step::awaiting(Awaited::Nonce);
                    step.notices.push(Notice::NewKeyAwaitsNonce);
                    return Ok(step);
                }
                let nonce = self.check_nonce(nonce.as_bytes(), &observed, env.now, None)?;
                NeedsSignature::new(self, observed, &keys, nonce).sign()
            }
            Message::Identity(identity) => {
                self.receive_identity(observed, &keys, &identity, env.now)
            }
            Message::Tenant(_) => Err(Error::new(
                ApiMisuse::UnexpectedMessage { message: "Tenant" },
                None,
                "",
            )),
        }
    }

    fn phase<'o>(
        &self,
        observed: Observed<'o>,
        keys: Option<&Keys>,
        now: Timestamp,
    ) -> Result<Phase<'o>, Error> {
        if let Some(ending) = Ending::of(self, &observed) {
            return Ok(Phase::Ending(ending));
        }
        let Some(keys) = keys else {
            return Ok(Phase::NeedsKey);
        };
        let nonce = observed.nonce_text();
        if observed.identity.is_some() {
            let given = renewed(&observed);
            return Ok(match self.status(observed.clone(), keys, given, now)? {
                Status::Nothing => Phase::AwaitsNonce,
                Status::Refused(error) => Phase::Refused(error),
                Status::NeedsIdentity(phase) => Phase::NeedsIdentity(phase),
                Status::NeedsKubeconfig(phase) => Phase::NeedsKubeconfig(phase),
                Status::Held(held) => Phase::Authenticated(self.succeed(held, observed, keys, now)),
            });
        }
        let Some((secret, text)) = nonce else {
            return Ok(Phase::AwaitsNonce);
        };
        // What was signed already is sent on, also when its nonce has expired:
        // the provider knows which nonces it takes.
        if let Ok(nonce) = Nonce::parse(text, self.policy(&observed.peer))
            && let Some(sent) =
                NeedsSignature::new(self, observed.clone(), keys, nonce).already_sent()
        {
            return Ok(Phase::AwaitsIdentity(sent));
        }
        let nonce = self.check_nonce(text, &observed, now, Some(secret.id()))?;
        Ok(Phase::NeedsSignature(NeedsSignature::new(
            self, observed, keys, nonce,
        )))
    }

    /// An identity of the key before the present one serves on; a nonce that
    /// this key has not signed is for the present one.
    fn succeed<'o>(
        &self,
        held: StoredIdentity<'o>,
        observed: Observed<'o>,
        keys: &Keys,
        now: Timestamp,
    ) -> StoredIdentity<'o> {
        if !held.awaits_new_key() {
            return held;
        }
        let Some(nonce) = observed
            .nonce_text()
            .and_then(|(_, text)| Nonce::parse(text, self.policy(&observed.peer)).ok())
        else {
            return held;
        };
        let signature = NeedsSignature::new(self, observed.clone(), keys, nonce.clone());
        let is_signed = signature.already_sent().is_some();
        let is_new = !signature.was_signed_by(keys.predecessor.as_deref())
            && self
                .check_nonce(nonce.as_bytes(), &observed, now, None)
                .is_ok();
        if is_signed || is_new {
            held.with_nonce(signature)
        } else {
            held
        }
    }

    /// The Tenant that the provider should have, if it was made.
    fn sent_tenant(&self, observed: &Observed<'_>) -> Result<Option<Message>, Error> {
        let Some(keys) = self.find_keys(&observed.peer)? else {
            return Ok(None);
        };
        let nonce = observed
            .nonce_text()
            .and_then(|(_, text)| Nonce::parse(text, self.policy(&observed.peer)).ok());
        let sent = nonce.and_then(|nonce| {
            NeedsSignature::new(self, observed.clone(), &keys, nonce).already_sent()
        });
        Ok(sent.map(|sent| Message::Tenant(Box::new(sent.tenant()))))
    }

    /// Forgets API server, CA and key of a provider, because its administrator
    /// says, by another way, that they were changed. The next Identity is
    /// believed as the first was.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn release_pins(&self, view: &View<'_>) -> Result<Step, Error> {
        let observed = Observed::select(self, view)?;
        let mut step = Step::default();
        if observed.record.is_some() {
            let record = Record {
                endpoint: None,
                provider_key: None,
                proven_nonce: None,
                released: true,
                ..observed.record()
            };
            step.events
                .push(Event::new(view.peer(), Decision::PinsReleased));
            step = observed.with_record(self, step, &record);
        }
        Ok(step)
    }

    fn check_nonce(
        &self,
        text: &[u8],
        observed: &Observed<'_>,
        now: Timestamp,
        object: Option<ObjectRef>,
    ) -> Result<Nonce, Error> {
        let configured = !self.settings(&observed.peer).provider_keys.is_empty();
        let expectation = NonceExpectation {
            provider: &observed.peer,
            consumer: &self.0.cluster_id,
            now,
            known_by_key: configured || observed.record().provider_key.is_some(),
        };
        verify::nonce_at(text, &expectation, self.policy(&observed.peer), object)
    }

    fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.0.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        verify::name_length(peer, self.policy(peer))
    }

    fn policy(&self, peer: &ClusterId) -> &Policy {
        let settings = self
            .0
            .peers
            .get(peer)
            .and_then(|settings| settings.policy.as_ref());
        settings.unwrap_or(&self.0.policy)
    }

    fn settings(&self, peer: &ClusterId) -> &PeerSettings {
        self.0.peers.get(peer).unwrap_or(&self.0.default_settings)
    }

    fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.0.namespace.as_str(), record::name(peer))
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

/// What the provider wrote into the control plane's Renew.
fn renewed<'o>(observed: &Observed<'o>) -> Option<(&'o AuthParams, ObjectRef)> {
    let renew = observed.renew.as_ref().ok().copied().flatten()?;
    let given = renew.status.auth_params.as_ref()?;
    (renew.metadata.deletion_timestamp.is_none()).then(|| (given, renew.id()))
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
