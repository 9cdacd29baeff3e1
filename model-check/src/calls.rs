//! Calls of the library on a store, each made once: the step that comes out depends
//! on the objects, the call, the time and the entropy, and on nothing else.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Error, Step, View,
    consumer::SliceOptions,
    crypto::Entropy,
    machine::{Effect, Machine, Message, Side, replication},
    model::TenantCondition,
};
use sha2::{Digest, Sha256};

use crate::{
    cast::{Cast, Name},
    instants::instant,
    store::Store,
    two_way::Choice,
    witness::{Asked, Witness, witness},
};

/// A peering, as one side sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct At {
    pub side: Side,
    pub peer: Name,
}

impl At {
    /// Whether a consumer looks at the hostile provider. In a two-way peering, the hostile
    /// provider is a consumer of the same cluster.
    pub fn is_of_a_consumer_as_well(self) -> bool {
        self.side == Side::Consumer && self.peer == Name::Hostile
    }
}

/// A call of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    Reconcile,
    /// The message of this number arrives.
    Receive(u32),
    Invite,
    ReplaceNonce,
    /// Active, Cordoned or Drained.
    SetCondition(u8),
    End,
    EndForGood,
    Unauthenticate,
    RequestSlice,
    DeleteSlice,
}

/// What a call would do.
pub struct Outcome {
    pub effects: Vec<Effect>,
    pub messages: Vec<Message>,
    /// What happened outside the store, whether the effects are applied or not.
    pub witness: Witness,
    /// Whether the entropy makes a difference.
    pub is_random: bool,
    /// Why there is no step.
    pub error: Option<Error>,
}

impl Outcome {
    /// What the signer did by itself.
    pub fn of_signer(asked: Asked) -> Self {
        Self {
            effects: Vec::new(),
            messages: Vec::new(),
            witness: Witness {
                asked: vec![asked],
                ..Witness::default()
            },
            is_random: false,
            error: None,
        }
    }

    pub fn asked(&self) -> &[Asked] {
        &self.witness.asked
    }
}

/// Makes a call. A replica has entropies of its own.
pub fn make(
    cast: &Cast,
    store: &Store,
    at: At,
    call: Call,
    message: Option<&Message>,
    now: u8,
    replica: u8,
) -> Outcome {
    let attempt = |number: u8| {
        let env = Env {
            now: instant(now),
            entropy: entropy(at.side, number, replica),
        };
        witness(store.ledger.clone(), || {
            step(cast, store, at, call, message, env)
        })
    };
    let (result, seen) = attempt(store.drawn);
    match result {
        Err(error) => Outcome {
            effects: Vec::new(),
            messages: Vec::new(),
            witness: seen,
            is_random: false,
            error: Some(error),
        },
        Ok(step) => {
            let is_random = attempt(store.drawn + 100).0.as_ref() != Ok(&step);
            Outcome {
                effects: step.effects,
                messages: step.outbox,
                witness: seen,
                is_random,
                error: None,
            }
        }
    }
}

/// The effects on a side that carry slices and renewals between the clusters.
pub fn replicate(cast: &Cast, to: Side, provider: &Store, consumer: &Store) -> Vec<Effect> {
    let of_provider = At {
        side: Side::Provider,
        peer: Name::Consumer,
    };
    let of_consumer = At {
        side: Side::Consumer,
        peer: Name::Provider,
    };
    let at_provider = view(cast, provider, of_provider);
    let at_consumer = view(cast, consumer, of_consumer);
    let step = match to {
        Side::Provider => replication::to_provider(&at_consumer, &at_provider),
        Side::Consumer => replication::to_consumer(&at_consumer, &at_provider),
    };
    step.map(|step| step.effects).unwrap_or_default()
}

/// The name of the phase that a peering is in, and why it is refused.
pub fn phase(cast: &Cast, store: &Store, at: At, now: u8) -> (&'static str, Option<&'static str>) {
    let machine: &dyn Machine = match at.side {
        Side::Provider => &cast.provider,
        Side::Consumer => consumer(cast, store, at),
    };
    match machine.look(&view(cast, store, at), instant(now)) {
        Err(error) => ("Error", Some(error.code())),
        Ok(status) => {
            let code = status.control_plane.refused.map(|error| error.code());
            (status.control_plane.phase, code)
        }
    }
}

/// The code that both administrators would compare.
pub fn transcript(cast: &Cast, store: &Store, at: At) -> Option<String> {
    let view = view(cast, store, at);
    let transcript = match at.side {
        Side::Provider => cast.provider.transcript(&view),
        Side::Consumer => consumer(cast, store, at).transcript(&view),
    };
    Some(transcript.ok()??.code().to_string())
}

fn step(
    cast: &Cast,
    store: &Store,
    at: At,
    call: Call,
    message: Option<&Message>,
    env: Env,
) -> Result<Step, Error> {
    let view = view(cast, store, at);
    let consumer = match &cast.two_way {
        Some(two_way) if at.is_of_a_consumer_as_well() => {
            let may_sign = match call {
                Call::Receive(_) => true,
                Call::Reconcile => two_way.has_begun(&view),
                // An administrator's word signs nothing before there is an Identity.
                _ => false,
            };
            match two_way.choose(store, &view, may_sign, env.now)? {
                Choice::Found(consumer) => consumer,
                Choice::Makes(key) => {
                    let mut step = Step::default();
                    step.effects.push(*key);
                    return Ok(step);
                }
            }
        }
        _ => &cast.consumer,
    };
    let provider = &cast.provider;
    let machine: &dyn Machine = match at.side {
        Side::Provider => provider,
        Side::Consumer => consumer,
    };
    match call {
        Call::Reconcile => machine.reconcile(&view, env),
        Call::Receive(_) => {
            let message = message.cloned().expect("the message is in the air");
            machine.receive(&view, message, env)
        }
        Call::Invite => provider.invite(&view, env),
        Call::ReplaceNonce => provider.replace_nonce(&view, env),
        Call::SetCondition(condition) => {
            provider.set_condition(&view, CONDITIONS[usize::from(condition)])
        }
        Call::End => provider.end(&view),
        Call::EndForGood => provider.end_for_good(&view),
        Call::Unauthenticate => consumer.unauthenticate(&view),
        Call::RequestSlice => consumer.request_slice(&view, &SliceOptions::named(SLICE), env),
        Call::DeleteSlice => consumer.delete_slice(&view, SLICE),
    }
}

/// The consumer with the key that the store shows.
fn consumer<'c>(cast: &'c Cast, store: &Store, at: At) -> &'c Consumer {
    match &cast.two_way {
        Some(two_way) if at.is_of_a_consumer_as_well() => two_way.with_stored_key(store),
        _ => &cast.consumer,
    }
}

fn view<'s>(cast: &Cast, store: &'s Store, at: At) -> View<'s> {
    let interests = &cast.interests[at.side as usize][at.peer as usize];
    let seen = store
        .objects()
        .filter(|object| interests.iter().any(|interest| interest.matches(object)));
    View::of(cast.id(at.peer), seen)
}

fn entropy(side: Side, number: u8, replica: u8) -> Entropy {
    let mut hash = Sha256::new();
    hash.update([side as u8, number, replica]);
    Entropy::from_bytes(hash.finalize().into())
}

/// The name of a shared outcome.
pub type Shared = Arc<Outcome>;

pub const SLICE: &str = "mypool";
const CONDITIONS: [TenantCondition; 3] = [
    TenantCondition::Active,
    TenantCondition::Cordoned,
    TenantCondition::Drained,
];
