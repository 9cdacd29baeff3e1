//! Two clusters, and their whole handshake in memory.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Machine,
    consumer::{self, Consumer, ConsumerConfig},
    crypto::{Authority, Entropy, KeyPair, Nonce, OneKey, RecordKey, SigningKey},
    machine::{Env, Message, MessageBody, Objects, Step},
    model::{ClusterId, ClusterRole, Identity, Metadata, Tenant, Timestamp, names},
    provider::{self, AuthoritySigner, Endpoint, NameTable, Provider},
};

/// Both clusters before the handshake.
pub(crate) struct Clusters {
    pub(crate) provider: Provider,
    pub(crate) consumer: Consumer,
    pub(crate) authority: Authority,
    pub(crate) key: Arc<KeyPair>,
    pub(crate) record_key: RecordKey,
    /// The provider's ClusterRoles.
    roles: Objects,
}

impl Clusters {
    pub(crate) fn new() -> Self {
        Self::with(Arc::new(KeyPair::from_entropy(&entropy(1))), None)
    }

    /// As [`Clusters::new`], with a provider that commits to its key.
    pub(crate) fn with_commitment() -> Self {
        let key = KeyPair::from_entropy(&entropy(3));
        Self::with(
            Arc::new(KeyPair::from_entropy(&entropy(1))),
            Some(Arc::new(key)),
        )
    }

    pub(crate) fn with(key: Arc<KeyPair>, providers: Option<Arc<dyn SigningKey>>) -> Self {
        let authority = Authority::new("provider-ca", now(), 10 * YEAR, &entropy(2)).unwrap();
        let record_key = RecordKey::new([1; 32]).unwrap();
        let endpoint = Endpoint::new(API_SERVER.parse().unwrap(), Some(authority.ca_bundle()));
        let mut provider = Provider::builder(provider_id(), endpoint, record_key.clone())
            .principals(Arc::new(NameTable::default()))
            .signer(Arc::new(AuthoritySigner::new(
                authority.clone(),
                entropy(4),
            )));
        if let Some(key) = providers {
            provider = provider.key(key);
        }
        let consumer = Consumer::new(
            ConsumerConfig::new(consumer_id()),
            Arc::new(OneKey(key.clone())),
        );
        let roles = [
            ("liqo-remote-controlplane", names::CONTROL_PLANE_ROLE),
            (
                "liqo-virtual-kubelet-remote-clusterwide",
                names::CLUSTER_WIDE_ROLE,
            ),
        ];
        let mut stored = Objects::new(&env().entropy);
        stored.extend(roles.map(|(name, label)| role(name, label).into()));
        Self {
            provider: provider.build(),
            consumer,
            authority,
            key,
            record_key,
            roles: stored,
        }
    }

    /// The handshake from the nonce to the kubeconfig, through the machines, as two
    /// controllers run it. Every object is stored and read again.
    pub(crate) fn handshake(&self) {
        let (provider, consumer) = (&self.provider, &self.consumer);
        let (consumer_id, provider_id) = (consumer.cluster_id(), provider.cluster_id());
        let (mut here, mut there) = (self.roles.clone(), Objects::new(&env().entropy));

        let step = provider.invite(&here.view(consumer_id), env()).unwrap();
        let nonce = carry_out(step, &mut here).unwrap();
        let step = consumer
            .receive(&there.view(provider_id), nonce, env())
            .unwrap();
        let Some(MessageBody::Tenant(mut tenant)) =
            carry_out(step, &mut there).map(|message| message.body)
        else {
            panic!("the consumer made no Tenant");
        };
        // As `kubectl apply` does.
        tenant.metadata.namespace = names::tenant_namespace(consumer_id);
        here.insert((*tenant).into());
        let identity = loop {
            let step = provider.reconcile(&here.view(consumer_id), env()).unwrap();
            assert_eq!(step.refused, []);
            if let Some(identity) = carry_out(step, &mut here) {
                break identity;
            }
        };
        let step = consumer
            .receive(&there.view(provider_id), identity, env())
            .unwrap();
        carry_out(step, &mut there);
        let step = consumer.reconcile(&there.view(provider_id), env()).unwrap();
        assert_eq!(
            step.effects.len(),
            3,
            "the kubeconfig, its reference, and the Renew"
        );
        carry_out(step, &mut there);
    }

