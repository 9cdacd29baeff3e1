//! A provider or a consumer, made for one call from its configuration and its keys.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Machine, Provider, View,
    consumer::ConsumerConfig,
    crypto::{Entropy, ExternalKey, Nonce, RecordKey},
    machine::Watch,
    model::{SecretBytes, Timestamp},
    policy::Policy,
    provider::ProviderConfig,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    calls::{Called, ConsumerCall, ProviderCall},
    desk::{Desk, DeskKey, DeskKeys},
    failure::Failure,
    json::Raw,
};

/// A backend that answers questions. Without such a backend, the library's default
/// applies.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Backend {
    Signer,
    Approver,
    Aws,
    Names,
    Slices,
}

/// A side of a peering, with the policy for what it reads.
pub(crate) struct Side {
    machine: Either,
    policy: Policy,
    desk: Arc<Desk>,
}

enum Either {
    Provider(Provider),
    Consumer(Consumer),
}

/// A call of either side.
pub(crate) enum Call {
    Provider(ProviderCall),
    Consumer(ConsumerCall),
}

impl Side {
    pub(crate) fn provider(
        config: ProviderConfig,
        backends: &[Backend],
        record_key: &SecretBytes,
        key: Option<ExternalKey>,
        desk: Arc<Desk>,
    ) -> Result<Self, Failure> {
        let record_key = RecordKey::new(bytes(record_key, "recordKey")?)
            .map_err(|error| Failure::of_part("recordKey", error))?;
        let policy = config.policy.clone();
        let mut builder = config.builder(record_key);
        if let Some(key) = key {
            let desk = Arc::clone(&desk);
            builder = builder.key(Arc::new(DeskKey { key, desk }));
        }
        for backend in backends {
            let desk = Arc::clone(&desk);
            builder = match backend {
                Backend::Signer => builder.signer(desk),
                Backend::Approver => builder.approver(desk),
                Backend::Aws => builder.aws(desk),
                Backend::Names => builder.principals(desk),
                Backend::Slices => builder.slices(desk),
            };
        }
        let machine = Either::Provider(builder.build());
        Ok(Self {
            machine,
            policy,
            desk,
        })
    }

    pub(crate) fn consumer(
        config: ConsumerConfig,
        key: Option<ExternalKey>,
        desk: Arc<Desk>,
    ) -> Self {
        let policy = config.policy.clone();
        let keys = DeskKeys {
            key,
            desk: Arc::clone(&desk),
        };
        let machine = Either::Consumer(Consumer::new(config, Arc::new(keys)));
        Self {
            machine,
            policy,
            desk,
        }
    }

    /// What a controller of this side watches.
    pub(crate) fn watches(&self) -> Vec<Watch> {
        match &self.machine {
            Either::Provider(provider) => provider.watches(),
            Either::Consumer(consumer) => consumer.watches(),
        }
    }

    /// The call that goes on to rest.
    pub(crate) fn reconcile(&self) -> Call {
        match &self.machine {
            Either::Provider(_) => Call::Provider(ProviderCall::Reconcile),
            Either::Consumer(_) => Call::Consumer(ConsumerCall::Reconcile),
        }
    }

    /// The questions to backends without an answer.
    pub(crate) fn questions(&self) -> Vec<Value> {
        self.desk.open()
    }

    /// Reads a call of this side.
    pub(crate) fn read_call(&self, call: &Raw) -> Result<Call, Failure> {
        let call = call.get();
        match &self.machine {
            Either::Provider(_) => serde_json::from_str(call).map(Call::Provider),
            Either::Consumer(_) => serde_json::from_str(call).map(Call::Consumer),
        }
        .map_err(|error| Failure::of_part("call", error))
    }

    /// Answers a call from the objects of a view.
    pub(crate) fn answer(
        &self,
        call: &Call,
        view: View<'_>,
        vouched_nonces: &[String],
        env: Env,
    ) -> Result<Called, Failure> {
        let mut view = view;
        for nonce in vouched_nonces {
            let nonce = Nonce::parse(nonce.as_bytes(), &self.policy)
                .map_err(|error| Failure::of_part("vouchedNonces", error))?;
            view = view.vouch_for_nonce(&nonce);
        }
        match (&self.machine, call) {
            (Either::Provider(provider), Call::Provider(call)) => {
                call.answer(provider, &self.policy, &view, env)
            }
            (Either::Consumer(consumer), Call::Consumer(call)) => {
                call.answer(consumer, &self.policy, &view, env)
            }
            _ => Err(Failure::of_part("call", "found one of the other side")),
        }
    }
}

impl Call {
    /// Whether the call answers with a step.
    pub(crate) fn makes_a_step(&self) -> bool {
        use ConsumerCall as OfConsumer;
        use ProviderCall as OfProvider;
        !matches!(
            self,
            Self::Provider(OfProvider::Look | OfProvider::Watches | OfProvider::Interests)
                | Self::Consumer(OfConsumer::Look | OfConsumer::Watches | OfConsumer::Interests)
        )
    }

    /// Whether the call makes a step that nobody makes without it.
    pub(crate) fn is_an_order(&self) -> bool {
        self.makes_a_step()
            && !matches!(
                self,
                Self::Provider(ProviderCall::Reconcile) | Self::Consumer(ConsumerCall::Reconcile)
            )
    }
}

/// The time and the randomness of one call.
pub(crate) fn env(now: Timestamp, entropy: &SecretBytes) -> Result<Env, Failure> {
    let entropy = Entropy::from_bytes(bytes(entropy, "entropy")?);
    Ok(Env { now, entropy })
}

fn bytes(secret: &SecretBytes, part: &str) -> Result<[u8; 32], Failure> {
    <[u8; 32]>::try_from(secret.expose()).map_err(|error| Failure::of_part(part, error))
}
