//! A consumer with its objects, and the answers of its provider.

use core::time::Duration;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use liqo_auth::{
    Machine,
    consumer::{
        Consumer, ConsumerConfig, PeerSettings, Phase, SliceOptions, SlicePhase, Status,
        StoredIdentity,
    },
    crypto::{Authority, Csr, Entropy, KeyStore, Nonce, OneKey, PublicKey, SigningKey, Subject},
    error::Error,
    machine::{Env, Message, MessageBody, Notice, Objects, Step},
    model::{
        AuthParams, Bytes, ClusterId, Identity, IdentitySpec, IdentityType, Metadata, ObjectRef,
        Renew, Resource, ResourceSlice, ResourceSliceCondition, ResourceSliceConditionStatus,
        ResourceSliceConditionType, Secret, Timestamp, names,
    },
    policy::Policy,
};

use crate::clusters::{
    exchange::{API_SERVER, authority, ed25519, id, now},
    rest, store,
};

pub(crate) const NAMESPACE: &str = "liqo-tenant-cl-provider";
pub(crate) const IDENTITY: &str = "controlplane-cl-provider";
pub(crate) const RECORD: &str = "liqo-auth-consumer-cl-provider";
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const YEAR: Duration = Duration::from_secs(365 * 86_400);

pub(crate) struct Home {
    pub(crate) consumer: Consumer,
    pub(crate) objects: Objects,
    pub(crate) now: Timestamp,
    pub(crate) refused: Vec<Error>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) sent: Vec<Message>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(PeerSettings::default())
    }

    pub(crate) fn with(settings: PeerSettings) -> Self {
        Self::with_keys(settings, Arc::new(OneKey(ed25519(1))))
    }

    pub(crate) fn with_keys(settings: PeerSettings, keys: Arc<dyn KeyStore>) -> Self {
        Self {
            consumer: consumer(settings, keys),
            objects: store::empty(),
            now: now(),
            refused: Vec::new(),
            notices: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// A consumer that has authenticated. Its certificate has this lifetime and
    /// comes in an Identity as Liqo sends it.
    pub(crate) fn authenticated(lifetime: Duration) -> Self {
        Self::new().authenticate(lifetime)
    }

    pub(crate) fn authenticate(mut self, lifetime: Duration) -> Self {
        self.sign_nonce(7);
        let identity = self.identity(&self.issue(lifetime));
        self.receive(identity).unwrap();
        self.settle();
        assert_eq!(self.phase(), "Authenticated", "{:?}", self.refused);
        self
    }

    pub(crate) fn sign_nonce(&mut self, seed: u8) {
        let nonce = Nonce::random(&Entropy::from_bytes([seed; 32]));
        self.receive(MessageBody::Nonce(nonce)).unwrap();
    }

    pub(crate) fn receive(&mut self, body: impl Into<MessageBody>) -> Result<Step, Error> {
        let view = self.view();
        let message = Message::new(view.peer(), self.consumer.cluster_id(), body);
        let step = self
            .consumer
            .receive(&self.view(), message, env(self.now))?;
        Ok(self.carry_out(step))
    }

    /// Reconciles once.
    pub(crate) fn turn(&mut self) -> Step {
        let step = self
            .consumer
            .reconcile(&self.view(), env(self.now))
            .unwrap();
        self.carry_out(step)
    }

    /// Reconciles until there is nothing to do, and returns the last step.
    pub(crate) fn settle(&mut self) -> Step {
        for _ in 0..12 {
            let step = self.turn();
            if step.is_settled() {
                rest::agrees(&self.consumer, &self.view(), &step, self.now);
                return step;
            }
        }
        panic!("it does not settle: {:?}", self.turn());
    }

    pub(crate) fn carry_out(&mut self, step: Step) -> Step {
        assert_one_effect_an_object(&step);
        for effect in &step.effects {
            self.objects.apply(effect).unwrap();
        }
        self.refused = step.refused.iter().map(|one| one.error.clone()).collect();
        self.notices.clone_from(&step.notices);
        self.sent.clone_from(&step.outbox);
        step
    }

    pub(crate) fn view(&self) -> liqo_auth::View<'_> {
        self.objects.view(&provider())
    }

    pub(crate) fn status(&self) -> Status {
        self.consumer.look(&self.view(), self.now).unwrap()
    }

    pub(crate) fn phase(&self) -> &'static str {
        self.status().phase.name()
    }

    pub(crate) fn held(&self) -> Box<StoredIdentity> {
        match self.status().phase {
            Phase::Authenticated(held) => held,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn slice_phase(&self) -> &'static str {
        match self.status().slices.as_slice() {
            [slice] => slice.phase.name(),
            others => panic!("{others:?}"),
        }
    }

    pub(crate) fn slice_refusal(&self) -> Error {
        match self.status().slices.pop().unwrap().phase {
            SlicePhase::Refused(error) => error,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn get<K: Resource + Clone>(&self, name: &str) -> Option<K> {
        self.objects.get::<K>(NAMESPACE, name).cloned()
    }

    pub(crate) fn identity_of(&self, name: &str) -> Identity {
        self.get(name).unwrap()
    }

    pub(crate) fn renew(&self) -> Option<Renew> {
        self.get(IDENTITY)
    }

    pub(crate) fn kubeconfig(&self, identity: &str) -> Option<String> {
        let secret: Secret = self.get(&names::kubeconfig_secret(identity))?;
        Some(String::from_utf8(secret.get(names::KUBECONFIG).unwrap().to_vec()).unwrap())
    }

    pub(crate) fn record(&self) -> serde_json::Value {
        let secret: &Secret = self.objects.get(names::LIQO_NAMESPACE, RECORD).unwrap();
        serde_json::from_slice(secret.get("record").unwrap()).unwrap()
    }

    pub(crate) fn put_record(&mut self, record: &serde_json::Value) {
        let mut secret: Secret = self
            .objects
            .get::<Secret>(names::LIQO_NAMESPACE, RECORD)
            .unwrap()
            .clone();
        let text = serde_json::to_vec(record).unwrap();
        secret.data.insert("record".to_owned(), text.into());
        self.objects.insert(secret.into());
    }

    /// Records these slices, as if this side had requested them.
    pub(crate) fn put_on_record(&mut self, slices: &[&str]) {
        let mut record = self.record();
        record["requested"] = slices.into();
        self.put_record(&record);
    }

    /// The credentials that the provider issues to the control plane, for key
    /// number 1.
    pub(crate) fn issue(&self, lifetime: Duration) -> AuthParams {
        issue_control_plane(&*ed25519(1), self.now, lifetime)
    }

    pub(crate) fn identity(&self, auth_params: &AuthParams) -> Identity {
        Identity {
            metadata: Metadata {
                name: IDENTITY.to_owned(),
                labels: [(
                    names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                    "cl-provider".to_owned(),
                )]
                .into(),
                ..Metadata::default()
            },
            spec: IdentitySpec {
                cluster_id: "cl-provider".to_owned(),
                identity_type: IdentityType::ControlPlane,
                auth_params: auth_params.clone(),
                namespace: Some("liqo-tenant-cl-consumer".to_owned()),
            },
            ..Identity::default()
        }
    }

    /// Writes into the Renew's status, as the provider does.
    pub(crate) fn answer_renew(&mut self, auth_params: AuthParams) {
        let mut renew = self.renew().unwrap();
        renew.status.auth_params = Some(auth_params);
        self.objects.insert(renew.into());
    }

    /// Requests the slice `mypool`.
    pub(crate) fn request_slice(&mut self) -> Step {
        let step = self
            .consumer
            .request_slice(&self.view(), &mypool(), env(self.now))
            .unwrap();
        self.carry_out(step)
    }

    pub(crate) fn slice(&self) -> ResourceSlice {
        self.get("mypool").unwrap()
    }

    /// The certificate that a provider issues for the slice's request.
    pub(crate) fn issue_slice(&self, lifetime: Duration) -> AuthParams {
        issue_slice(&self.slice(), ed25519(1).public_key(), self.now, lifetime)
    }

    /// Writes the provider's decision and these parameters into the slice's
    /// status.
    pub(crate) fn answer_slice(
        &mut self,
        authentication: ResourceSliceConditionStatus,
        auth_params: Option<AuthParams>,
    ) {
        let mut slice = self.slice();
        slice.status.conditions = vec![ResourceSliceCondition {
            condition_type: ResourceSliceConditionType::Authentication,
            status: authentication,
            last_transition_time: Some(self.now),
            reason: "Reason".to_owned(),
            message: "the message".to_owned(),
        }];
        slice.status.auth_params = auth_params;
        self.objects.insert(slice.into());
    }

    pub(crate) fn accept_slice(&mut self, lifetime: Duration) {
        let auth_params = self.issue_slice(lifetime);
        self.answer_slice(ResourceSliceConditionStatus::Accepted, Some(auth_params));
    }

    /// A consumer that has authenticated, with a slice whose Identity it holds.
    pub(crate) fn with_slice(lifetime: Duration) -> Self {
        let mut home = Self::authenticated(lifetime);
        home.request_slice();
        home.accept_slice(lifetime);
        home.settle();
        assert_eq!(home.slice_phase(), "Held");
        home
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.objects
            .iter()
            .map(|object| object.id().to_string())
            .collect()
    }
}

/// Crashes after each prefix of the effects of each step, and continues. The
/// end must always be the same, apart from values that stores and clocks
/// assign.
pub(crate) fn crash_everywhere(start: &Home, first: impl Fn(&Home) -> Step) {
    let undisturbed = {
        let mut home = start.fork();
        home.carry_out(first(&home.fork()));
        home.settle();
        home
    };
    let mut crashes = 0;
    for steps in 0..6 {
        for effects in 0..5 {
            let mut home = start.fork();
            for step in 0..=steps {
                let mut next = if step == 0 {
                    first(&home.fork())
                } else {
                    home.consumer
                        .reconcile(&home.view(), env(home.now))
                        .unwrap()
                };
                if step == steps {
                    crashes += usize::from(effects < next.effects.len());
                    next.effects.truncate(effects);
                }
                home.carry_out(next);
            }
            // The command that began the steps, if any, is given again.
            home.carry_out(first(&home.fork()));
            home.settle();
            assert_eq!(home.names(), undisturbed.names(), "{steps} {effects}");
            assert_eq!(home.phase(), undisturbed.phase());
        }
    }
    assert!(crashes > 0, "there was nothing to crash in");
}

impl Home {
    pub(crate) fn fork(&self) -> Self {
        Self {
            consumer: self.consumer.clone(),
            objects: self.objects.clone(),
            now: self.now,
            refused: self.refused.clone(),
            notices: self.notices.clone(),
            sent: self.sent.clone(),
        }
    }

    pub(crate) fn reconciled(&self) -> Step {
        self.consumer
            .reconcile(&self.view(), env(self.now))
            .unwrap()
    }
}

pub(crate) fn consumer(settings: PeerSettings, keys: Arc<dyn KeyStore>) -> Consumer {
    let mut config = ConsumerConfig::new(id("cl-consumer"));
    config.peers.insert(provider(), settings);
    Consumer::new(config, keys)
}

pub(crate) fn provider() -> ClusterId {
    id("cl-provider")
}

pub(crate) fn mypool() -> SliceOptions {
    SliceOptions {
        resources: [
            ("cpu".to_owned(), "2".into()),
            ("memory".to_owned(), "4Gi".into()),
        ]
        .into(),
        ..SliceOptions::named("mypool")
    }
}

pub(crate) fn env(now: Timestamp) -> Env {
    Env {
        now,
        entropy: Entropy::from_bytes([99; 32]),
    }
}

pub(crate) fn issue_control_plane(
    key: &dyn SigningKey,
    now: Timestamp,
    lifetime: Duration,
) -> AuthParams {
    let subject = Subject::control_plane(&id("cl-consumer"));
    let csr = Csr::make(&subject, key).unwrap().at_once().unwrap();
    issue(
        &authority(),
        &csr,
        &subject,
        key.public_key(),
        now,
        lifetime,
    )
}

pub(crate) fn issue_slice(
    slice: &ResourceSlice,
    key: &PublicKey,
    now: Timestamp,
    lifetime: Duration,
) -> AuthParams {
    let subject = Subject::resource_slice(&slice.metadata.name, &id("cl-consumer"));
    let pem = slice.spec.csr.as_slice();
    let csr = Csr::verify(pem, &subject, key, &Policy::strict()).unwrap();
    issue(&authority(), &csr, &subject, key, now, lifetime)
}

pub(crate) fn issue(
    authority: &Authority,
    csr: &Csr,
    subject: &Subject,
    key: &PublicKey,
    now: Timestamp,
    lifetime: Duration,
) -> AuthParams {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let mut seed = [55; 32];
    seed[..8].copy_from_slice(&SERIAL.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    let chain = authority
        .issue(csr, subject, key, now, lifetime, &Entropy::from_bytes(seed))
        .unwrap();
    AuthParams {
        ca: Bytes::from(authority.ca_bundle().pem()),
        signed_crt: Bytes::from(chain.pem()),
        api_server: API_SERVER.to_owned(),
        ..AuthParams::default()
    }
}

pub(crate) fn object(kind: liqo_auth::model::Kind, name: &str) -> ObjectRef {
    ObjectRef::new(kind, NAMESPACE, name)
}

fn assert_one_effect_an_object(step: &Step) {
    let mut ids: Vec<ObjectRef> = step.effects.iter().map(|effect| effect.id()).collect();
    let effects = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), effects, "{step:?}");
}
