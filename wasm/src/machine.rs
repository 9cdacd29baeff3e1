//! Provider and consumer: each request contains the whole configuration and the objects
//! of one peer.
//!
//! | call | answer |
//! |---|---|
//! | `look` | `status` |
//! | `watches` | `watches`: a list of `kind`, `apiVersion`, `plural`, `namespace`, `selector` |
//! | `interests` | `interests`: a list of `type` (`object`, `named`, `labelled` or `inNamespace`), `kind`, `apiVersion`, `namespace`, `name`, `selector` |
//! | others | `step`, `requests` (the API request of each effect), `questions` |
//!
//! While `questions` is not empty, answer the questions and repeat the call with the
//! same objects, time and entropy. Apply no part of the step before that.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Error, Machine, Step, View,
    consumer::{ConsumerConfig, SliceOptions},
    crypto::{Entropy, ExternalKey, Nonce, RecordKey},
    machine::{Holder, Interest, Message, Watch},
    model::{
        BoundedReader, ClusterId, Kind, Object, Quantity, SecretBytes, TenantCondition, Timestamp,
    },
    policy::{Limits, Policy},
    provider::ProviderConfig,
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    desk::{Answered, Desk, DeskKey, DeskKeys},
    failure::Failure,
    json::{Raw, written},
};

/// A call of a provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderRequest<'r> {
    config: ProviderConfig,
    /// 32 bytes. They are wiped after the call.
    record_key: SecretBytes,
    /// The key that proves this cluster's identity to its peers, if there is one.
    key: Option<ExternalKey>,
    backends: Vec<Backend>,
    #[serde(borrow)]
    seen: Seen<'r>,
    call: ProviderCall,
}

/// A backend that answers questions. Without such a backend, the library's default
/// applies.
#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum Backend {
    Signer,
    Approver,
    Aws,
    Names,
    Slices,
}

/// A call of a consumer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsumerRequest<'r> {
    config: ConsumerConfig,
    /// The key for every provider. Without it, the key for a provider is asked for.
    key: Option<ExternalKey>,
    #[serde(borrow)]
    seen: Seen<'r>,
    call: ConsumerCall,
}

/// The objects of one peer, the present time, and the answers of the backends.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Seen<'r> {
    peer: ClusterId,
    /// The objects, which are read one at a time: a peer may write large ones.
    #[serde(borrow)]
    objects: Vec<&'r RawValue>,
    #[serde(default)]
    vouched_nonces: Vec<String>,
    now: Timestamp,
    /// 32 random bytes, used for this call alone.
    entropy: SecretBytes,
    #[serde(default)]
    answers: Vec<Answered>,
}

