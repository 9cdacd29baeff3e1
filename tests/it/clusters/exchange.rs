//! A provider and a consumer that tests set up, with their objects in memory,
//! and signers.

use core::time::Duration;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use liqo_auth::{
    Machine,
    consumer::{self, Consumer, ConsumerConfig, PeerSettings},
    crypto::{
        Answer, Authority, BoxError, CertificateChain, Entropy, KeyPair, Nonce, OneKey, RecordKey,
        SigningKey,
    },
    error::Error,
    machine::{Env, Message, MessageBody, Notice, Objects, Step, View, replication},
    model::{
        ClusterId, ClusterRole, Identity, Metadata, Object, ObjectRef, Secret, Tenant, Timestamp,
        names,
    },
    policy::Policy,
    provider::{
        self, AuthoritySigner, CsrSigner, Endpoint, NameTable, Provider, ProviderBuilder,
        RequestId, SigningRequest,
    },
};

use super::randomness::Randomness;

use crate::clusters::store;

/// The provider's record key (for nonces and records), unless a test sets
/// another one.
pub(crate) const RECORD_KEY: [u8; 32] = [1; 32];
pub(crate) const API_SERVER: &str = "https://172.19.0.3:6443";
pub(crate) const NOW: &str = "2026-11-20T13:00:00Z";
const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Both sides, and the messages between them.
pub(crate) struct Exchange {
    pub(crate) provider: Provider,
    pub(crate) consumer: Consumer,
    pub(crate) at_provider: Objects,
    pub(crate) at_consumer: Objects,
    pub(crate) now: Timestamp,
    /// Nonces that the provider's embedder vouches for.
    pub(crate) vouched: Vec<Nonce>,
    /// The last message of each kind.
    pub(crate) sent: BTreeMap<&'static str, MessageBody>,
    /// The refusals and notices of both sides.
    pub(crate) refused: Vec<Error>,
    pub(crate) notices: Vec<Notice>,
    /// Changes messages on the way, as an attacker in the middle would.
    pub(crate) on_the_way: fn(&mut MessageBody),
    pub(crate) randomness: Randomness,
}

/// How an exchange is set up.
pub(crate) struct Setup {
    pub(crate) consumer_key: Arc<dyn SigningKey>,
    pub(crate) provider_key: Option<Arc<dyn SigningKey>>,
    pub(crate) settings: PeerSettings,
    pub(crate) signer: Arc<dyn CsrSigner>,
    pub(crate) endpoint: Endpoint,
    pub(crate) policy: Policy,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self {
            consumer_key: ed25519(1),
            provider_key: Some(ed25519(2)),
            settings: PeerSettings::default(),
            signer: Arc::new(Ledger::new()),
            endpoint: endpoint(API_SERVER),
            policy: Policy::strict(),
        }
    }

    pub(crate) fn provider(&self, record_key: RecordKey) -> Provider {
        self.provider_builder(record_key).build()
    }

    pub(crate) fn provider_builder(&self, record_key: RecordKey) -> ProviderBuilder {
        let builder = Provider::builder(id("cl-provider"), self.endpoint.clone(), record_key)
            .principals(Arc::new(NameTable::default()))
            .signer(Arc::clone(&self.signer))
            .configure(|config| config.policy = self.policy.clone());
        match &self.provider_key {
            Some(key) => builder.key(Arc::clone(key)),
            None => builder,
        }
    }

    pub(crate) fn consumer(&self) -> Consumer {
        let keys = Arc::new(OneKey(Arc::clone(&self.consumer_key)));
        let mut config = ConsumerConfig::new(id("cl-consumer"));
        config.policy = self.policy.clone();
        config
            .peers
            .insert(id("cl-provider"), self.settings.clone());
        Consumer::new(config, keys)
    }

    pub(crate) fn exchange(&self) -> Exchange {
        Exchange {
            provider: self.provider(RecordKey::new(RECORD_KEY).unwrap()),
            consumer: self.consumer(),
            at_provider: cluster_roles(),
            at_consumer: store::empty(),
            now: now(),
            vouched: Vec::new(),
            sent: BTreeMap::new(),
            refused: Vec::new(),
            notices: Vec::new(),
            on_the_way: |_| {},
            randomness: Randomness::new(),
        }
    }
}

