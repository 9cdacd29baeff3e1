//! A provider whose consumer has authenticated, and the consumer's slices as
//! the replicator brings them.

use core::time::Duration;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use liqo_auth::{
    Machine, audit,
    crypto::{
        Answer, BoxError, CertificateChain, Csr, Entropy, KeyPair, RecordKey, SigningKey, Subject,
    },
    error::Error,
    machine::{Env, Holder, Objects, Stage, Step},
    model::{
        ClusterId, Metadata, ObjectRef, Quantity, Resource, ResourceSlice, ResourceSliceCondition,
        ResourceSliceConditionStatus, ResourceSliceConditionType, ResourceSliceSpec, Secret,
        Tenant, TenantCondition, Timestamp, names,
    },
    policy::Policy,
    provider::{
        CsrSigner, Endpoint, NameTable, Provider, ProviderBuilder, SigningRequest, SlicePhase,
    },
};

use super::{randomness::Randomness, rest};
use crate::clusters::exchange::{self, API_SERVER, Exchange, Ledger, Setup, authority, id, now};

/// One provider and its consumer's slices.
pub(crate) struct Pool {
    pub(crate) provider: Provider,
    pub(crate) at_provider: Objects,
    pub(crate) now: Timestamp,
    pub(crate) signer: Arc<Counting>,
    /// The refusals of the last reconciliation.
    pub(crate) refused: Vec<(Option<ObjectRef>, Error)>,
    pub(crate) events: Vec<audit::Event>,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) randomness: Randomness,
}

pub(crate) const NAMESPACE: &str = "liqo-tenant-cl-consumer";
/// The number of the consumer's key, as in `Setup`.
const CONSUMER_KEY: u8 = 1;