impl Seen<'_> {
    fn env(&self) -> Result<Env, Failure> {
        Ok(Env {
            now: self.now,
            entropy: Entropy::from_bytes(bytes(&self.entropy, "entropy")?),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ProviderCall {
    Look,
    Watches,
    Interests,
    Reconcile,
    Receive(Raw),
    Invite,
    ReplaceNonce,
    Approve,
    Deny(String),
    SetCondition(TenantCondition),
    LiftCondition,
    ReleaseKey,
    AwsKeyRevoked(String),
    SignAgain(SliceOrControlPlane),
    CordonSlice(String),
    UncordonSlice(String),
    ReconsiderSlice(String),
    ConfirmSlice(String),
    End,
}

/// The slice's name, or none for the control plane.
type SliceOrControlPlane = Option<String>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ConsumerCall {
    Look,
    Watches,
    Interests,
    Reconcile,
    Receive(Raw),
    RequestSlice(SliceForm),
    DeleteSlice(String),
    ReleasePins,
    Unauthenticate,
}

/// [`SliceOptions`] as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SliceForm {
    name: String,
    class: Option<String>,
    #[serde(default)]
    resources: std::collections::BTreeMap<String, Quantity>,
    create_virtual_node: Option<bool>,
}

pub(crate) fn provider(mut request: ProviderRequest<'_>) -> Result<Vec<u8>, Failure> {
    let desk = Desk::new(core::mem::take(&mut request.seen.answers));
    let record_key = RecordKey::new(bytes(&request.record_key, "recordKey")?)
        .map_err(|error| Failure::of_part("recordKey", error))?;
    let policy = request.config.policy.clone();
    let mut builder = request.config.builder(record_key);
    if let Some(key) = request.key {
        let desk = Arc::clone(&desk);
        builder = builder.key(Arc::new(DeskKey { key, desk }));
    }
    for backend in request.backends {
        builder = match backend {
            Backend::Signer => builder.signer(desk.clone()),
            Backend::Approver => builder.approver(desk.clone()),
            Backend::Aws => builder.aws(desk.clone()),
            Backend::Names => builder.principals(desk.clone()),
            Backend::Slices => builder.slices(desk.clone()),
        };
    }
    let provider = builder.build();
    let seen = request.seen;
    let (now, env) = (seen.now, seen.env()?);
    let objects = objects(seen.objects);
    let view = view(&seen.peer, &objects, &seen.vouched_nonces, &policy)?;
    let step = match request.call {
        ProviderCall::Look => return look(&provider, &view, now),
        ProviderCall::Watches => return Ok(watches(&provider)),
        ProviderCall::Interests => return interests(&provider, view.peer()),
        ProviderCall::Reconcile => Machine::reconcile(&provider, &view, env),
        ProviderCall::Receive(message) => provider.receive(&view, read(&message, &policy)?, env),
        ProviderCall::Invite => provider.invite(&view, env),
        ProviderCall::ReplaceNonce => provider.replace_nonce(&view, env),
        ProviderCall::Approve => provider.approve(&view, now),
        ProviderCall::Deny(reason) => provider.deny(&view, &reason, now),
        ProviderCall::SetCondition(condition) => provider.set_condition(&view, condition),
        ProviderCall::LiftCondition => provider.lift_condition(&view),
        ProviderCall::ReleaseKey => provider.release_key(&view),
        ProviderCall::AwsKeyRevoked(id) => provider.aws_key_revoked(&view, &id),
        ProviderCall::SignAgain(slice) => {
            let holder = slice.map_or(Holder::ControlPlane, Holder::Slice);
            provider.sign_again(&view, &holder)
        }
        ProviderCall::CordonSlice(slice) => provider.cordon_slice(&view, &slice),
        ProviderCall::UncordonSlice(slice) => provider.uncordon_slice(&view, &slice),
        ProviderCall::ReconsiderSlice(slice) => provider.reconsider_slice(&view, &slice),
        ProviderCall::ConfirmSlice(slice) => provider.confirm_slice(&view, &slice),
        ProviderCall::End => provider.end(&view),
    };
    answer(&step?, &desk)
}

pub(crate) fn consumer(mut request: ConsumerRequest<'_>) -> Result<Vec<u8>, Failure> {
    let desk = Desk::new(core::mem::take(&mut request.seen.answers));
    let policy = request.config.policy.clone();
    let keys = DeskKeys {
        key: request.key,
        desk: Arc::clone(&desk),
    };
    let consumer = Consumer::new(request.config, Arc::new(keys));
    let seen = request.seen;
    let (now, env) = (seen.now, seen.env()?);
    let objects = objects(seen.objects);
    let view = view(&seen.peer, &objects, &seen.vouched_nonces, &policy)?;
    let step = match request.call {
        ConsumerCall::Look => return look(&consumer, &view, now),
        ConsumerCall::Watches => return Ok(watches(&consumer)),
        ConsumerCall::Interests => return interests(&consumer, view.peer()),
        ConsumerCall::Reconcile => Machine::reconcile(&consumer, &view, env),
        ConsumerCall::Receive(message) => consumer.receive(&view, read(&message, &policy)?, env),
        ConsumerCall::RequestSlice(form) => consumer.request_slice(&view, &options(form), env),
        ConsumerCall::DeleteSlice(name) => consumer.delete_slice(&view, &name),
        ConsumerCall::ReleasePins => consumer.release_pins(&view),
        ConsumerCall::Unauthenticate => consumer.unauthenticate(&view),
    };
    answer(&step?, &desk)
}

fn options(form: SliceForm) -> SliceOptions {
    let mut options = SliceOptions::named(form.name);
    options.resources = form.resources;
    options.class = form.class.unwrap_or(options.class);
    options.create_virtual_node = form.create_virtual_node.unwrap_or(true);
    options
}

fn objects(texts: Vec<&RawValue>) -> Vec<Object> {
    let limits = Limits::default();
    texts
        .into_iter()
        .map(|text| object(text, &limits))
        .collect()
}

/// The object. One that exceeds the limits is reduced to its metadata before any part of it
/// is decoded.
fn object(text: &RawValue, limits: &Limits) -> Object {
    let text = text.get().as_bytes();
    let value = match text.len() <= limits.object {
        true => serde_json::from_slice(text),
        false => {
            let kept = BoundedReader::new(limits).read(text);
            let kept = SecretBytes::from(kept.unwrap_or_default());
            serde_json::from_slice(kept.expose())
        }
    };
    Object::from_value(value.unwrap_or_default())
}

fn view<'o>(
    peer: &ClusterId,
    objects: &'o [Object],
    vouched_nonces: &[String],
    policy: &Policy,
) -> Result<View<'o>, Failure> {
    let mut view = View::of(peer, objects);
    for nonce in vouched_nonces {
        let nonce = Nonce::parse(nonce.as_bytes(), policy)
            .map_err(|error| Failure::of_part("vouchedNonces", error))?;
        view = view.vouch_for_nonce(&nonce);
    }
    Ok(view)
}