impl Exchange {
    /// Lets both sides work and delivers the messages, until nothing changes.
    pub(crate) fn settle(&mut self) -> &mut Self {
        for _ in 0..16 {
            let before = (self.at_provider.clone(), self.at_consumer.clone());
            self.refused.clear();
            self.notices.clear();
            self.turn_of_provider();
            self.deliver("nonce");
            self.turn_of_consumer();
            self.deliver("Tenant");
            self.turn_of_provider();
            self.deliver("Identity");
            self.turn_of_consumer();
            if before == (self.at_provider.clone(), self.at_consumer.clone()) {
                return self;
            }
        }
        panic!("the exchange does not settle");
    }

    /// The provider reconciles once. It invites a consumer that is not invited
    /// yet.
    pub(crate) fn turn_of_provider(&mut self) -> Step {
        if matches!(self.provider_phase(), provider::Phase::Uninvited) {
            return self.invite();
        }
        let step = self
            .provider
            .reconcile(&self.provider_view(), self.env())
            .unwrap();
        self.carry_out(true, step)
    }

    /// The provider takes its turns until it has nothing left to do.
    #[track_caller]
    pub(crate) fn turns_of_provider(&mut self) {
        let settles = (0..64).any(|_| self.turn_of_provider().is_settled());
        assert!(settles, "the provider does not settle");
    }

    /// The provider's administrator invites the consumer.
    pub(crate) fn invite(&mut self) -> Step {
        let step = self
            .provider
            .invite(&self.provider_view(), self.env())
            .unwrap();
        self.carry_out(true, step)
    }

    /// The consumer reconciles once.
    pub(crate) fn turn_of_consumer(&mut self) -> Step {
        let step = self
            .consumer
            .reconcile(&self.consumer_view(), self.env())
            .unwrap();
        self.carry_out(false, step)
    }

    /// Delivers the last message of that kind, if there is one.
    pub(crate) fn deliver(&mut self, kind: &str) {
        if let Some(message) = self.sent.get(kind).cloned()
            && let Err(error) = self.hand_over(message)
        {
            add(&mut self.refused, &error);
        }
    }

    /// Delivers a message, whoever sent it.
    pub(crate) fn hand_over(&mut self, body: impl Into<MessageBody>) -> Result<Step, Error> {
        let mut body = body.into();
        (self.on_the_way)(&mut body);
        let (provider, consumer) = (self.provider.cluster_id(), self.consumer.cluster_id());
        let to_provider = matches!(body, MessageBody::Tenant(_));
        let step = if to_provider {
            let message = Message::new(consumer, provider, body);
            self.provider
                .receive(&self.provider_view(), message, self.env())?
        } else {
            let message = Message::new(provider, consumer, body);
            self.consumer
                .receive(&self.consumer_view(), message, self.env())?
        };
        Ok(self.carry_out(to_provider, step))
    }

    /// Replicates objects between authenticated clusters, as Liqo's
    /// crd-replicator does with the consumer's rights.
    pub(crate) fn replicate(&mut self) {
        let forth = replication::to_provider(&self.consumer_view(), &self.provider_view()).unwrap();
        let back = replication::to_consumer(&self.consumer_view(), &self.provider_view()).unwrap();
        self.carry_out(false, back);
        let has_rights = |object: &Object| matches!(object, Object::RoleBinding(_));
        if self.at_provider.iter().any(has_rights) {
            self.carry_out(true, forth);
        }
    }

    /// Carries out a step.
    pub(crate) fn carry_out(&mut self, at_provider: bool, step: Step) -> Step {
        let objects = if at_provider {
            &mut self.at_provider
        } else {
            &mut self.at_consumer
        };
        for effect in &step.effects {
            objects.apply(effect).unwrap();
        }
        for message in &step.outbox {
            self.sent.insert(message.body.name(), message.body.clone());
        }
        for refused in &step.refused {
            add(&mut self.refused, &refused.error);
        }
        for notice in &step.notices {
            add(&mut self.notices, notice);
        }
        step
    }

