//! Random bytes that a failed test can have again.

use core::{cell::Cell, fmt::Write};
use std::sync::atomic::{AtomicU64, Ordering};

use liqo_auth::crypto::Entropy;
use sha2::{Digest, Sha256};

/// Random bytes from a seed, which is printed. With `LIQO_AUTH_SEED`, the seed is
/// that one, and the same test draws the same bytes.
pub(crate) struct Randomness {
    seed: [u8; 32],
    drawn: AtomicU64,
}

thread_local! {
    /// How many there were in this test, which has a thread of its own.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

impl Randomness {
    pub(crate) fn new() -> Self {
        let text = std::env::var("LIQO_AUTH_SEED").unwrap_or_else(|_| {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).unwrap();
            bytes.iter().fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").unwrap();
                text
            })
        });
        println!("LIQO_AUTH_SEED={text}");
        let number = NUMBER.replace(NUMBER.get() + 1);
        let seed = Sha256::new_with_prefix(number.to_be_bytes()).chain_update(text);
        Self {
            seed: seed.finalize().into(),
            drawn: AtomicU64::new(0),
        }
    }

    pub(crate) fn entropy(&self) -> Entropy {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        let bytes = Sha256::new_with_prefix(self.seed).chain_update(drawn.to_be_bytes());
        Entropy::from_bytes(bytes.finalize().into())
    }
}
