//! The life of a peering at its provider: the actions of others and of
//! administrators, and interrupted steps.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Machine, Provider,
    crypto::{Csr, Entropy, RecordKey},
    error::Error,
    machine::{Awaited, Env, Holder, Message, Objects, Step, View},
    model::{
        Bytes, CertificateSigningRequest, ClusterId, Kind, Object, ObjectRef, ResourceSlice,
        Tenant, TenantCondition, Timestamp,
    },
    policy::Policy,
};
use proptest::prelude::*;

use super::backends::{Backends, KINDS, Mood};
use crate::clusters::{
    exchange::{API_SERVER, Exchange, RECORD_KEY, Setup, authority, ed25519, endpoint, id},
    pool::{NAMESPACE, key, replica, replica_of, resources},
    store,
};

/// The source of the provider's credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signer {
    Backend,
    Kubernetes,
    Aws,
}

/// An event at the provider.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    /// The provider reconciles. Only the first effects are carried out.
    Look { effects: usize },
    /// The consumer answers the nonce that was sent.
    Answer { effects: usize },
    /// This condition is written into the Tenant.
    Write(TenantCondition),
    /// The Tenant is deleted.
    DeleteTenant,
    /// The administrator acts. Only the first effects are carried out.
    Administer(Act, usize),
    /// The replicator brings a slice.
    Bring(usize, Bringing),
    /// The peer clears the status of a slice.
    Wipe(usize),
    /// The replicator deletes a slice.
    Remove(usize),
    /// The peer makes an object unreadable.
    Spoil(usize),
    /// An object of the peering is deleted.
    TakeAway(usize),
    /// The behaviour of all backends changes, or that of one kind.
    Mood(Option<usize>, Mood),
    /// The controller manager signs what is approved.
    Sign,
    /// Time passes.
    Wait { seconds: u64 },
}

/// The actions of the administrator.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    Invite,
    ReplaceNonce,
    Approve,
    Deny,
    SetCondition(TenantCondition),
    LiftCondition,
    ReleaseKey,
    End,
    RevokeKey,
    SignAgain(bool),
    CordonSlice(usize),
    UncordonSlice(usize),
    ReconsiderSlice(usize),
    ConfirmSlice(usize),
}

/// The slice that the replicator brings.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bringing {
    Good,
    More,
    WithoutRequest,
    WithForeignKey,
    OfOtherClass,
}

/// A provider with one peer.
pub(super) struct Life {
    pub(super) exchange: Exchange,
    pub(super) backends: Arc<Backends>,
    awaited_revocation: Option<String>,
    drawn: u8,
}

/// Called with each step before it is carried out.
pub(super) type Check<'c> = &'c mut dyn FnMut(&Life, &Result<Step, Error>, Made);

/// The cause of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// A reconciliation.
    Look,
    /// A Tenant that was received.
    Message,
    /// A call by the administrator.
    Act,
}

impl Life {
    pub(super) fn new(signer: Signer) -> Self {
        let backends = Backends::new();
        let mut exchange = Setup::new().exchange();
        let record_key = RecordKey::new(RECORD_KEY).unwrap();
        let builder = Provider::builder(id("cl-provider"), endpoint(API_SERVER), record_key)
            .key(backends.clone())
            .approver(backends.clone())
            .slices(backends.clone())
            .principals(backends.clone());
        exchange.provider = match signer {
            Signer::Backend => builder.signer(backends.clone()),
            Signer::Kubernetes => builder.configure(|config| config.kubernetes_signer = true),
            Signer::Aws => builder.aws(backends.clone()),
        }
        .build();
        Self {
            exchange,
            backends,
            awaited_revocation: None,
            drawn: 0,
        }
    }