    pub(crate) fn provider_view(&self) -> View<'_> {
        let view = self.at_provider.view(self.consumer.cluster_id());
        self.vouched
            .iter()
            .fold(view, |view, nonce| view.vouch_for_nonce(nonce))
    }

    pub(crate) fn consumer_view(&self) -> View<'_> {
        self.at_consumer.view(self.provider.cluster_id())
    }

    pub(crate) fn provider_phase(&self) -> provider::Phase {
        let view = self.provider_view();
        self.provider.look(&view, self.now).unwrap().phase
    }

    pub(crate) fn consumer_phase(&self) -> consumer::Phase {
        let view = self.consumer_view();
        self.consumer.look(&view, self.now).unwrap().phase
    }

    /// The consumer has lost its home, and comes back with another key, but without objects.
    pub(crate) fn lose_the_consumer(&mut self) {
        let setup = Setup {
            consumer_key: ed25519(60),
            ..Setup::new()
        };
        self.consumer = setup.consumer();
        self.at_consumer = store::empty();
    }

    /// The names of both phases, the provider's first.
    pub(crate) fn phases(&self) -> (&'static str, &'static str) {
        (self.provider_phase().name(), self.consumer_phase().name())
    }

    pub(crate) fn nonce(&self) -> Nonce {
        match self.sent.get("nonce") {
            Some(MessageBody::Nonce(nonce)) => nonce.clone(),
            other => panic!("no nonce was sent, but {other:?}"),
        }
    }

    /// The Tenant that the consumer sends.
    pub(crate) fn tenant(&self) -> Tenant {
        match self.sent.get("Tenant") {
            Some(MessageBody::Tenant(tenant)) => (**tenant).clone(),
            other => panic!("no Tenant was sent, but {other:?}"),
        }
    }

    /// The Identity that the provider sends.
    pub(crate) fn identity(&self) -> Identity {
        match self.sent.get("Identity") {
            Some(MessageBody::Identity(identity)) => (**identity).clone(),
            other => panic!("no Identity was sent, but {other:?}"),
        }
    }

    pub(crate) fn stored_tenant(&self) -> Tenant {
        let namespace = self.tenant_namespace();
        let name = self.consumer.cluster_id().as_str();
        self.at_provider
            .get::<Tenant>(&namespace, name)
            .unwrap()
            .clone()
    }

    pub(crate) fn stored_identity(&self) -> Identity {
        let namespace = names::tenant_namespace(self.provider.cluster_id());
        let name = names::identity_name(self.provider.cluster_id());
        self.at_consumer
            .get::<Identity>(&namespace, &name)
            .unwrap()
            .clone()
    }

    /// The provider's Secret of that name in the tenant namespace.
    pub(crate) fn provider_secret(&self, name: &str) -> Secret {
        let namespace = self.tenant_namespace();
        self.at_provider
            .get::<Secret>(&namespace, name)
            .unwrap()
            .clone()
    }

    /// The text of the kubeconfig that the consumer stored.
    pub(crate) fn kubeconfig(&self) -> String {
        let namespace = names::tenant_namespace(self.provider.cluster_id());
        let identity = names::identity_name(self.provider.cluster_id());
        let secret: &Secret = self
            .at_consumer
            .get(&namespace, &names::kubeconfig_secret(&identity))
            .unwrap();
        String::from_utf8(secret.data[names::KUBECONFIG].expose().to_vec()).unwrap()
    }

    /// The client certificate that the provider issued.
    pub(crate) fn certificate(&self) -> CertificateChain {
        let secret = self.provider_secret(names::ISSUED_CERTIFICATE_SECRET);
        let pem = secret.data[names::CERTIFICATE].expose();
        CertificateChain::from_pem(pem, &Policy::strict()).unwrap()
    }

    /// Stores an object as `kubectl edit` would.
    pub(crate) fn edit_tenant(&mut self, edit: impl FnOnce(&mut Tenant)) {
        let mut tenant = self.stored_tenant();
        edit(&mut tenant);
        self.at_provider.insert(tenant.into());
    }

    pub(crate) fn env(&self) -> Env {
        Env {
            now: self.now,
            entropy: self.randomness.entropy(),
        }
    }

    fn tenant_namespace(&self) -> String {
        names::tenant_namespace(self.consumer.cluster_id())
    }
}

