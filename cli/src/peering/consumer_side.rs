//! A home as the consumer.

mod beside;
mod expired_answer;

use std::sync::Arc;

use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig, Phase, Status},
    crypto::{Answer, BoxError, KeyStore, Nonce, SigningKey},
    error::{Error, Fault, PeerIncompatible},
    machine::{Effect, Message, MessageBody, Notice, Watch},
    model::{ClusterId, Identity, Kind, Namespace, ObjectRef, Secret, Tenant, names},
    policy::Policy,
};

use crate::{
    environment::Clock,
    failure::{Failure, Result},
    home::{Home, Settings},
    output::program,
    peering::{
        driver::{Driver, failure},
        provider_side::check_other,
    },
};

/// The consumer's side of one peering, over a home.
pub(crate) type ConsumerSide<'h> = Driver<'h, Consumer>;

/// The state of the consumer's side when no step is left.
pub(crate) enum ConsumerStand {
    AwaitsNonce,
    /// The Tenant is ready for the provider.
    AwaitsIdentity(Box<Tenant>),
    /// The kubeconfig is stored in this Secret.
    Authenticated(ObjectRef),
    /// A stored object was refused.
    Refused(Error),
    /// The objects of the peering are being deleted. They still have finalizers.
    Ending,
}

impl<'h> ConsumerSide<'h> {
    /// Creates the side with the peer's present settings in the home.
    pub(crate) fn new(
        home: &'h mut Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
    ) -> Result<Self> {
        check_other(home, peer)?;
        Ok(Self {
            machine: consumer(home, peer, policy, clock)?,
            home,
            peer: peer.clone(),
            clock,
        })
    }

    /// Checks whether this home would accept an Identity. Returns the error if it
    /// would not. Nothing changes.
    pub(crate) fn judge_identity(
        home: &Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
        identity: &Identity,
    ) -> Result<Result<(), Error>> {
        let consumer = consumer(home, peer, policy, clock)?;
        let message = Message::new(peer, consumer.cluster_id(), identity.clone());
        Self::judge(home, peer, &consumer, clock, message)
    }

    /// Checks whether this side would accept a message of the peer: whether it would sign a
    /// nonce, or store an Identity. Returns the error if it would not. Nothing changes.
    pub(crate) fn would_accept(&self, body: impl Into<MessageBody>) -> Result<Result<(), Error>> {
        let message = Message::new(&self.peer, self.machine.cluster_id(), body);
        Self::judge(self.home, &self.peer, &self.machine, self.clock, message)
    }

    /// The present state. No step is carried out.
    pub(crate) fn stand(&self) -> Result<Option<ConsumerStand>> {
        Ok(Some(match self.status()?.phase {
            // An exchange may still follow, and takes the place of the kubeconfig.
            Phase::AwaitsNonce | Phase::KubeconfigByHand(_) => ConsumerStand::AwaitsNonce,
            Phase::AwaitsIdentity(tenant) => ConsumerStand::AwaitsIdentity(tenant),
            Phase::Authenticated(stored) => {
                ConsumerStand::Authenticated(stored.kubeconfig_secret.clone())
            }
            Phase::Refused(error) => ConsumerStand::Refused(error),
            Phase::Ending => ConsumerStand::Ending,
            _ => return Ok(None),
        }))
    }

    /// Runs the consumer as far as possible without the peer, and saves the home.
    pub(crate) fn settle(&mut self) -> Result<(ConsumerStand, Vec<Notice>)> {
        let rest = self.advance()?;
        match self.stand()? {
            Some(stand) => Ok((stand, rest.notices)),
            None => Err(Failure::at_odds(format!(
                "{}: the peering with {} does not make progress",
                self.home.site(),
                self.peer
            ))),
        }
    }

    /// The phases of the control plane and of the slices.
    pub(crate) fn status(&self) -> Result<Status> {
        let status = self.machine.look(&self.view(), self.clock.now()?);
        status.map_err(|error| self.failure(&error))
    }

    /// Makes the tenant namespace in memory, if the peer has none yet.
    pub(crate) fn ensure_namespace(&mut self) -> Result<()> {
        let label = |namespace: &Namespace, key: &str| {
            namespace
                .metadata
                .labels
                .get(key)
                .cloned()
                .unwrap_or_default()
        };
        let found = self.home.all::<Namespace>().any(|namespace| {
            label(namespace, names::REMOTE_CLUSTER_ID_LABEL) == self.peer.as_str()
                && label(namespace, names::TENANT_NAMESPACE_LABEL) == names::TRUE
        });
        // The library refuses two tenant namespaces of one peer.
        self.stand()?;
        if !found {
            let namespace = Namespace::for_tenant(&self.peer);
            self.home
                .apply(&Effect::Create(namespace.into()), self.clock.now()?)?;
        }
        Ok(())
    }

    /// Signs a nonce in memory. Returns the Tenant for the provider.
    pub(crate) fn sign(&mut self, nonce: Nonce) -> Result<Tenant> {
        let subject = format!(
            "the nonce of {} is not signed, and nothing was changed",
            self.peer
        );
        let step = self.receive(nonce, &subject)?;
        let waits = step.notices.contains(&Notice::NewKeyAwaitsNonce);
        let tenant = step
            .outbox
            .into_iter()
            .find_map(|message| match message.body {
                MessageBody::Tenant(tenant) => Some(*tenant),
                _ => None,
            });
        tenant.ok_or_else(|| match waits {
            true => Failure::waiting(format!(
                "{} has to make another nonce for the new key: {} create nonce --replace --remote-cluster-id {}",
                self.peer,
                program(),
                self.home.cluster_id(),
            )),
            false => Failure::at_odds("this home has no key to sign with"),
        })
    }