    /// Plays an event. `check` is called with each step before it is carried
    /// out.
    pub(super) fn play(&mut self, deed: &Deed, check: Check<'_>) {
        match deed {
            Deed::Look { effects } => {
                let step = self.look();
                check(self, &step, Made::Look);
                self.carry_out(step, *effects);
            }
            Deed::Answer { effects } => self.answer(*effects, check),
            Deed::Administer(act, effects) => {
                let step = self.act(*act);
                check(self, &step, Made::Act);
                self.carry_out(step, *effects);
            }
            Deed::Write(condition) => {
                if let Some(mut tenant) = self.tenant().cloned() {
                    tenant.spec.tenant_condition = Some(*condition);
                    self.objects().insert(tenant.into());
                }
            }
            Deed::DeleteTenant => {
                self.objects().delete(&tenant_id());
            }
            Deed::Bring(slice, bringing) => self.bring(*slice, *bringing),
            Deed::Wipe(slice) => {
                let objects = self.objects();
                let slice = objects.get::<ResourceSlice>(NAMESPACE, NAMES[slice % NAMES.len()]);
                if let Some(mut slice) = slice.cloned() {
                    slice.status = Default::default();
                    objects.insert(slice.into());
                }
            }
            Deed::Remove(slice) => {
                let slice = NAMES[slice % NAMES.len()];
                let id = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, slice);
                self.objects().remove(&id);
            }
            Deed::Spoil(number) => {
                let spoilt = |id: &ObjectRef| {
                    id.namespace == NAMESPACE
                        && matches!(id.kind, Kind::Secret | Kind::Tenant | Kind::ResourceSlice)
                };
                if let Some(id) = self.one_of(*number, spoilt) {
                    let objects = self.objects();
                    if let Some(object) = objects.remove(&id) {
                        objects.insert(unreadable(&object));
                    }
                }
            }
            Deed::TakeAway(number) => {
                let taken = |id: &ObjectRef| id.namespace == NAMESPACE || is_binding(id.kind);
                if let Some(id) = self.one_of(*number, taken) {
                    self.objects().remove(&id);
                }
            }
            Deed::Mood(None, mood) => self.backends.set(*mood),
            Deed::Mood(Some(number), mood) => {
                self.backends.set_one(KINDS[number % KINDS.len()], *mood);
            }
            Deed::Sign => self.sign_approved(),
            Deed::Wait { seconds } => {
                self.exchange.now = self.exchange.now + Duration::from_secs(*seconds);
            }
        }
    }

    /// Reconciles once without carrying out the step.
    pub(super) fn look(&self) -> Result<Step, Error> {
        self.exchange.provider.reconcile(&self.view(), self.env())
    }

    pub(super) fn view(&self) -> View<'_> {
        self.exchange.provider_view()
    }

    pub(super) fn tenant(&self) -> Option<&Tenant> {
        self.exchange.at_provider.get(NAMESPACE, "cl-consumer")
    }

    pub(super) fn env(&self) -> Env {
        Env {
            now: self.exchange.now,
            entropy: Entropy::from_bytes([self.drawn; 32]),
        }
    }

    /// Carries out the first effects of a step. Each of them must apply.
    pub(super) fn carry_out(&mut self, step: Result<Step, Error>, effects: usize) {
        self.drawn = self.drawn.wrapping_add(1);
        let Ok(step) = step else {
            return;
        };
        for effect in step.effects.iter().take(effects) {
            self.objects().apply(effect).unwrap();
        }
        if let Some(key) = step.wait.awaiting.iter().find_map(revocation) {
            self.awaited_revocation = Some(key);
        }
        if effects < step.effects.len() {
            return;
        }
        for message in step.outbox {
            self.exchange.sent.insert(message.body.name(), message.body);
        }
    }

    fn answer(&mut self, effects: usize, check: Check<'_>) {
        let Some(nonce) = self.exchange.sent.get("nonce").cloned() else {
            return;
        };
        // The objects of a consumer without a record.
        let nowhere = store::empty();
        let peer = self.exchange.provider.cluster_id();
        let consumer = &self.exchange.consumer;
        let nonce = Message::new(peer, consumer.cluster_id(), nonce);
        let Ok(answer) = consumer.receive(&nowhere.view(peer), nonce, self.env()) else {
            return;
        };
        for message in answer.outbox {
            let step = self
                .exchange
                .provider
                .receive(&self.view(), message, self.env());
            check(self, &step, Made::Message);
            self.carry_out(step, effects);
        }
    }

    fn act(&self, act: Act) -> Result<Step, Error> {
        let (provider, view, now) = (&self.exchange.provider, self.view(), self.exchange.now);
        let slice = |number: usize| NAMES[number % NAMES.len()];
        match act {
            Act::Invite => provider.invite(&view, self.env()),
            Act::ReplaceNonce => provider.replace_nonce(&view, self.env()),
            Act::Approve => provider.approve(&view, now),
            Act::Deny => provider.deny(&view, "no", now),
            Act::SetCondition(condition) => provider.set_condition(&view, condition),
            Act::LiftCondition => provider.lift_condition(&view),
            Act::ReleaseKey => provider.release_key(&view),
            Act::End => provider.end(&view),
            Act::RevokeKey => {
                let key = self.awaited_revocation.as_deref();
                provider.aws_key_revoked(&view, key.unwrap_or("AKIAIOSFODNN7EXAMPLE"))
            }
            Act::SignAgain(even_in_force) => {
                provider.sign_again(&view, &Holder::ControlPlane, even_in_force, now)
            }
            Act::CordonSlice(number) => provider.cordon_slice(&view, slice(number)),
            Act::UncordonSlice(number) => provider.uncordon_slice(&view, slice(number)),
            Act::ReconsiderSlice(number) => provider.reconsider_slice(&view, slice(number)),
            Act::ConfirmSlice(number) => provider.confirm_slice(&view, slice(number)),
        }
    }

    fn bring(&mut self, slice: usize, bringing: Bringing) {
        let name = NAMES[slice % NAMES.len()];
        let mut slice = replica(name);
        match bringing {
            Bringing::Good => {}
            Bringing::More => slice.spec.resources = resources(&[("cpu", "8")]),
            Bringing::WithoutRequest => slice.spec.csr = Bytes::default(),
            Bringing::WithForeignKey => slice = replica_of("cl-consumer", name, &key(60)),
            Bringing::OfOtherClass => slice.spec.class = "other".to_owned(),
        }
        let objects = self.objects();
        if let Some(there) = objects.get::<ResourceSlice>(NAMESPACE, name) {
            slice.metadata.uid = there.metadata.uid.clone();
            slice.status = there.status.clone();
        }
        objects.insert(slice.into());
    }

    /// Signs what is approved, as kube-controller-manager does.
    fn sign_approved(&mut self) {
        let now = self.exchange.now;
        let objects = self.objects();
        let requests: Vec<CertificateSigningRequest> = objects
            .iter()
            .filter_map(|object| match object {
                Object::CertificateSigningRequest(request) => Some((**request).clone()),
                _ => None,
            })
            .collect();
        for mut request in requests {
            let conditions = &request.status.conditions;
            let is_approved = conditions.iter().any(|it| it.condition_type == "Approved");
            if is_approved && request.status.certificate.is_empty() {
                request.status.certificate = certificate(&request, now);
                objects.insert(request.into());
            }
        }
    }

    fn one_of(&self, number: usize, wanted: impl Fn(&ObjectRef) -> bool) -> Option<ObjectRef> {
        let ids = self.exchange.at_provider.iter().map(Object::id);
        let ids: Vec<ObjectRef> = ids.filter(wanted).collect();
        let number = number.checked_rem(ids.len())?;
        ids.into_iter().nth(number)
    }

    pub(super) fn objects(&mut self) -> &mut Objects {
        &mut self.exchange.at_provider
    }
}

