//! The provider's cluster as a consumer of the hostile cluster, which is its consumer as
//! well. Both peerings share a tenant namespace, where the hostile cluster may write.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Error, Machine, View,
    consumer::{ConsumerConfig, PeerSettings},
    crypto::{Entropy, Nonce, OneKey, SigningKey},
    machine::{Effect, Message, MessageBody},
    model::{ClusterId, Kind, Metadata, Object, ObjectRef, Secret, Timestamp, names},
};

use crate::{
    instants::instant,
    keys::{CLUSTER_KEY, OWN_KEY, key},
    setup::Fault,
    store::Store,
    witness::Watched,
};

/// The consumer's side, with the cluster's key and with the key for this provider alone.
pub struct TwoWay {
    provider: ClusterId,
    with_cluster_key: Consumer,
    with_own_key: Consumer,
    cluster_key: Arc<dyn SigningKey>,
    /// A planted fault: the driver does not show who is a consumer as well.
    forgets_consumers: bool,
}

/// The key that the driver has found, or what it does before there is one.
pub enum Choice<'a> {
    Found(&'a Consumer),
    Makes(Box<Effect>),
}

impl TwoWay {
    pub fn new(cluster: &ClusterId, provider: &ClusterId, fault: Option<Fault>) -> Self {
        let with = |number: u8| {
            let settings = PeerSettings {
                sign_slices_made_by_anyone: fault == Some(Fault::SignsAnySlice),
                ..PeerSettings::default()
            };
            let mut config = ConsumerConfig::new(cluster.clone());
            config.peers.insert(provider.clone(), settings);
            Consumer::new(config, Arc::new(OneKey(Arc::new(Watched(key(number))))))
        };
        Self {
            provider: provider.clone(),
            with_cluster_key: with(CLUSTER_KEY),
            with_own_key: with(OWN_KEY),
            cluster_key: Arc::new(key(CLUSTER_KEY)),
            forgets_consumers: fault == Some(Fault::ForgetsConsumers),
        }
    }

    /// Either consumer: they differ in their keys alone.
    pub fn consumer(&self) -> &Consumer {
        &self.with_own_key
    }

    /// The consumer with the key that the store shows.
    pub fn with_stored_key(&self, store: &Store) -> &Consumer {
        match store.get(&own_key_id(&self.provider)) {
            Some(_) => &self.with_own_key,
            None => &self.with_cluster_key,
        }
    }

    /// The key for a call, as the drivers choose it: the provider's own one if it exists, or
    /// what the library says. If the call may sign, the key is made before the call, and in a
    /// step of its own.
    pub fn choose(
        &self,
        store: &Store,
        view: &View<'_>,
        may_sign: bool,
        now: Timestamp,
    ) -> Result<Choice<'_>, Error> {
        let id = own_key_id(&self.provider);
        if store.get(&id).is_some() {
            return Ok(Choice::Found(&self.with_own_key));
        }
        let shown = View::of(&self.provider, view.objects().filter(|it| self.shows(it)));
        let consumer = &self.with_cluster_key;
        let takes_own = consumer.takes_own_key(&shown, &self.cluster_key, None, now)?;
        if !takes_own {
            return Ok(Choice::Found(consumer));
        }
        if !may_sign {
            return Ok(Choice::Found(&self.with_own_key));
        }
        let made = Secret {
            metadata: Metadata {
                name: id.name,
                namespace: id.namespace,
                ..Metadata::default()
            },
            ..Secret::default()
        };
        Ok(Choice::Makes(Box::new(Effect::Create(made.into()))))
    }

    /// Whether the peering has begun: there is an Identity, or the Secret of signed nonces.
    pub fn has_begun(&self, view: &View<'_>) -> bool {
        view.objects().any(|object| match object {
            Object::Identity(_) => true,
            Object::Secret(secret) => {
                secret.metadata.name == names::SIGNED_NONCE_SECRET
                    && secret.metadata.namespace == names::tenant_namespace(&self.provider)
            }
            _ => false,
        })
    }

    /// The signature that this cluster gave to another provider, with its nonce. That
    /// provider and the hostile cluster work together.
    pub fn signed_for_another(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let other: ClusterId = "cl-other".parse().ok()?;
        let nonce = Nonce::random(&Entropy::from_bytes([45; 32]));
        let consumer = &self.with_cluster_key;
        let message = Message::new(&other, consumer.cluster_id(), nonce.clone());
        let env = Env {
            now: instant(0),
            entropy: Entropy::from_bytes([7; 32]),
        };
        let step = consumer.receive(&View::of(&other, []), message, env).ok()?;
        let signature = step.outbox.into_iter().find_map(|sent| match sent.body {
            MessageBody::Tenant(tenant) => Some(tenant.spec.signature.as_slice().to_vec()),
            _ => None,
        });
        Some((nonce.as_str().as_bytes().to_vec(), signature?))
    }

    fn shows(&self, object: &Object) -> bool {
        let is_of_a_consumer = matches!(object, Object::Tenant(_) | Object::RoleBinding(_))
            || object.id().namespace == names::LIQO_NAMESPACE;
        !(self.forgets_consumers && is_of_a_consumer)
    }
}

/// The Secret with the key for this provider alone, in Liqo's namespace.
fn own_key_id(provider: &ClusterId) -> ObjectRef {
    let name = own_key_name(provider);
    ObjectRef::new(Kind::Secret, names::LIQO_NAMESPACE, name)
}

pub fn own_key_name(provider: &ClusterId) -> String {
    format!("{}-{provider}", names::CLUSTER_KEYS_SECRET)
}