impl Pool {
    /// Sets the provider up as a test needs it.
    pub(crate) fn with(configure: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Self {
        Self::of(Setup::new().consumer_key, configure)
    }

    /// As `with`, for a consumer with this key.
    pub(crate) fn of(
        consumer_key: Arc<dyn SigningKey>,
        configure: impl FnOnce(ProviderBuilder) -> ProviderBuilder,
    ) -> Self {
        let mut exchange: Exchange = Setup {
            consumer_key,
            ..Setup::new()
        }
        .exchange();
        exchange.settle();
        let signer = Arc::new(Counting::default());
        let asked: Arc<dyn CsrSigner> = signer.clone();
        let builder = Provider::builder(
            id("cl-provider"),
            Endpoint::new(API_SERVER.parse().unwrap(), Some(authority().ca_bundle())),
            RecordKey::new(exchange::RECORD_KEY).unwrap(),
        )
        .principals(Arc::new(NameTable::default()))
        .key(exchange::ed25519(2))
        .signer(asked);
        Self {
            provider: configure(builder).build(),
            at_provider: exchange.at_provider,
            now: now(),
            signer,
            refused: Vec::new(),
            events: Vec::new(),
            wake_at: None,
            randomness: Randomness::new(),
        }
    }

    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    /// The replicator brings a slice.
    pub(crate) fn bring(&mut self, slice: ResourceSlice) -> &mut Self {
        self.at_provider.insert(slice.into());
        self
    }

    /// Reconciles once and carries out only the first effects.
    pub(crate) fn look(&mut self, effects: usize) -> Step {
        let step = self.reconcile();
        for effect in step.effects.iter().take(effects) {
            self.at_provider.apply(effect).unwrap();
        }
        if step.effects.len() <= effects {
            self.events.extend(step.events.iter().cloned());
        }
        step
    }

    pub(crate) fn reconcile(&self) -> Step {
        let step = self
            .provider
            .reconcile(&self.at_provider.view(&consumer()), self.env())
            .unwrap();
        let mut ids: Vec<ObjectRef> = step.effects.iter().map(|effect| effect.id()).collect();
        let effects = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), effects, "an object has two effects");
        step
    }

    /// Reconciles until nothing changes.
    pub(crate) fn settle(&mut self) -> &mut Self {
        for _ in 0..16 {
            let step = self.look(usize::MAX);
            self.refused = step
                .refused
                .iter()
                .map(|refused| (refused.object.clone(), refused.error.clone()))
                .collect();
            self.wake_at = step.wait.wake_at;
            if step.is_settled() {
                let view = self.at_provider.view(&consumer());
                rest::agrees(&self.provider, &view, &step, self.now);
                self.tells_the_decisions();
                return self;
            }
        }
        panic!("it does not settle: {:#?}", self.reconcile());
    }

    /// Checks that the status has the decisions that the provider has written into the slices
    /// that it has let in. It does not have those of other controllers.
    #[track_caller]
    fn tells_the_decisions(&self) {
        let view = self.at_provider.view(&consumer());
        let status = Machine::look(&self.provider, &view, self.now).unwrap();
        for holder in &status.slices {
            let Holder::Slice(name) = &holder.holder else {
                panic!("{holder:?}");
            };
            if holder.stage == Stage::Authenticated {
                let said = self.said(name);
                assert_eq!(holder.authentication, said[0], "{holder:#?}");
                assert_eq!(
                    holder.resources,
                    holder.resources.and(said[1]),
                    "{holder:#?}"
                );
            }
        }
    }

    /// Carries out an action of the administrator.
    pub(crate) fn administer(
        &mut self,
        act: impl FnOnce(&Provider, &Objects, Env) -> Result<Step, Error>,
    ) {
        let step = act(&self.provider, &self.at_provider, self.env()).unwrap();
        for effect in &step.effects {
            self.at_provider.apply(effect).unwrap();
        }
        self.events.extend(step.events);
    }

    pub(crate) fn wait(&mut self, duration: Duration) -> &mut Self {
        self.now = self.now + duration;
        self
    }

    pub(crate) fn slice(&self, name: &str) -> Option<&ResourceSlice> {
        self.at_provider.get(NAMESPACE, name)
    }

    pub(crate) fn condition(
        &self,
        name: &str,
        condition_type: ResourceSliceConditionType,
    ) -> Option<&ResourceSliceCondition> {
        self.slice(name)?.status.condition(condition_type)
    }

    /// The statuses of the two conditions, authentication and resources.
    pub(crate) fn said(&self, name: &str) -> [Option<ResourceSliceConditionStatus>; 2] {
        [
            ResourceSliceConditionType::Authentication,
            ResourceSliceConditionType::Resources,
        ]
        .map(|condition| Some(self.condition(name, condition)?.status))
    }

    /// When the two conditions last changed, authentication and resources.
    pub(crate) fn since(&self, name: &str) -> [Option<Timestamp>; 2] {
        [
            ResourceSliceConditionType::Authentication,
            ResourceSliceConditionType::Resources,
        ]
        .map(|condition| self.condition(name, condition)?.last_transition_time)
    }

    pub(crate) fn phase(&self, name: &str) -> &'static str {
        let view = self.at_provider.view(&consumer());
        let status = self.provider.look(&view, self.now).unwrap();
        let phases: Vec<&SlicePhase> = status
            .slices
            .iter()
            .filter(|slice| slice.slice.name == name)
            .map(|slice| &slice.phase)
            .collect();
        match phases[..] {
            [phase] => phase.name(),
            _ => "none",
        }
    }

    pub(crate) fn certificate(&self, name: &str) -> CertificateChain {
        let parameters = self.slice(name).unwrap().status.auth_params.as_ref();
        let pem = parameters.unwrap().signed_crt.as_slice();
        CertificateChain::from_pem(pem, &Policy::strict()).unwrap()
    }

    /// Two thirds of the certificates' lifetime from now. By then, all
    /// certificates issued so far are due.
    pub(crate) fn slice_due(&self) -> Timestamp {
        self.now + Duration::from_secs(24 * 365 * 3600) / 3 * 2
    }

    pub(crate) fn edit(&mut self, name: &str, edit: impl FnOnce(&mut ResourceSlice)) -> &mut Self {
        let mut slice = self.slice(name).unwrap().clone();
        edit(&mut slice);
        self.at_provider.insert(slice.into());
        self
    }

    pub(crate) fn tenant(&self) -> &Tenant {
        self.at_provider.get(NAMESPACE, "cl-consumer").unwrap()
    }

    pub(crate) fn edit_tenant(&mut self, edit: impl FnOnce(&mut Tenant)) -> &mut Self {
        let mut tenant = self.tenant().clone();
        edit(&mut tenant);
        self.at_provider.insert(tenant.into());
        self
    }

    /// Writes a condition into the Tenant.
    pub(crate) fn write_condition(&mut self, condition: TenantCondition) -> &mut Self {
        self.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(condition))
    }

    pub(crate) fn secret(&self, namespace: &str, name: &str) -> Option<&Secret> {
        self.at_provider.get(namespace, name)
    }

    /// The Secret with the slice's certificate.
    pub(crate) fn kept(&self, slice: &str) -> Option<&Secret> {
        self.secret(NAMESPACE, &format!("liqo-remote-certificate-{slice}"))
    }

    /// The records of slices, by their names.
    pub(crate) fn records(&self) -> Vec<String> {
        self.at_provider
            .iter()
            .filter_map(Secret::from_object)
            .map(|secret| secret.metadata.name.clone())
            .filter(|name| name.starts_with("liqo-auth-slice-"))
            .collect()
    }

    pub(crate) fn remove(&mut self, name: &str) -> &mut Self {
        let id = ObjectRef::new(liqo_auth::model::Kind::ResourceSlice, NAMESPACE, name);
        self.at_provider.remove(&id).unwrap();
        self
    }

    pub(crate) fn env(&self) -> Env {
        Env {
            now: self.now,
            entropy: self.randomness.entropy(),
        }
    }
}