fn bytes(secret: &SecretBytes, part: &str) -> Result<[u8; 32], Failure> {
    <[u8; 32]>::try_from(secret.expose()).map_err(|error| Failure::of_part(part, error))
}

fn read(message: &Raw, policy: &Policy) -> Result<Message, Failure> {
    Message::from_json(message.get().as_bytes(), policy)
        .map_err(|error| Failure::of_part("message", error))
}

/// The step with the API request of each effect, and the questions.
fn answer(step: &Step, desk: &Desk) -> Result<Vec<u8>, Failure> {
    let mut answer = [br#"{"step":"#, step.to_json().expose(), br#","requests":["#].concat();
    for (index, effect) in step.effects.iter().enumerate() {
        let request = effect.request()?;
        let separator: &[u8] = if index == 0 { b"" } else { b"," };
        answer.extend([separator, request.to_json().expose()].concat());
    }
    answer.extend(br#"],"questions":"#);
    answer.extend(written(&desk.open()));
    answer.push(b'}');
    Ok(answer)
}

fn look(machine: &dyn Machine, view: &View<'_>, now: Timestamp) -> Result<Vec<u8>, Failure> {
    let found: Result<_, Error> = machine.look(view, now);
    Ok(written(&json!({ "status": found? })))
}

fn watches(machine: &dyn Machine) -> Vec<u8> {
    let watches: Vec<Value> = machine.watches().iter().map(watch).collect();
    written(&json!({ "watches": watches }))
}

fn watch(watch: &Watch) -> Value {
    json!({
        "kind": watch.kind.as_str(),
        "apiVersion": watch.kind.api_version(),
        "plural": watch.kind.plural(),
        "namespace": watch.namespace,
        "selector": watch.selector(),
    })
}

fn interests(machine: &dyn Machine, peer: &ClusterId) -> Result<Vec<u8>, Failure> {
    let interests = machine.interests(peer);
    let interests: Vec<Value> = interests.iter().map(interest).collect::<Result<_, _>>()?;
    Ok(written(&json!({ "interests": interests })))
}

fn interest(interest: &Interest) -> Result<Value, Failure> {
    let of = |r#type: &str, kind: &Kind, namespace: &str, name: &str, selector: &str| {
        json!({
            "type": r#type,
            "kind": kind.as_str(),
            "apiVersion": kind.api_version(),
            "namespace": namespace,
            "name": name,
            "selector": selector,
        })
    };
    Ok(match interest {
        Interest::Object(id) => of("object", &id.kind, &id.namespace, &id.name, ""),
        Interest::Named { kind, name } => of("named", kind, "", name, ""),
        Interest::Labelled { kind, label, value } => {
            of("labelled", kind, "", "", &format!("{label}={value}"))
        }
        Interest::InNamespace { kind, namespace } => of("inNamespace", kind, namespace, "", ""),
        // An unknown look-up must not be left out: the library needs all objects of the
        // peer.
        _ => {
            return Err(Failure::of_part(
                "interests",
                "found one of an unknown type",
            ));
        }
    })
}
