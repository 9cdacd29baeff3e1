//! A home as the consumer.

mod beside;

use std::sync::Arc;

use liqo_auth::{
    consumer::{Consumer, Phase, Status},
    crypto::{Nonce, OneKey},
    error::Error,
    machine::{Effect, Message, MessageBody, Notice},
    model::{ClusterId, Identity, Namespace, ObjectRef, Secret, Tenant, names},
    policy::Policy,
};

use crate::{
    driver::Driver,
    environment::Clock,
    failure::{Failure, Result},
    home::Home,
};

/// The consumer's side of one peering, over a home.
pub(crate) type ConsumerSide<'h> = Driver<'h, Consumer>;

/// Where the consumer's side came to, when nothing was left to do.
pub(crate) enum ConsumerStand {
    AwaitsNonce,
    /// The Tenant can be handed out.
    AwaitsIdentity(Box<Tenant>),
    /// The kubeconfig is stored in this Secret.
    Authenticated(ObjectRef),
    /// What is stored was refused.
    Refused(Error),
    /// What belonged to the peering waits for others to let it go.
    Ending,
}

impl<'h> ConsumerSide<'h> {
    /// The peer's settings are taken as the home has them now.
    pub(crate) fn new(
        home: &'h mut Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
    ) -> Result<Self> {
        Ok(Self {
            machine: consumer(home, peer, policy)?,
            home,
            peer: peer.clone(),
            clock,
        })
    }

    /// Why this home would not take an Identity. Nothing is changed.
    pub(crate) fn judge_identity(
        home: &Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
        identity: &Identity,
    ) -> Result<Result<(), Error>> {
        let consumer = consumer(home, peer, policy)?;
        let message = Message::new(peer, consumer.cluster_id(), identity.clone());
        Self::judge(home, peer, &consumer, clock, message)
    }

    /// Where it stands, without going on.
    pub(crate) fn stand(&self) -> Result<Option<ConsumerStand>> {
        Ok(Some(match self.status()?.phase {
            Phase::AwaitsNonce => ConsumerStand::AwaitsNonce,
            Phase::AwaitsIdentity(tenant) => ConsumerStand::AwaitsIdentity(tenant),
            Phase::Authenticated(stored) => {
                ConsumerStand::Authenticated(stored.kubeconfig_secret.clone())
            }
            Phase::Refused(error) => ConsumerStand::Refused(error),
            Phase::Ending => ConsumerStand::Ending,
            _ => return Ok(None),
        }))
    }

    /// Goes on as far as possible without the peer, and saves the outcome.
    pub(crate) fn settle(&mut self) -> Result<(ConsumerStand, Vec<Notice>)> {
        let rest = self.go_on()?;
        match self.stand()? {
            Some(stand) => Ok((stand, rest.notices)),
            None => Err(Failure::at_odds(format!(
                "{}: the peering with {} does not go on",
                self.home.path().display(),
                self.peer
            ))),
        }
    }

    /// The phases that the objects are in.
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
        // Whether there are two of them, the library knows.
        self.stand()?;
        if !found {
            let namespace = Namespace::for_tenant(&self.peer);
            self.home
                .apply(&Effect::Create(namespace.into()), self.clock.now()?)?;
        }
        Ok(())
    }

    /// Signs a nonce, in memory: the Tenant to hand out.
    pub(crate) fn sign(&mut self, nonce: Nonce) -> Result<Tenant> {
        let subject = format!(
            "the nonce of {} is not signed, and nothing was changed",
            self.peer
        );
        let step = self.receive(nonce, &subject)?;
        let tenant = step
            .outbox
            .into_iter()
            .find_map(|message| match message.body {
                MessageBody::Tenant(tenant) => Some(*tenant),
                _ => None,
            });
        tenant.ok_or_else(|| Failure::at_odds("this home has no key to sign with"))
    }

    /// Takes an Identity in memory.
    pub(crate) fn receive_identity(&mut self, identity: &Identity, subject: &str) -> Result<()> {
        self.receive(identity.clone(), subject)?;
        Ok(())
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

fn consumer(home: &Home, peer: &ClusterId, policy: &Policy) -> Result<Consumer> {
    let keys = Arc::new(OneKey(Arc::new(home.key()?)));
    let settings = home
        .settings
        .peers
        .get(peer)
        .map(|settings| settings.to_library());
    Ok(Consumer::builder(home.cluster_id().clone(), keys)
        .policy(policy.clone())
        .peer(peer.clone(), settings.unwrap_or_default())
        .build())
}

/// What a person should know, in a sentence.
pub(crate) fn sentence(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::SignedNonceIsStale => {
            "The nonce was replaced: a consumer with Liqo has to delete its Secret liqo-signed-nonce before it signs the new one.".to_owned()
        }
        Notice::NonceAskedAfterEnd => {
            "Somebody asked for a nonce for a peer whose peering has ended: invite the peer, by create nonce, if it may come again.".to_owned()
        }
        Notice::NoClusterRole { label_value } => format!(
            "There is no ClusterRole labelled app.kubernetes.io/name={label_value}: the peer has a certificate, and no rights."
        ),
        Notice::ProviderUnproven => {
            "The provider gave no proof of its own key: compare the CA's fingerprint with its administrator.".to_owned()
        }
        Notice::ProviderKeyFirstSeen { fingerprint } => format!(
            "The provider proved the key {fingerprint}, and is known by it from now on: compare it with what its administrator says."
        ),
        Notice::RenewalNotCarried => {
            "The certificate was renewed, and nothing carries it to the consumer: generate its Identity again, and hand it over.".to_owned()
        }
        Notice::ConditionHeld { condition } => format!(
            "The tenant stays {condition:?}, whatever its Tenant says, until its administrator uncordons it."
        ),
        Notice::IssuedByAnotherCa => {
            "The client certificate was not issued by a CA of the bundle; that is legal if the API server's certificate comes from another CA.".to_owned()
        }
        Notice::CertificateDue { identity, until } => format!(
            "{identity}: the certificate is due, and ends at {until}: authenticate again before that."
        ),
        Notice::CannotRenew {
            identity,
            until,
            error,
        } => format!(
            "{identity}: the certificate ends at {until}, and is not renewed: {error}. {}",
            error.advice()
        ),
        Notice::NewKeyAwaitsNonce => {
            "The provider knows this cluster by its earlier key: with the provider's next nonce the new one follows.".to_owned()
        }
        _ => return None,
    })
}