/// A signer that keeps its requests and counts the different ones.
#[derive(Default)]
pub(crate) struct Counting {
    /// Returned in place of a certificate.
    pub(crate) answer: Mutex<Option<Answer<CertificateChain>>>,
    ledger: std::sync::OnceLock<Ledger>,
    /// Whether the signer fails.
    pub(crate) fails: std::sync::atomic::AtomicBool,
    pub(crate) asked: AtomicUsize,
    pub(crate) requests: Mutex<std::collections::BTreeSet<liqo_auth::provider::RequestId>>,
}

impl Counting {
    pub(crate) fn different(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    pub(crate) fn answer(&self, signing: Option<Answer<CertificateChain>>) {
        *self.answer.lock().unwrap() = signing;
    }
}

impl CsrSigner for Counting {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.requests.lock().unwrap().insert(request.id);
        if self.fails.load(Ordering::Relaxed) {
            return Err("the signer is away".into());
        }
        if let Some(answer) = &*self.answer.lock().unwrap() {
            return Ok(answer.clone());
        }
        self.ledger.get_or_init(Ledger::new).sign(request)
    }
}

pub(crate) fn consumer() -> ClusterId {
    id("cl-consumer")
}

pub(crate) fn key(number: u8) -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([number; 32]))
}

/// A replica, as the consumer's replicator makes it.
pub(crate) fn replica(name: &str) -> ResourceSlice {
    replica_of("cl-consumer", name, &key(CONSUMER_KEY))
}

pub(crate) fn replica_of(consumer: &str, name: &str, key: &dyn SigningKey) -> ResourceSlice {
    let labels = [
        (names::REPLICATION_LABEL, "false"),
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_DESTINATION_LABEL, "cl-provider"),
        (names::REPLICATION_ORIGIN_LABEL, consumer),
        (names::REMOTE_CLUSTER_ID_LABEL, consumer),
    ];
    let subject = Subject::resource_slice(name, &id(consumer));
    ResourceSlice {
        metadata: Metadata {
            name: name.to_owned(),
            namespace: NAMESPACE.to_owned(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            annotations: [(
                names::CREATE_VIRTUAL_NODE_ANNOTATION.to_owned(),
                "true".to_owned(),
            )]
            .into(),
            ..Metadata::default()
        },
        spec: ResourceSliceSpec {
            consumer_cluster_id: Some(consumer.to_owned()),
            provider_cluster_id: Some("cl-provider".to_owned()),
            resources: resources(&[("cpu", "2"), ("memory", "4Gi")]),
            class: "default".to_owned(),
            csr: Csr::make(&subject, key)
                .unwrap()
                .at_once()
                .unwrap()
                .pem()
                .into(),
        },
        ..ResourceSlice::default()
    }
}

pub(crate) fn resources(of: &[(&str, &str)]) -> std::collections::BTreeMap<String, Quantity> {
    of.iter()
        .map(|(resource, quantity)| ((*resource).to_owned(), Quantity::from(*quantity)))
        .collect()
}
