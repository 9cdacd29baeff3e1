//! Two clusters in memory: milan, which offers resources, and rome, which asks for a slice.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Provider,
    consumer::{ConsumerConfig, SliceOptions},
    crypto::{Answer, Authority, BoxError, Entropy, KeyPair, OneKey, RecordKey},
    error::Error,
    machine::{Machine, Message, MessageBody, Objects, Step, View, replication},
    model::{
        ClusterId, ClusterRole, Kind, Metadata, Object, ObjectRef, Secret, TenantCondition,
        Timestamp, names,
    },
    provider::{
        AuthoritySigner, Endpoint, Grant, LiqoClasses, NameTable, ProviderBuilder,
        ResourceSlicePolicy, SliceDecision, SliceRequest,
    },
};
use serde_json::{Value, json};

use super::super::{LimitsEnforcement, Wanted, quotas, virtual_nodes};

pub(super) struct Peering {
    provider: Provider,
    consumer: Consumer,
    milan: Objects,
    rome: Objects,
    drawn: u8,
}

impl Peering {
    /// Two clusters that have authenticated each other.
    pub(super) fn new() -> Self {
        Self::with(Arc::new(LiqoClasses {
            defaults: grant(),
            ..LiqoClasses::default()
        }))
    }

    /// As [`new`](Self::new), with the same decision on each slice.
    pub(super) fn deciding(decision: SliceDecision) -> Self {
        Self::with(Arc::new(Always(decision)))
    }

    /// As [`new`](Self::new), with the accepted slice `mypool`.
    pub(super) fn with_slice() -> Self {
        let mut peering = Self::new();
        peering.request(&options());
        peering
    }

    /// As [`with_slice`](Self::with_slice), with the objects that Liqo's own module leaves. The
    /// provider adopts the peering, and its policy for slices does not answer.
    pub(super) fn of_liqo(cpu: &str) -> Self {
        let mut peering = Self::new();
        peering.request(&SliceOptions {
            resources: [("cpu".to_owned(), cpu.into())].into(),
            ..options()
        });
        let objects = peering.milan.iter().cloned();
        let is_record = |object: &Object| object.id().name.starts_with("liqo-auth-");
        let objects: Vec<Object> = objects.filter(|object| !is_record(object)).collect();
        peering.milan = Objects::new(&entropy(6));
        peering.milan.extend(objects);
        let provider = provider(Arc::new(Undecided));
        let provider = provider.configure(|config| config.adopt_from_liqo = true);
        peering.provider = provider.build();
        peering
    }

    fn with(policy: Arc<dyn ResourceSlicePolicy>) -> Self {
        let provider = provider(policy).build();
        let key = Arc::new(KeyPair::from_entropy(&entropy(3)));
        let config = ConsumerConfig::new(id("rome"));
        let mut peering = Self {
            provider,
            consumer: Consumer::new(config, Arc::new(OneKey(key))),
            milan: Objects::new(&entropy(4)),
            rome: Objects::new(&entropy(5)),
            drawn: 5,
        };
        let roles = [names::CONTROL_PLANE_ROLE, names::CLUSTER_WIDE_ROLE];
        peering.milan.extend(roles.map(|label| {
            Object::from(ClusterRole {
                metadata: Metadata {
                    name: label.to_owned(),
                    labels: [(names::APP_NAME_LABEL.to_owned(), label.to_owned())].into(),
                    ..Metadata::default()
                },
                ..ClusterRole::default()
            })
        }));
        peering.order(|provider, view, env| provider.invite(view, env));
        peering.settle();
        peering
    }

    /// Requests a slice, or changes the request.
    pub(super) fn request(&mut self, options: &SliceOptions) {
        let env = self.env();
        let view = self.rome.view(&id("milan"));
        let step = self.consumer.request_slice(&view, options, env).unwrap();
        apply(&mut self.rome, &step);
        self.settle();
    }

