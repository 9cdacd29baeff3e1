//! What the targets have in common: the library's own strategies, driven by the
//! fuzzer's bytes, and one exchange to try them on.

use std::sync::OnceLock;

use liqo_auth::{
    crypto::{Entropy, Nonce},
    machine::{Env, Message, MessageBody},
    model::{Object, manifest},
    policy::{Limits, Policy},
    rehearsal::{ALL, Event, Rehearsal},
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// What a strategy makes of the seed that the first sixteen bytes are.
///
/// Proptest can also take the bytes themselves for random ones, but gives half
/// of what is left to each part of a strategy: soon there are only zeros, out
/// of which no number is drawn at all.
pub fn draw<T: core::fmt::Debug>(strategy: &impl Strategy<Value = T>, bytes: &[u8]) -> Option<T> {
    let mut seed = [1; 16];
    for (seed, byte) in seed.iter_mut().zip(bytes) {
        *seed ^= byte;
    }
    // Zeros are no seed.
    seed[15] |= 1;
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    Some(strategy.new_tree(&mut runner).ok()?.current())
}

/// What happens in an exchange, three bytes for each event.
pub fn events(bytes: &[u8]) -> impl Iterator<Item = Event> {
    let (events, _) = bytes.as_chunks();
    events.iter().take(32).map(|&[kind, effects, number]| {
        // As a rule, a step is carried out as a whole.
        let effects = match effects {
            0..4 => effects.into(),
            _ => ALL,
        };
        match kind % 16 {
            0..4 => Event::Provider { effects },
            4..8 => Event::Consumer { effects },
            8..14 => Event::Deliver {
                message: number.into(),
                effects,
            },
            14 => Event::Signer {
                answers: number % 2 == 0,
            },
            _ => Event::Wait {
                seconds: u32::from(number) * 4,
            },
        }
    })
}

/// The objects of the bytes, if they are a manifest.
pub fn objects(bytes: &[u8]) -> Vec<Object> {
    manifest::read(bytes, &Limits::default()).unwrap_or_default()
}

/// An exchange whose nonce waits for its Tenant. It is never changed.
pub fn awaiting() -> &'static Rehearsal {
    static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
    REHEARSAL.get_or_init(|| {
        let mut rehearsal = Rehearsal::new(7).expect("the rehearsal's own keys hold");
        let provider = Event::Provider { effects: ALL };
        rehearsal.play(provider).expect("a nonce is made");
        rehearsal
    })
}

/// The nonce that it waits with.
pub fn nonce() -> &'static Nonce {
    match awaiting().messages() {
        [
            Message {
                body: MessageBody::Nonce(nonce),
                ..
            },
        ] => nonce,
        messages => panic!("{messages:?}"),
    }
}

pub fn env() -> Env {
    Env {
        now: awaiting().now(),
        entropy: Entropy::from_bytes([9; 32]),
    }
}

pub fn policies() -> [Policy; 2] {
    [Policy::strict(), Policy::compatible()]
}
