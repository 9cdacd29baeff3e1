//! What the targets have in common: the library's own strategies, driven by the
//! fuzzer's bytes, and one exchange to try them on.

use std::sync::OnceLock;

use liqo_auth::{
    crypto::{Entropy, Nonce},
    model::{Object, manifest},
    policy::{Limits, Policy},
    rehearsal::{ALL, Event, Rehearsal},
    step::{Env, Message},
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// What a strategy makes of these bytes in place of random ones.
pub fn draw<T: core::fmt::Debug>(strategy: &impl Strategy<Value = T>, bytes: &[u8]) -> Option<T> {
    let rng = TestRng::from_seed(RngAlgorithm::PassThrough, bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    Some(strategy.new_tree(&mut runner).ok()?.current())
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
        [Message::Nonce(nonce)] => nonce,
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
