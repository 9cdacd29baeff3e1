//! A trait to drive a provider and a consumer in the same way.

use super::{Concerns, Env, Interest, Message, Mirror, Status, Step, View, Watch};
use crate::{
    error::Error,
    model::{ClusterId, Object, Timestamp},
};

/// One side of the protocol, for all its peers:
/// [`Provider`](crate::Provider) or [`Consumer`](crate::Consumer).
///
/// A driver (a controller, a tool or a test) needs only this trait, so a driver is
/// written once for both sides. The calls for administrators differ between the sides.
/// These calls also take a [`View`] and return a [`Step`], so a driver carries them out
/// in the same way. A [`Run`](super::drive::Run) says what to do next.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     Consumer, Env, Error, Provider,
///     crypto::{Authority, Entropy, KeyPair, OneKey, RecordKey},
///     consumer::ConsumerConfig,
///     machine::{
///         Machine, Message, Objects, Stage,
///         drive::{Applied, Next, Run},
///     },
///     model::ClusterId,
///     provider::{AuthoritySigner, Endpoint, NameTable},
/// };
/// # use core::time::Duration;
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let entropy = |byte| Entropy::from_bytes([byte; 32]);
///
/// /// Delivers the messages, and reconciles until nothing is left to do.
/// fn settle(
///     machine: &dyn Machine,
///     objects: &mut Objects,
///     peer: &ClusterId,
///     arrived: Vec<Message>,
///     env: impl Fn() -> Env,
/// ) -> Result<Vec<Message>, Box<dyn std::error::Error>> {
///     for message in arrived {
///         let step = machine.receive(&objects.view(peer), message, env())?;
///         step.effects.iter().try_for_each(|effect| objects.apply(effect))?;
///     }
///     let mut run = Run::to_rest();
///     loop {
///         match run.next()? {
///             Next::Look { .. } => run.looked(machine.reconcile(&objects.view(peer), env())?),
///             Next::Confirm(_) => run.confirmed(true),
///             Next::Apply(effect) => {
///                 objects.apply(effect)?;
///                 run.applied(Applied::Shown);
///             }
///             Next::Rest => return Ok(run.into_step().outbox),
///         }
///     }
/// }
///
/// let authority = Authority::new("cl-provider-ca", now, Duration::from_secs(86_400), &entropy(1))?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(authority.ca_bundle()));
/// let provider = Provider::builder("cl-provider".parse()?, endpoint, RecordKey::new([1; 32])?)
///     .principals(Arc::new(NameTable::default()))
///     .signer(Arc::new(AuthoritySigner::new(authority, entropy(2))))
///     .build();
/// let keys = Arc::new(OneKey(Arc::new(KeyPair::from_entropy(&entropy(3)))));
/// let consumer = Consumer::new(ConsumerConfig::new("cl-consumer".parse()?), keys);
/// let env = || Env { now, entropy: entropy(4) };
///
/// let (mut at_provider, mut at_consumer) = (Objects::new(&entropy(8)), Objects::new(&entropy(9)));
/// let step = provider.invite(&at_provider.view(consumer.cluster_id()), env())?;
/// step.effects.iter().try_for_each(|effect| at_provider.apply(effect))?;
///
/// let mut messages = Vec::new();
/// for _ in 0..2 {
///     let (here, there): (&dyn Machine, &dyn Machine) = (&provider, &consumer);
///     messages = settle(here, &mut at_provider, there.cluster_id(), messages, env)?;
///     messages = settle(there, &mut at_consumer, here.cluster_id(), messages, env)?;
/// }
///
/// let both: [(&dyn Machine, _, &ClusterId); 2] = [
///     (&provider, &at_provider, consumer.cluster_id()),
///     (&consumer, &at_consumer, provider.cluster_id()),
/// ];
/// for (machine, objects, peer) in both {
///     let status = machine.look(&objects.view(peer), now)?;
///     assert_eq!(status.control_plane.stage, Stage::Authenticated);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Machine: Send + Sync {
    /// The ID of this cluster.
    fn cluster_id(&self) -> &ClusterId;

    /// The watches of a controller, for all peers. A provider's look-up of names has
    /// watches of its own ([`NameRegistry`](crate::provider::NameRegistry)).
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use liqo_auth::{Machine, consumer::{Consumer, ConsumerConfig}};
    /// # use liqo_auth::crypto::{Entropy, KeyPair, OneKey};
    /// # let key = KeyPair::from_entropy(&Entropy::from_bytes([3; 32]));
    /// # let keys = Arc::new(OneKey(Arc::new(key)));
    /// let consumer = Consumer::new(ConsumerConfig::new("cl-consumer".parse()?), keys);
    /// let watches: Vec<String> = consumer.watches().iter().map(ToString::to_string).collect();
    /// assert!(watches.contains(&"identities".to_owned()));
    /// assert!(watches.contains(&"secrets in liqo with liqo-auth/peer".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn watches(&self) -> Vec<Watch>;

    /// The look-ups that together return all objects of one peer. A provider also
    /// looks up the objects of the peer's peering user. The tenant namespaces of other
    /// peers are among the results, without their content. If the peer's tenant
    /// namespace does not have Liqo's default name, the caller also looks up the
    /// Secrets in that namespace.
    fn interests(&self, peer: &ClusterId) -> Vec<Interest>;

    /// The peers that a change of an object concerns. A ClusterRole concerns all
    /// peers of a provider. A replica of a resource slice or of a Renew concerns the
    /// peers of a provider. An original concerns the peers of a consumer.
    fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns;

    /// The state of the peering, in the form that both sides share. The `look`
    /// method of each side returns its own phases.
    ///
    /// A look changes nothing, and asks only two backends: the key store and the look-up of names.
    /// [`Status::awaits`] names each answer for which a step asks.
    ///
    /// # Errors
    /// A fault of this side: [`LocalFault`](crate::error::LocalFault) or
    /// [`ApiMisuse`](crate::error::ApiMisuse). The peer's faults are in [`Status`].
    fn look(&self, view: &View<'_>, now: Timestamp) -> Result<Status, Error>;

    /// The step from the present phases to the next, for the control plane and for
    /// each resource slice. Every choice follows from the configuration.
    ///
    /// # Errors
    /// As [`look`](Self::look). The peer's faults are in [`Step::refused`].
    fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error>;

    /// Takes a message from the peer. A consumer takes the nonce and the Identity,
    /// and a provider takes the Tenant. The whole message is verified before
    /// anything is signed or stored.
    ///
    /// # Errors
    /// The error says why the message is refused. The caller has nothing to store
    /// then.
    fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error>;

    /// Judges a change in front of Liqo's own authentication module: whether Liqo may act on
    /// this object. `changed` is the object as it will be stored, with its UID, and `view` the
    /// objects before. A provider judges a Tenant, a replica of a resource slice and a replica
    /// of a Renew; a consumer judges an Identity, a nonce that is to be signed, and a Secret
    /// with a kubeconfig. Other objects are let through. Whether somebody has deleted the object
    /// does not matter: Liqo acts on most of what a finalizer keeps.
    ///
    /// A provider also records the nonce in the Secret `liqo-nonce`. Give it only a nonce that Liqo
    /// itself has made and stores now. A Tenant that signs another nonce is refused, unless the
    /// view [vouches](View::vouch_for_nonce) for it: by that, an administrator adopts a peering
    /// that is older than the guard.
    ///
    /// A consumer also records its own slice for a provider that is a consumer of this cluster
    /// as well, so that it is accepted as it is. Give it only slices that no user of the
    /// provider writes.
    ///
    /// The step writes this side's record and nothing else. The caller applies it before it
    /// lets the change through: two Tenants that come at once cannot both pin their keys.
    /// Others may still refuse the Tenant. So a first key is pinned for a minute, and for good
    /// when the caller gives the Tenant again, as it is stored. If the step waits for something
    /// ([`Wait::awaiting`](super::Wait::awaiting)), the object is not judged yet.
    ///
    /// # Errors
    /// The error says why the object is refused.
    fn guard(&self, view: &View<'_>, changed: &Object, env: Env) -> Result<Step, Error>;
}
