//! What a request to a session has.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Consumer, Env,
    consumer::ConsumerConfig,
    crypto::{ExternalKey, RecordKey},
    machine::{Machine, Watch, drive},
    model::{ClusterId, Kind, Object, ObjectRef, SecretBytes, Timestamp},
    provider::ProviderConfig,
};
use serde::Deserialize;

use crate::{
    desk::{Answered, Desk, DeskKeys},
    failure::Failure,
    json::Raw,
    objects,
    side::{self, Backend, Call, Side},
};

/// A request to the session. Each field but `open` may be left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionRequest {
    /// Opens a session in place of the present one.
    pub(super) open: Option<Box<Opening>>,
    /// The lengths of the objects that are new or have changed. The objects follow the request,
    /// one after the other.
    #[serde(default)]
    seen: Vec<usize>,
    /// The objects that are gone: `kind`, `namespace`, `name`.
    #[serde(default)]
    gone: Vec<Gone>,
    #[serde(default)]
    outcomes: Outcomes,
    call: Option<Raw>,
    #[serde(default)]
    go_on: bool,
    /// What a call and going on need.
    with: Option<With>,
}

/// A side and its peer. A session is of one peer, so the settings of others do not count.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Opening {
    peer: ClusterId,
    side: Configuration,
}

/// A side without its secret. An [`ExternalKey`] is the public half of a key.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Configuration {
    Provider(Box<ProviderSide>),
    Consumer(Box<ConsumerSide>),
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ProviderSide {
    config: ProviderConfig,
    /// The key that proves this cluster's identity to its peers, if there is one.
    key: Option<ExternalKey>,
    backends: Vec<Backend>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ConsumerSide {
    config: ConsumerConfig,
    /// The key for every provider. Without it, the key for a provider is asked for.
    key: Option<ExternalKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gone {
    kind: String,
    #[serde(default)]
    namespace: String,
    name: String,
}

/// What became of an answer.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Outcomes {
    /// Whether the object that a step names as `absent` is absent.
    pub(super) is_absent: Option<bool>,
    /// What became of the effects, in their order.
    pub(super) applied: Vec<Applied>,
    /// The numbers of the messages that could not be delivered.
    pub(super) undelivered: Vec<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Applied {
    Shown,
    Unshown,
    Overtaken,
}

/// The record key, the answers of the backends, and what else a call needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct With {
    /// 32 bytes, for a provider. They are wiped after the call.
    record_key: Option<SecretBytes>,
    now: Timestamp,
    /// 32 random bytes, used for this call alone.
    entropy: SecretBytes,
    #[serde(default)]
    answers: Vec<Answered>,
    #[serde(default)]
    vouched_nonces: Vec<String>,
    /// How long an answer of a backend may be pending until the next run.
    poll_milliseconds: u64,
}

/// What has changed since the last request.
pub(super) struct Changes {
    pub(super) seen: Vec<Object>,
    pub(super) gone: Vec<ObjectRef>,
    pub(super) outcomes: Outcomes,
}

/// A call, or none to go on with the run.
pub(super) struct Wanted {
    pub(super) side: Side,
    pub(super) call: Option<Call>,
    pub(super) present: Present,
}

/// The present of one request.
pub(super) struct Present {
    pub(super) now: Timestamp,
    entropy: SecretBytes,
    pub(super) vouched_nonces: Vec<String>,
    pub(super) poll: Duration,
}

impl SessionRequest {
    pub(super) fn read(
        self,
        objects: &[u8],
        configuration: &Configuration,
    ) -> Result<(Changes, Option<Wanted>), Failure> {
        let seen = objects::read_following(&self.seen, objects)?;
        if seen.iter().any(|object| object.metadata().name.is_empty()) {
            return Err(Failure::of_part("seen", "found an object without a name"));
        }
        let gone = self
            .gone
            .into_iter()
            .map(Gone::read)
            .collect::<Result<_, _>>()?;
        let changes = Changes {
            seen,
            gone,
            outcomes: self.outcomes,
        };
        if self.call.is_none() && !self.go_on {
            return Ok((changes, None));
        }
        let with = self.with;
        let with = with.ok_or_else(|| Failure::of_part("with", "found nothing, expected keys"))?;
        let wanted = with.read(self.call.as_ref(), configuration)?;
        Ok((changes, Some(wanted)))
    }
}

impl Opening {
    pub(super) fn read(self) -> (Configuration, ClusterId) {
        let Self { peer, mut side } = self;
        match &mut side {
            Configuration::Provider(side) => side.config.peers.retain(|id, _| *id == peer),
            Configuration::Consumer(side) => side.config.peers.retain(|id, _| *id == peer),
        }
        (side, peer)
    }
}

impl Configuration {
    /// The watches of the side, which follow from no key.
    pub(super) fn watches(&self) -> Result<Vec<Watch>, Failure> {
        Ok(match self.clone() {
            Self::Provider(side) => {
                let no_key = RecordKey::new([1; 32]);
                let no_key = no_key.map_err(|error| Failure::of_part("open", error))?;
                side.config.builder(no_key).build().watches()
            }
            Self::Consumer(side) => {
                let keys = DeskKeys {
                    key: None,
                    desk: Desk::new(Vec::new()),
                };
                Consumer::new(side.config, Arc::new(keys)).watches()
            }
        })
    }
}

impl Gone {
    fn read(self) -> Result<ObjectRef, Failure> {
        let mut kinds = Kind::ALL.iter().copied();
        let kind = kinds.find(|kind| kind.as_str() == self.kind);
        let kind = kind.ok_or_else(|| Failure::of_part("gone", "found an unknown kind"))?;
        Ok(ObjectRef::new(kind, self.namespace, self.name))
    }
}

impl With {
    fn read(self, call: Option<&Raw>, configuration: &Configuration) -> Result<Wanted, Failure> {
        let desk = Desk::new(self.answers);
        let side = match (configuration.clone(), &self.record_key) {
            (Configuration::Provider(side), Some(record_key)) => {
                Side::provider(side.config, &side.backends, record_key, side.key, desk)?
            }
            (Configuration::Provider(_), None) => {
                return Err(Failure::of_part(
                    "recordKey",
                    "found none, expected 32 bytes",
                ));
            }
            (Configuration::Consumer(side), _) => Side::consumer(side.config, side.key, desk),
        };
        let call = call.map(|call| side.read_call(call)).transpose()?;
        let present = Present {
            now: self.now,
            entropy: self.entropy,
            vouched_nonces: self.vouched_nonces,
            poll: Duration::from_millis(self.poll_milliseconds),
        };
        present.env()?;
        Ok(Wanted {
            side,
            call,
            present,
        })
    }
}

impl Present {
    pub(super) fn env(&self) -> Result<Env, Failure> {
        side::env(self.now, &self.entropy)
    }
}

impl From<Applied> for drive::Applied {
    fn from(applied: Applied) -> Self {
        match applied {
            Applied::Shown => Self::Shown,
            Applied::Unshown => Self::Unshown,
            Applied::Overtaken => Self::Overtaken,
        }
    }
}