/// A signer that answers the same request with the same certificate, as the
/// Kubernetes API does.
pub(crate) struct Ledger {
    signer: AuthoritySigner,
    pub(crate) issued: Mutex<BTreeMap<RequestId, CertificateChain>>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            signer: AuthoritySigner::new(authority(), Entropy::from_bytes([11; 32])),
            issued: Mutex::default(),
        }
    }
}

impl CsrSigner for Ledger {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        let mut issued = self.issued.lock().unwrap();
        if let Some(chain) = issued.get(&request.id) {
            return Ok(Answer::Ready(chain.clone()));
        }
        let signing = self.signer.sign(request)?;
        if let Answer::Ready(chain) = &signing {
            issued.insert(request.id, chain.clone());
        }
        Ok(signing)
    }
}

/// A signer that gives the answer that the test gives it.
pub(crate) struct FixedAnswer(pub(crate) Mutex<Answer<CertificateChain>>);

impl CsrSigner for FixedAnswer {
    fn sign(&self, _request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        Ok(self.0.lock().unwrap().clone())
    }
}

/// The provider's CA. It is the same in all tests.
pub(crate) fn authority() -> Authority {
    let key = Arc::new(authority_key());
    let entropy = Entropy::from_bytes([10; 32]);
    Authority::with_key("cl-provider-ca", key, now(), TEN_YEARS, &entropy).unwrap()
}

pub(crate) fn authority_key() -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([9; 32]))
}

pub(crate) fn endpoint(api_server: &str) -> Endpoint {
    Endpoint::new(api_server.parse().unwrap(), Some(authority().ca_bundle()))
}

/// The key that belongs to a number.
pub(crate) fn ed25519(number: u8) -> Arc<dyn SigningKey> {
    Arc::new(KeyPair::from_entropy(&Entropy::from_bytes([number; 32])))
}

pub(crate) fn id(name: &str) -> ClusterId {
    name.parse().unwrap()
}

pub(crate) fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// The two ClusterRoles that Liqo's chart installs for peers.
pub(crate) fn cluster_roles() -> Objects {
    let roles = [
        ("liqo-remote-controlplane", names::CONTROL_PLANE_ROLE),
        (
            "liqo-virtual-kubelet-remote-clusterwide",
            names::CLUSTER_WIDE_ROLE,
        ),
    ];
    store::holding(roles.map(|(name, label_value)| {
        Object::from(ClusterRole {
            metadata: Metadata {
                name: name.to_owned(),
                labels: [(names::APP_NAME_LABEL.to_owned(), label_value.to_owned())].into(),
                ..Metadata::default()
            },
            ..ClusterRole::default()
        })
    }))
}

pub(crate) fn secret_ref(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(liqo_auth::model::Kind::Secret, namespace, name)
}

/// A nonce Secret with this text.
pub(crate) fn nonce_secret(namespace: &str, text: &[u8]) -> Object {
    Secret {
        metadata: Metadata {
            name: names::NONCE_SECRET.to_owned(),
            namespace: namespace.to_owned(),
            ..Metadata::default()
        },
        data: [(names::NONCE.to_owned(), text.to_vec().into())].into(),
        ..Secret::default()
    }
    .into()
}

/// Adds the item unless the list has it already.
fn add<T: PartialEq + Clone>(to: &mut Vec<T>, one: &T) {
    if !to.contains(one) {
        to.push(one.clone());
    }
}