    /// The provider's objects after a whole handshake. Both sides are checked.
    pub(crate) fn authenticated(&self) -> Objects {
        let (mut here, mut there) = (self.roles.clone(), Objects::new(&env().entropy));
        let (consumer_id, provider_id) = (self.consumer.cluster_id(), self.provider.cluster_id());
        for _ in 0..8 {
            let step = self.provider.invite(&here.view(consumer_id), env());
            if let Some(message) = carry_out(step.unwrap(), &mut here) {
                let step = self
                    .consumer
                    .receive(&there.view(provider_id), message, env());
                if let Some(tenant) = carry_out(step.unwrap(), &mut there) {
                    let view = here.view(consumer_id);
                    let step = self.provider.receive(&view, tenant, env());
                    carry_out(step.unwrap(), &mut here);
                }
            }
            let step = self.consumer.reconcile(&there.view(provider_id), env());
            carry_out(step.unwrap(), &mut there);
        }
        let status = self.provider.look(&here.view(consumer_id), now());
        assert!(matches!(
            status.unwrap().phase,
            provider::Phase::Authenticated(_)
        ));
        let peering = self.consumer.look(&there.view(provider_id), now());
        assert!(matches!(
            peering.unwrap().phase,
            consumer::Phase::Authenticated(_)
        ));
        here
    }

    /// The Tenant with which the consumer answers a nonce.
    pub(crate) fn tenant(&self, nonce: &Nonce) -> Tenant {
        let nowhere = Objects::new(&env().entropy);
        let view = nowhere.view(self.provider.cluster_id());
        let consumer = self.consumer.cluster_id();
        let message = Message::new(view.peer(), consumer, nonce.clone());
        let mut step = self.consumer.receive(&view, message, env()).unwrap();
        match step.outbox.pop().map(|message| message.body) {
            Some(MessageBody::Tenant(tenant)) => *tenant,
            _ => panic!("the consumer made no Tenant"),
        }
    }

    /// The Identity with this certificate chain, as the provider sends it.
    pub(crate) fn identity(&self, certificate: &[u8]) -> Identity {
        let mut identity = Identity::default();
        let provider = self.provider.cluster_id();
        identity.metadata.name = names::identity_name(provider);
        identity.metadata.labels.insert(
            names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
            provider.to_string(),
        );
        identity.spec.cluster_id = provider.to_string();
        identity.spec.namespace = Some(names::tenant_namespace(self.consumer.cluster_id()));
        identity.spec.auth_params.api_server = API_SERVER.to_owned();
        identity.spec.auth_params.ca = self.authority.ca_bundle().pem().into();
        identity.spec.auth_params.signed_crt = certificate.into();
        identity
    }
}

/// Stores the effects of a step and returns its message.
fn carry_out(step: Step, objects: &mut Objects) -> Option<Message> {
    for effect in &step.effects {
        objects.apply(effect).unwrap();
    }
    step.outbox.into_iter().next()
}

pub(crate) fn env() -> Env {
    Env {
        now: now(),
        entropy: entropy(5),
    }
}

/// Constant bytes in place of random ones, so that each run costs the same.
pub(crate) fn entropy(byte: u8) -> Entropy {
    Entropy::from_bytes([byte; 32])
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_unix(1_795_179_600).unwrap()
}

pub(crate) fn consumer_id() -> ClusterId {
    "consumer".parse().unwrap()
}

pub(crate) fn provider_id() -> ClusterId {
    "provider".parse().unwrap()
}

fn role(name: &str, label: &str) -> ClusterRole {
    ClusterRole {
        metadata: Metadata {
            name: name.to_owned(),
            labels: [(names::APP_NAME_LABEL.to_owned(), label.to_owned())].into(),
            ..Metadata::default()
        },
        ..ClusterRole::default()
    }
}

pub(crate) const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const API_SERVER: &str = "https://provider.example:6443";
