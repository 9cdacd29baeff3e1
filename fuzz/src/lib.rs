//! What all targets use: the library's own strategies, driven by the fuzzer's
//! bytes, and one exchange.

use std::sync::OnceLock;

use liqo_auth::{
    crypto::{Entropy, Nonce},
    machine::{Env, Message, MessageBody},
    model::{Object, manifest},
    policy::{Limits, Policy},
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// Draws a value from a strategy. The first sixteen bytes are the seed.
///
/// Proptest can also use the bytes directly as random numbers. But it gives
/// each part of a strategy half of the remaining bytes, so soon only zeros are
/// left, and from zeros no number can be drawn.
pub fn draw<T: core::fmt::Debug>(strategy: &impl Strategy<Value = T>, bytes: &[u8]) -> Option<T> {
    let mut seed = [1; 16];
    for (seed, byte) in seed.iter_mut().zip(bytes) {
        *seed ^= byte;
    }
    // A seed must not be all zeros.
    seed[15] |= 1;
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    Some(strategy.new_tree(&mut runner).ok()?.current())
}

/// The events of an exchange, three bytes for each.
pub fn occurrences(bytes: &[u8]) -> impl Iterator<Item = Occurrence> {
    let (events, _) = bytes.as_chunks();
    events.iter().take(32).map(|&[kind, effects, number]| {
        // Most steps are carried out as a whole.
        let effects = match effects {
            0..4 => effects.into(),
            _ => ALL,
        };
        match kind % 16 {
            0..4 => Occurrence::Provider { effects },
            4..8 => Occurrence::Consumer { effects },
            8..14 => Occurrence::Deliver {
                message: number.into(),
                effects,
            },
            14 => Occurrence::Signer {
                answers: number % 2 == 0,
            },
            _ => Occurrence::Wait {
                seconds: u32::from(number) * 4,
            },
        }
    })
}

/// The objects in the bytes, if the bytes are a manifest.
pub fn objects(bytes: &[u8]) -> Vec<Object> {
    manifest::read(bytes, &Limits::default()).unwrap_or_default()
}

/// An exchange in which the nonce was sent and the Tenant has not come. It is
/// never changed.
pub fn awaiting() -> &'static Rehearsal {
    static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
    REHEARSAL.get_or_init(|| {
        let mut rehearsal = Rehearsal::new(7).expect("the rehearsal's own keys are valid");
        let provider = Occurrence::Provider { effects: ALL };
        rehearsal.play(provider).expect("a nonce is made");
        rehearsal
    })
}

/// The nonce of [`awaiting`].
pub fn nonce() -> &'static Nonce {
    match awaiting().messages.as_slice() {
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
        now: awaiting().now,
        entropy: Entropy::from_bytes([9; 32]),
    }
}

pub fn policies() -> [Policy; 2] {
    [Policy::strict(), Policy::compatible()]
}