    /// Lets both sides work, delivers the messages, and replicates the slices.
    pub(super) fn settle(&mut self) {
        for _ in 0..12 {
            let env = self.env();
            let step = self.provider.reconcile(&self.milan.view(&id("rome")), env);
            let step = step.unwrap();
            apply(&mut self.milan, &step);
            let answers = self.deliver(step.outbox);
            self.deliver(answers);
            let env = self.env();
            let step = self.consumer.reconcile(&self.rome.view(&id("milan")), env);
            apply(&mut self.rome, &step.unwrap());
            self.replicate();
        }
    }

    fn deliver(&mut self, messages: Vec<Message>) -> Vec<Message> {
        let mut answers = Vec::new();
        for message in messages {
            let env = self.env();
            let step = match &message.body {
                MessageBody::Tenant(_) => {
                    let view = self.milan.view(&id("rome"));
                    let step = self.provider.receive(&view, message, env);
                    step.inspect(|step| apply(&mut self.milan, step))
                }
                _ => {
                    let view = self.rome.view(&id("milan"));
                    let step = self.consumer.receive(&view, message, env);
                    step.inspect(|step| apply(&mut self.rome, step))
                }
            };
            // What came before is refused, or changes nothing.
            answers.extend(step.into_iter().flat_map(|step| step.outbox));
        }
        answers
    }

    fn replicate(&mut self) {
        let (at_rome, at_milan) = (self.rome.view(&id("milan")), self.milan.view(&id("rome")));
        let forth = replication::to_provider(&at_rome, &at_milan);
        let back = replication::to_consumer(&at_rome, &at_milan);
        if let (Ok(forth), Ok(back)) = (forth, back) {
            apply(&mut self.milan, &forth);
            apply(&mut self.rome, &back);
        }
    }

    pub(super) fn cordon(&mut self) {
        self.order(|provider, view, _| provider.cordon_slice(view, "mypool"));
    }

    pub(super) fn uncordon(&mut self) {
        self.order(|provider, view, _| provider.uncordon_slice(view, "mypool"));
    }

    pub(super) fn reconsider(&mut self) {
        self.order(|provider, view, _| provider.reconsider_slice(view, "mypool"));
    }

    pub(super) fn confirm(&mut self) {
        self.order(|provider, view, _| provider.confirm_slice(view, "mypool"));
    }

    pub(super) fn set_condition(&mut self, condition: TenantCondition) {
        self.order(|provider, view, _| provider.set_condition(view, condition));
    }