    /// Receives an Identity in memory. Returns the notices: later steps do not know any more
    /// that a key was seen for the first time.
    pub(crate) fn receive_identity(
        &mut self,
        identity: &Identity,
        subject: &str,
    ) -> Result<Vec<Notice>> {
        if let Some(why) = self.unsigned(identity)? {
            return Err(Failure::waiting(format!("{subject}: {why}")));
        }
        Ok(self.receive(identity.clone(), subject)?.notices)
    }

    /// Why an Identity proves nothing to this side: the Secret with the nonce that it answers is
    /// not there. That is no fault of the peer.
    fn unsigned(&self, identity: &Identity) -> Result<Option<String>> {
        let refusal = self.would_accept(identity.clone())?.err();
        let is_proof = refusal.is_some_and(|error| {
            let fault = error.fault();
            matches!(
                fault,
                Fault::PeerIncompatible(PeerIncompatible::Commitment(_))
            )
        });
        if !is_proof || self.signed_nonce().is_some() {
            return Ok(None);
        }
        let (peer, site) = (&self.peer, self.home.site());
        Ok(Some(format!(
            "{site} has no signed nonce of {peer}, and the Identity answers one: the Secret {} may have been deleted. Sign the nonce again that {peer} still has, and then apply the Identity: {} generate tenant {} --remote-cluster-id {peer} --nonce NONCE",
            names::SIGNED_NONCE_SECRET,
            program(),
            site.options()
        )))
    }

    /// The nonce that was signed last.
    pub(crate) fn signed_nonce(&self) -> Option<Nonce> {
        let secret = self.home.all::<Secret>().find(|secret| {
            let label = secret.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
            secret.metadata.name == names::SIGNED_NONCE_SECRET
                && label.map(String::as_str) == Some(self.peer.as_str())
        })?;
        Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()
    }
}

/// The consumer of a home, for one provider. It signs nothing before the key for the provider
/// is made, if there has to be one ([`ensure_key`]).
fn consumer(home: &Home, peer: &ClusterId, policy: &Policy, clock: Clock) -> Result<Consumer> {
    let keys: Arc<dyn KeyStore> = match home.is_live() && lacks_key(home, peer, policy, clock)? {
        true => Arc::new(NoKey),
        false => Arc::new(home.keys()?),
    };
    Ok(Consumer::new(config(home, peer, policy), keys))
}

fn config(home: &Home, peer: &ClusterId, policy: &Policy) -> ConsumerConfig {
    let mut config = ConsumerConfig::new(home.cluster_id().clone());
    config.policy = home.settings.with_addresses(policy);
    config.namespace = home.liqo_namespace();
    config.peer_again = home.is_live();
    let settings = home.settings.of_provider(peer);
    config.peers.insert(peer.clone(), settings);
    config
}

/// A key that is not made yet.
struct NoKey;

impl KeyStore for NoKey {
    fn find(&self, _peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        Ok(Answer::Pending)
    }
}

/// Makes a key for a provider alone, if it has none yet and the settings, or what is known of
/// the provider, want one. A key that the provider may know stays.
pub(crate) fn ensure_key(
    home: &mut Home,
    provider: &ClusterId,
    policy: &Policy,
    clock: Clock,
) -> Result<()> {
    check_other(home, provider)?;
    match lacks_key(home, provider, policy, clock)? {
        true => home.make_first_key(provider, clock.now()?),
        false => Ok(()),
    }
}

/// Whether a key for this provider alone is still to be made.
fn lacks_key(home: &Home, provider: &ClusterId, policy: &Policy, clock: Clock) -> Result<bool> {
    if home.has_own_key(provider) {
        return Ok(false);
    }
    let setting = home.settings.key_for(provider);
    if !home.is_live() {
        // No peer reads a home.
        return Ok(setting == Some(true) && !home.is_known_to(provider));
    }
    let key: Arc<dyn SigningKey> = home.key()?;
    let consumer = Consumer::new(config(home, provider, policy), Arc::new(NoKey));
    consumer
        .takes_own_key(&home.view(provider), &key, setting, clock.now()?)
        .map_err(|error| failure(home, &error))
}

/// What the consumer's side watches on a cluster, and the Tenants: a provider that has one is
/// a consumer, too.
pub(crate) fn watches(home: &Home) -> Result<Vec<Watch>> {
    let keys = Arc::new(home.keys()?);
    let consumer = consumer_with(home, &home.settings, &Policy::default(), keys);
    let mut watches = consumer.watches();
    watches.push(Watch::all(Kind::Tenant));
    Ok(watches)
}

/// The consumer of a home, with these settings for all peers and these keys.
pub(crate) fn consumer_with(
    home: &Home,
    settings: &Settings,
    policy: &Policy,
    keys: Arc<dyn KeyStore>,
) -> Consumer {
    let mut config = ConsumerConfig::new(home.cluster_id().clone());
    config.policy = settings.with_addresses(policy);
    config.namespace = home.liqo_namespace();
    config.peer_again = home.is_live();
    for peer in settings.peers.keys() {
        config
            .peers
            .insert(peer.clone(), settings.of_provider(peer));
    }
    Consumer::new(config, keys)
}
