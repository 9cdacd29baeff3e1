//! The calls of a provider and of a consumer, and what they answer.

use liqo_auth::{
    Consumer, Env, Error, Machine, Provider, Step, View,
    consumer::SliceOptions,
    machine::{Holder, Interest, Message, Watch},
    model::{ClusterId, Kind, Quantity, TenantCondition, Timestamp},
    policy::Policy,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    json::{Raw, written},
};

/// A call of a provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ProviderCall {
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
    EndForGood,
    DeleteOffloaded,
}

/// The slice's name, or none for the control plane.
type SliceOrControlPlane = Option<String>;

/// A call of a consumer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ConsumerCall {
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
pub(crate) struct SliceForm {
    name: String,
    class: Option<String>,
    #[serde(default)]
    resources: std::collections::BTreeMap<String, Quantity>,
    create_virtual_node: Option<bool>,
}

/// What a call answers.
pub(crate) enum Called {
    /// A step, whose questions may be open.
    Step(Box<Step>),
    /// A value as JSON.
    Value(Vec<u8>),
}

impl From<Step> for Called {
    fn from(step: Step) -> Self {
        Self::Step(Box::new(step))
    }
}

impl ProviderCall {
    pub(crate) fn answer(
        &self,
        provider: &Provider,
        policy: &Policy,
        view: &View<'_>,
        env: Env,
    ) -> Result<Called, Failure> {
        let now = env.now;
        let step = match self {
            Self::Look => return look(provider, view, now),
            Self::Watches => return Ok(watches(provider)),
            Self::Interests => return interests(provider, view.peer()),
            Self::Reconcile => Machine::reconcile(provider, view, env),
            Self::Receive(message) => provider.receive(view, read(message, policy)?, env),
            Self::Invite => provider.invite(view, env),
            Self::ReplaceNonce => provider.replace_nonce(view, env),
            Self::Approve => provider.approve(view, now),
            Self::Deny(reason) => provider.deny(view, reason, now),
            Self::SetCondition(condition) => provider.set_condition(view, *condition),
            Self::LiftCondition => provider.lift_condition(view),
            Self::ReleaseKey => provider.release_key(view),
            Self::AwsKeyRevoked(id) => provider.aws_key_revoked(view, id),
            Self::SignAgain(slice) => {
                let holder = slice.clone().map_or(Holder::ControlPlane, Holder::Slice);
                provider.sign_again(view, &holder, false, now)
            }
            Self::CordonSlice(slice) => provider.cordon_slice(view, slice),
            Self::UncordonSlice(slice) => provider.uncordon_slice(view, slice),
            Self::ReconsiderSlice(slice) => provider.reconsider_slice(view, slice),
            Self::ConfirmSlice(slice) => provider.confirm_slice(view, slice),
            Self::End => provider.end(view),
            Self::EndForGood => provider.end_for_good(view),
            Self::DeleteOffloaded => provider.delete_offloaded(view),
        };
        Ok(step?.into())
    }
}

impl ConsumerCall {
    pub(crate) fn answer(
        &self,
        consumer: &Consumer,
        policy: &Policy,
        view: &View<'_>,
        env: Env,
    ) -> Result<Called, Failure> {
        let now = env.now;
        let step = match self {
            Self::Look => return look(consumer, view, now),
            Self::Watches => return Ok(watches(consumer)),
            Self::Interests => return interests(consumer, view.peer()),
            Self::Reconcile => Machine::reconcile(consumer, view, env),
            Self::Receive(message) => consumer.receive(view, read(message, policy)?, env),
            Self::RequestSlice(form) => consumer.request_slice(view, &form.options(), env),
            Self::DeleteSlice(name) => consumer.delete_slice(view, name),
            Self::ReleasePins => consumer.release_pins(view),
            Self::Unauthenticate => consumer.unauthenticate(view),
        };
        Ok(step?.into())
    }
}

impl SliceForm {
    fn options(&self) -> SliceOptions {
        let mut options = SliceOptions::named(self.name.clone());
        options.resources.clone_from(&self.resources);
        if let Some(class) = &self.class {
            options.class.clone_from(class);
        }
        options.create_virtual_node = self.create_virtual_node.unwrap_or(true);
        options
    }
}

fn read(message: &Raw, policy: &Policy) -> Result<Message, Failure> {
    Message::from_json(message.get().as_bytes(), policy)
        .map_err(|error| Failure::of_part("message", error))
}

fn look(machine: &dyn Machine, view: &View<'_>, now: Timestamp) -> Result<Called, Failure> {
    let found: Result<_, Error> = machine.look(view, now);
    Ok(Called::Value(written(&json!({ "status": found? }))))
}

fn watches(machine: &dyn Machine) -> Called {
    let watches: Vec<Value> = machine.watches().iter().map(watch).collect();
    Called::Value(written(&json!({ "watches": watches })))
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

fn interests(machine: &dyn Machine, peer: &ClusterId) -> Result<Called, Failure> {
    let interests = machine.interests(peer);
    let interests: Vec<Value> = interests.iter().map(interest).collect::<Result<_, _>>()?;
    Ok(Called::Value(written(&json!({ "interests": interests }))))
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