    fn order(&mut self, call: impl Fn(&Provider, &View<'_>, Env) -> Result<Step, Error>) {
        let env = self.env();
        let step = call(&self.provider, &self.milan.view(&id("rome")), env).unwrap();
        apply(&mut self.milan, &step);
        self.deliver(step.outbox);
    }

    /// What is wanted at rome.
    pub(super) fn at_rome(&self) -> Vec<Wanted> {
        virtual_nodes(&self.consumer, &self.rome.view(&id("milan")), now()).unwrap()
    }

    /// What is wanted at milan.
    pub(super) fn at_milan(&self) -> Vec<Wanted> {
        self.quotas(LimitsEnforcement::default())
    }

    pub(super) fn quotas(&self, enforcement: LimitsEnforcement) -> Vec<Wanted> {
        quotas(&self.provider, &self.milan.view(&id("rome")), enforcement).unwrap()
    }

    pub(super) fn replica(&self) -> Value {
        get(&self.milan, Kind::ResourceSlice, "mypool")
    }

    pub(super) fn edit_replica(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut replica = self.replica();
        edit(&mut replica);
        self.put_at_milan(replica);
    }

    pub(super) fn put_at_milan(&mut self, object: Value) {
        self.milan.insert(Object::from_value(object));
    }

    pub(super) fn get_at_rome(&self, kind: Kind, name: &str) -> Value {
        get(&self.rome, kind, name)
    }

    pub(super) fn put_at_rome(&mut self, object: Value) {
        self.rome.insert(Object::from_value(object));
    }

    pub(super) fn edit_at_rome(&mut self, kind: Kind, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.get_at_rome(kind, name);
        edit(&mut object);
        self.put_at_rome(object);
    }

    pub(super) fn edit_slice_at_rome(&mut self, edit: impl FnOnce(&mut Value)) {
        self.edit_at_rome(Kind::ResourceSlice, "mypool", edit);
    }

    pub(super) fn remove_at_rome(&mut self, kind: Kind, name: &str) {
        let id = ObjectRef::new(kind, "liqo-tenant-milan", name);
        self.rome.remove(&id).unwrap();
    }

    /// Removes the names of the requested slices from the consumer's record.
    pub(super) fn forget_requests_at_rome(&mut self) {
        let record: &Secret = self.rome.get("liqo", "liqo-auth-consumer-milan").unwrap();
        let mut record = record.clone();
        let text = record.get("record").unwrap();
        let mut content: Value = serde_json::from_slice(text).unwrap();
        let fields = content.as_object_mut().unwrap();
        for field in ["requested", "virtualNodes"] {
            assert!(fields.remove(field).is_some(), "{field}: {fields:?}");
        }
        let text = serde_json::to_vec(&content).unwrap();
        record.data.insert("record".to_owned(), text.into());
        self.rome.insert(record.into());
    }

    fn env(&mut self) -> Env {
        self.drawn = self.drawn.checked_add(1).unwrap();
        Env {
            now: now(),
            entropy: entropy(self.drawn),
        }
    }
}

fn provider(policy: Arc<dyn ResourceSlicePolicy>) -> ProviderBuilder {
    let year = core::time::Duration::from_secs(31_536_000);
    let authority = Authority::new("ca", now(), 10 * year, &entropy(1)).unwrap();
    let api_server = "https://172.19.0.3:6443".parse().unwrap();
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    let record_key = RecordKey::new([1; 32]).unwrap();
    Provider::builder(id("milan"), endpoint, record_key)
        .principals(Arc::new(NameTable::default()))
        .signer(Arc::new(AuthoritySigner::new(authority, entropy(2))))
        .slices(policy)
}

/// The request for the slice `mypool`.
pub(super) fn options() -> SliceOptions {
    SliceOptions {
        resources: [("cpu".to_owned(), "4".into())].into(),
        ..SliceOptions::named("mypool")
    }
}

struct Always(SliceDecision);

impl ResourceSlicePolicy for Always {
    fn decide(&self, _: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        Ok(Answer::Ready(self.0.clone()))
    }
}

struct Undecided;

impl ResourceSlicePolicy for Undecided {
    fn decide(&self, _: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        Ok(Answer::Pending)
    }
}

fn grant() -> Grant {
    serde_json::from_value(json!({
        "resources": { "memory": "8Gi" },
        "storageClasses": [{ "storageClassName": "standard", "default": true }],
        "ingressClasses": [{ "ingressClassName": "nginx" }],
        "loadBalancerClasses": [{ "loadBalancerClassName": "metallb", "default": true }],
        "nodeLabels": { "region": "south" },
        "nodeSelector": { "pool": "a" },
    }))
    .unwrap()
}

fn apply(objects: &mut Objects, step: &Step) {
    for effect in &step.effects {
        objects.apply(effect).unwrap();
    }
}

fn get(objects: &Objects, kind: Kind, name: &str) -> Value {
    let mut all = objects.iter().map(|object| (object.id(), object));
    let found = all.find(|(id, _)| id.kind == kind && id.name == name);
    found.unwrap().1.to_value()
}

fn id(cluster: &str) -> ClusterId {
    cluster.parse().unwrap()
}

fn entropy(byte: u8) -> Entropy {
    Entropy::from_bytes([byte; 32])
}

fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}
