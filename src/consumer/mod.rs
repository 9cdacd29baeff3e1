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
//! ```
//!
//! The phase is derived from the objects that are there, each time anew.
//! [`Consumer::resume`] says which one it is; [`Consumer::reconcile`] makes the
//! step that leads on; [`Consumer::receive`] takes a message of the peer.

mod agreement;
mod builder;
mod held;
mod phase;
mod record;
mod seen;
mod signature;

use std::{collections::BTreeMap, sync::Arc};

pub use builder::{ConsumerBuilder, PeerSettings};
pub(crate) use held::credential;
pub use held::{Held, NeedsKubeconfig};
pub use phase::{Peering, Phase};
pub use signature::{AwaitsIdentity, NeedsSignature};

use self::{builder::Configuration, record::Record, seen::Seen};
use crate::{
    commitment::COMMITMENT_ANNOTATION,
    crypto::{KeyStore, Nonce, SigningKey},
    error::{ApiMisuse, Backend, Error, Fault, PolicyRefusal, shortened},
    model::{ClusterId, Identity, Kind, Metadata, Object, ObjectRef, Resource, Timestamp, names},
    policy::Policy,
    step::{Awaited, Effect, Env, Message, Part, Step},
    verify::{self, NonceExpectation},
    view::{Interest, View},
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
///     objects::Objects,
///     step::{Env, Message},
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

    /// What to look up, to see all of one peer.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = |kind| Interest::Labelled {
            kind,
            label: names::REMOTE_CLUSTER_ID_LABEL,
            value: peer.to_string(),
        };
        let namespace = names::tenant_namespace(peer);
        let kubeconfig = names::kubeconfig_secret(&names::identity_name(peer));
        vec![
            labelled(Kind::Namespace),
            labelled(Kind::Secret),
            Interest::Named {
                kind: Kind::Identity,
                name: names::identity_name(peer),
            },
            Interest::Object(self.record_id(peer)),
            // By name as well: what stands there without its label is in the
            // way, and not absent.
            Interest::Object(ObjectRef::new(Kind::Namespace, "", &namespace)),
            Interest::Object(ObjectRef::new(
                Kind::Secret,
                &namespace,
                names::SIGNED_NONCE_SECRET,
            )),
            Interest::Object(ObjectRef::new(Kind::Secret, &namespace, kubeconfig)),
        ]
    }

    /// Whom a change of this object concerns, if anyone: by its name where the
    /// name says it, also of an object that cannot be read, and else by its
    /// label.
    pub fn peer_of(&self, object: &Object) -> Option<ClusterId> {
        let id = object.id();
        let named = match id.kind {
            Kind::Identity => id.name.strip_prefix(names::CONTROL_PLANE_IDENTITY_PREFIX),
            Kind::Secret if id.namespace == self.0.namespace => {
                id.name.strip_prefix(record::NAME_PREFIX)
            }
            _ => None,
        };
        let label = || {
            object
                .metadata()?
                .labels
                .get(names::REMOTE_CLUSTER_ID_LABEL)
        };
        match named {
            Some(peer) => peer.parse().ok(),
            None => label()?.parse().ok(),
        }
    }

    /// The phase that the objects are in.
    ///
    /// # Errors
    /// What is wrong on this side:
    /// [`LocalFault`](crate::error::LocalFault), [`ApiMisuse`]. What is wrong
    /// with what the peer sent is [`Phase::Refused`].
    pub fn resume<'o>(&self, view: &View<'o>, now: Timestamp) -> Result<Peering<'o>, Error> {
        self.check_peer(view.peer())?;
        let seen = Seen::select(self, view)?;
        match self.phase(seen, now) {
            Err(error) if matches!(error.fault(), Fault::Local(_) | Fault::ApiMisuse(_)) => {
                Err(error)
            }
            Err(error) => Ok(Peering {
                phase: Phase::Refused(error),
            }),
            Ok(phase) => Ok(Peering { phase }),
        }
    }

    /// The step that leads on from the phase that the objects are in.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); what the peer did wrong is in
    /// [`Step::refused`].
    pub fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        match self.resume(view, env.now)?.phase {
            Phase::NeedsKey => Ok(Step::awaiting(Awaited::OwnKey)),
            Phase::AwaitsNonce => Ok(Step::awaiting(Awaited::Nonce)),
            Phase::NeedsSignature(phase) => phase.sign(),
            Phase::AwaitsIdentity(phase) => Ok(phase.wait()),
            Phase::NeedsKubeconfig(phase) => phase.store(),
            Phase::Ending => Ok(Step::default()),
            Phase::Authenticated(held) => held.maintain(),
            Phase::Refused(error) => {
                let mut step = Step::refuse(error);
                // What mends an Identity that cannot be used is another one.
                step.outbox.extend(self.sent_tenant(view)?);
                Ok(step)
            }
        }
    }

    /// Takes what the peer sent: its nonce, or its Identity. It is verified as
    /// a whole before anything is signed or stored.
    ///
    /// # Errors
    /// Why it is not taken; nothing is to be stored then.
    pub fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        let seen = Seen::select(self, view)?;
        let Some(key) = self.find_key(view.peer())? else {
            return Ok(Step::awaiting(Awaited::OwnKey));
        };
        match message {
            Message::Nonce(nonce) => {
                // What was signed once is sent on as often as it is asked for.
                let again = NeedsSignature::new(self, seen.clone(), key.clone(), nonce.clone());
                if let Some(sent) = again.already_sent() {
                    return Ok(sent.wait());
                }
                let nonce = self.check_nonce(nonce.as_bytes(), &seen, env.now, None)?;
                NeedsSignature::new(self, seen, key, nonce).sign()
            }
            Message::Identity(identity) => self.receive_identity(seen, &key, &identity, env.now),
            Message::Tenant(_) => Err(Error::new(
                ApiMisuse::UnexpectedMessage { message: "Tenant" },
                None,
                "",
            )),
        }
    }

    fn phase<'o>(&self, seen: Seen<'o>, now: Timestamp) -> Result<Phase<'o>, Error> {
        let Some(key) = self.find_key(&seen.peer)? else {
            return Ok(Phase::NeedsKey);
        };
        if let Some(identity) = seen.identity {
            if identity.metadata.deletion_timestamp.is_some() {
                return Ok(Phase::Ending);
            }
            let verified = self.verify_identity(&seen, &key, identity, now)?;
            let kubeconfig = NeedsKubeconfig::new(self, seen, key, identity, verified);
            return Ok(if kubeconfig.is_stored()? {
                Phase::Authenticated(Held::new(kubeconfig))
            } else {
                Phase::NeedsKubeconfig(kubeconfig)
            });
        }
        let Some((secret, text)) = seen.nonce_text() else {
            return Ok(Phase::AwaitsNonce);
        };
        // What was signed already is sent on, also when its nonce has expired:
        // the provider knows which nonces it takes.
        if let Ok(nonce) = Nonce::parse(text, self.policy(&seen.peer))
            && let Some(sent) =
                NeedsSignature::new(self, seen.clone(), key.clone(), nonce).already_sent()
        {
            return Ok(Phase::AwaitsIdentity(sent));
        }
        let nonce = self.check_nonce(text, &seen, now, Some(secret.id()))?;
        Ok(Phase::NeedsSignature(NeedsSignature::new(
            self, seen, key, nonce,
        )))
    }

    /// The Tenant that the provider should have, if it was made.
    fn sent_tenant(&self, view: &View<'_>) -> Result<Option<Message>, Error> {
        let seen = Seen::select(self, view)?;
        let Some(key) = self.find_key(&seen.peer)? else {
            return Ok(None);
        };
        let nonce = seen
            .nonce_text()
            .and_then(|(_, text)| Nonce::parse(text, self.policy(&seen.peer)).ok());
        let sent =
            nonce.and_then(|nonce| NeedsSignature::new(self, seen, key, nonce).already_sent());
        Ok(sent.map(|sent| Message::Tenant(Box::new(sent.tenant()))))
    }

    /// Forgets API server, CA and key of a provider, because its administrator
    /// says, by another way, that they were changed. The next Identity is
    /// believed as the first was.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn release_pins(&self, view: &View<'_>) -> Result<Step, Error> {
        let seen = Seen::select(self, view)?;
        let mut step = Step::default();
        if seen.record.is_some() {
            let record = Record {
                csr: seen.record().csr,
                ..Record::default()
            };
            step.effects
                .extend(record.store(self, seen.record.as_ref(), &seen.peer));
        }
        Ok(step)
    }

    fn receive_identity(
        &self,
        seen: Seen<'_>,
        key: &Arc<dyn SigningKey>,
        received: &Identity,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let verified = self.verify_identity(&seen, key, received, now)?;
        let mut step = Step::default();
        if seen.namespace.is_none() {
            step.effects.push(seen.create_namespace()?);
        }
        step.effects
            .extend(held::record_pins(self, &seen, &verified));
        match seen.identity {
            None => {
                let mut metadata = clean(&received.metadata);
                metadata.namespace = seen.namespace_name();
                let given = &received.metadata.namespace;
                if !given.is_empty() && *given != metadata.namespace {
                    let (expected, found) = (metadata.namespace, shortened(given));
                    let fault = PolicyRefusal::UnexpectedNamespace { expected, found };
                    return Err(Error::new(fault, Some(received.id()), "metadata.namespace"));
                }
                step.effects.push(Effect::Create(
                    Identity {
                        metadata,
                        spec: received.spec.clone(),
                        ..Identity::default()
                    }
                    .into(),
                ));
            }
            Some(stored) => {
                let mut wanted = stored.clone();
                wanted.spec = received.spec.clone();
                let annotations = &mut wanted.metadata.annotations;
                annotations.remove(COMMITMENT_ANNOTATION);
                annotations.extend(clean(&received.metadata).annotations);
                step.effects
                    .extend(Effect::patch(stored, wanted, Part::Main));
            }
        }
        step.notices.extend(verified.notices());
        Ok(step)
    }

    fn check_nonce(
        &self,
        text: &[u8],
        seen: &Seen<'_>,
        now: Timestamp,
        object: Option<ObjectRef>,
    ) -> Result<Nonce, Error> {
        let configured = !self.settings(&seen.peer).provider_keys.is_empty();
        let expectation = NonceExpectation {
            provider: &seen.peer,
            consumer: &self.0.cluster_id,
            now,
            known_by_key: configured || seen.record().provider_key.is_some(),
        };
        verify::nonce_at(text, &expectation, self.policy(&seen.peer), object)
    }

    fn find_key(&self, peer: &ClusterId) -> Result<Option<Arc<dyn SigningKey>>, Error> {
        self.0
            .keys
            .find(peer)
            .map_err(|error| Error::backend(Backend::Keys, &*error))
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

/// What of a received object's metadata is stored: its name, whose it is, and
/// the provider's commitment. Other labels and annotations are this cluster's
/// own to give a meaning to.
fn clean(received: &Metadata) -> Metadata {
    Metadata {
        name: received.name.clone(),
        labels: kept(&received.labels, names::REMOTE_CLUSTER_ID_LABEL),
        annotations: kept(&received.annotations, COMMITMENT_ANNOTATION),
        ..Metadata::default()
    }
}

fn kept(all: &BTreeMap<String, String>, key: &str) -> BTreeMap<String, String> {
    all.get_key_value(key)
        .map(|(key, value)| (key.clone(), value.clone()))
        .into_iter()
        .collect()
}