pub(super) fn is_binding(kind: Kind) -> bool {
    matches!(kind, Kind::RoleBinding | Kind::ClusterRoleBinding)
}

/// The events of a life. The peer rarely stops it.
pub(super) fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let effects = || prop_oneof![4 => Just(usize::MAX), 1 => 0_usize..4];
    let condition = || {
        prop::sample::select(vec![
            TenantCondition::Active,
            TenantCondition::Cordoned,
            TenantCondition::Drained,
        ])
    };
    let mood = prop::sample::select(vec![Mood::Answers, Mood::Pends, Mood::Denies, Mood::Fails]);
    let bringing = prop_oneof![
        4 => Just(Bringing::Good),
        1 => Just(Bringing::More),
        1 => Just(Bringing::WithoutRequest),
        1 => Just(Bringing::WithForeignKey),
        1 => Just(Bringing::OfOtherClass),
    ];
    let number = || any::<usize>();
    let deed = prop_oneof![
        16 => effects().prop_map(|effects| Deed::Look { effects }),
        5 => effects().prop_map(|effects| Deed::Answer { effects }),
        4 => Just(Deed::Sign),
        5 => (acts(), effects()).prop_map(|(act, effects)| Deed::Administer(act, effects)),
        4 => (number(), bringing).prop_map(|(slice, bringing)| Deed::Bring(slice, bringing)),
        1 => condition().prop_map(Deed::Write),
        1 => Just(Deed::DeleteTenant),
        1 => number().prop_map(Deed::Wipe),
        1 => number().prop_map(Deed::Remove),
        1 => number().prop_map(Deed::Spoil),
        1 => number().prop_map(Deed::TakeAway),
        3 => (prop::option::of(number()), mood).prop_map(|(kind, mood)| Deed::Mood(kind, mood)),
        1 => (0_u64..400 * 86_400).prop_map(|seconds| Deed::Wait { seconds }),
    ];
    proptest::collection::vec(deed, 0..48)
}

