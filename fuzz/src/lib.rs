//! What all targets use: the library's own strategies, driven by the fuzzer's
//! bytes, and one exchange.

pub mod writes;

use std::sync::OnceLock;

use liqo_auth::{
    Machine,
    crypto::{Entropy, Nonce},
    machine::{Env, Message, MessageBody, Objects},
    model::{Bytes, Object, manifest},
    policy::{Limits, Policy},
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};
use proptest::{
    strategy::{BoxedStrategy, Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

#[cfg(liqo_auth_cheap_signatures)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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

/// The events of an exchange, three bytes for each, and at most twelve: as many as an
/// exchange without faults needs, twice.
pub fn occurrences(bytes: &[u8]) -> impl Iterator<Item = Occurrence> {
    let (events, _) = bytes.as_chunks();
    events.iter().take(12).map(|&[kind, effects, number]| {
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

/// A forged message for this exchange.
///
/// The strategy is made once, because compiling its regular expressions takes a
/// thousand times longer than drawing from it. It signs the nonce of [`awaiting`]. An
/// exchange of the same seed has the same keys, but may have another nonce, and then
/// the signature is made for that nonce.
pub fn forgery(rehearsal: &Rehearsal, bytes: &[u8]) -> Option<Message> {
    thread_local! {
        static FORGERIES: BoxedStrategy<Message> = awaiting().forgeries();
        static SIGNATURE: Bytes = signature(awaiting(), nonce());
    }
    let mut message = FORGERIES.with(|forgeries| draw(forgeries, bytes))?;
    if let MessageBody::Tenant(tenant) = &mut message.body
        && SIGNATURE.with(|signature| tenant.spec.signature == *signature)
    {
        let nonce = rehearsal.messages.iter().rev().find_map(sent_nonce);
        tenant.spec.signature = nonce
            .map(|nonce| signature(rehearsal, nonce))
            .unwrap_or_default();
    }
    Some(message)
}

/// The consumer's signature of a nonce. Empty if it refuses to sign.
fn signature(rehearsal: &Rehearsal, nonce: &Nonce) -> Bytes {
    let (provider, consumer) = (rehearsal.provider.cluster_id(), &rehearsal.consumer);
    let message = Message::new(provider, consumer.cluster_id(), nonce.clone());
    let nothing = Objects::new(&env().entropy);
    let step = consumer.receive(&nothing.view(provider), message, env());
    let sent = step.into_iter().flat_map(|step| step.outbox);
    let signatures = sent.filter_map(|message| match message.body {
        MessageBody::Tenant(tenant) => Some(tenant.spec.signature),
        _ => None,
    });
    signatures.last().unwrap_or_default()
}

fn sent_nonce(message: &Message) -> Option<&Nonce> {
    match &message.body {
        MessageBody::Nonce(nonce) => Some(nonce),
        _ => None,
    }
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

/// A complete exchange. It is never changed.
pub fn complete() -> &'static Rehearsal {
    static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
    REHEARSAL.get_or_init(|| {
        let mut rehearsal = Rehearsal::new(7).expect("the rehearsal's own keys are valid");
        rehearsal.settle().expect("no local error occurs");
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