/// The events up to an authenticated peer with a slice, for each kind of
/// signer.
pub(super) fn beginning() -> impl Iterator<Item = Deed> {
    const ALL: usize = usize::MAX;
    let looks = [Deed::Look { effects: ALL }, Deed::Sign];
    [
        Deed::Administer(Act::Invite, ALL),
        Deed::Answer { effects: ALL },
        Deed::Bring(0, Bringing::Good),
    ]
    .into_iter()
    .chain(looks.into_iter().cycle().take(24))
}

fn acts() -> impl Strategy<Value = Act> {
    prop::sample::select(vec![
        Act::Invite,
        Act::Invite,
        Act::ReplaceNonce,
        Act::Approve,
        Act::Deny,
        Act::SetCondition(TenantCondition::Active),
        Act::SetCondition(TenantCondition::Cordoned),
        Act::SetCondition(TenantCondition::Drained),
        Act::LiftCondition,
        Act::ReleaseKey,
        Act::End,
        Act::RevokeKey,
        Act::SignAgain(false),
        Act::SignAgain(true),
        Act::CordonSlice(0),
        Act::UncordonSlice(0),
        Act::ReconsiderSlice(1),
        Act::ConfirmSlice(1),
    ])
}

fn certificate(request: &CertificateSigningRequest, now: Timestamp) -> Bytes {
    let consumer: ClusterId = id("cl-consumer");
    let holders = NAMES.map(|name| Holder::Slice(name.to_owned()));
    let holders = holders.into_iter().chain([Holder::ControlPlane]);
    let key = ed25519(1);
    let pem = request.spec.request.as_slice();
    let (csr, subject) = holders
        .filter_map(|holder| {
            let subject = holder.subject(&consumer);
            let csr = Csr::verify(pem, &subject, key.public_key(), &Policy::strict());
            Some((csr.ok()?, subject))
        })
        .next()
        .unwrap();
    let seconds = u64::try_from(request.spec.expiration_seconds.unwrap()).unwrap();
    let lifetime = Duration::from_secs(seconds);
    let entropy = Entropy::from_bytes([7; 32]);
    let chain = authority().issue(&csr, &subject, key.public_key(), now, lifetime, &entropy);
    Bytes::from(chain.unwrap().pem())
}

fn revocation(awaited: &Awaited) -> Option<String> {
    match awaited {
        Awaited::AwsRevocation { access_key_id, .. } => Some(access_key_id.clone()),
        _ => None,
    }
}

fn tenant_id() -> ObjectRef {
    ObjectRef::new(Kind::Tenant, NAMESPACE, "cl-consumer")
}

/// The object with an unreadable field.
fn unreadable(object: &Object) -> Object {
    if object.as_unreadable().is_some() {
        return object.clone();
    }
    let mut value = object.to_value();
    value["metadata"]["labels"] = 5.into();
    Object::from_value(value)
}

const NAMES: [&str; 3] = ["a", "b", "c"];
